/* Prints what `vx run <task>...` would do in a workspace, without running anything.

   usage: plan <directory> [task...]        (no task: build, in every project)

   The answer of vx_workspace_query() is a JSON document (capi/schemas/plan.json). A program with a JSON library would use it; this
   one has none, so that it needs nothing but vx/vx.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vx/vx.h"

/* A cursor over valid JSON. It steps over values; what it does not know it skips. */
typedef struct {
  const char *at;
} cursor;

static void blank(cursor *c) {
  while (*c->at != '\0' && strchr(" \t\r\n", *c->at) != NULL) ++c->at;
}

/* Takes `wanted` if it comes next. */
static int take(cursor *c, char wanted) {
  blank(c);
  if (*c->at != wanted) return 0;
  ++c->at;
  return 1;
}

/* Reads a string into `out`, cut to fit. Escapes beyond \" \\ \/ stay as they are written. */
static void string(cursor *c, char *out, size_t size) {
  size_t n = 0;
  take(c, '"');
  for (; *c->at != '"' && *c->at != '\0'; ++c->at) {
    if (*c->at == '\\' && strchr("\"\\/", c->at[1]) != NULL) ++c->at;
    if (n + 1 < size) out[n++] = *c->at;
  }
  if (size > 0) out[n] = '\0';
  take(c, '"');
}

static void skip(cursor *c) {
  int depth = 0;
  do {
    blank(c);
    if (*c->at == '"') {
      string(c, NULL, 0);
    } else if (*c->at == '{' || *c->at == '[') {
      ++depth;
      ++c->at;
    } else if (*c->at == '}' || *c->at == ']') {
      --depth;
      ++c->at;
    } else if (*c->at == ',' || *c->at == ':') {
      ++c->at;
    } else {
      while (*c->at != '\0' && strchr(",:]} \t\r\n", *c->at) == NULL) ++c->at; /* a number or a word */
    }
  } while (depth > 0 && *c->at != '\0');
}

/* {"id": .., "cacheStatus": .., "deps": [..], "description": ..} */
static void print_task(cursor *c) {
  char name[64], id[256] = "", status[64] = "", description[256] = "", dependency[256];
  cursor deps = {"[]"};
  take(c, '{');
  while (!take(c, '}')) {
    string(c, name, sizeof name);
    take(c, ':');
    if (strcmp(name, "id") == 0) {
      string(c, id, sizeof id);
    } else if (strcmp(name, "cacheStatus") == 0) {
      string(c, status, sizeof status);
    } else if (strcmp(name, "description") == 0) {
      string(c, description, sizeof description);
    } else {
      if (strcmp(name, "deps") == 0) deps = *c;
      skip(c);
    }
    take(c, ',');
  }
  printf("  %-40s %-12s%s%s\n", id, status, description[0] != '\0' ? " " : "", description);
  for (take(&deps, '['); !take(&deps, ']'); take(&deps, ',')) {
    string(&deps, dependency, sizeof dependency);
    printf("      after %s\n", dependency);
  }
}

static unsigned count_tasks(cursor c) {
  unsigned n = 0;
  for (take(&c, '['); !take(&c, ']'); take(&c, ',')) {
    skip(&c);
    ++n;
  }
  return n;
}

static void print_plan(const char *root, const char *json) {
  char name[64];
  cursor c = {json};
  take(&c, '{');
  while (!take(&c, '}')) {
    string(&c, name, sizeof name);
    take(&c, ':');
    if (strcmp(name, "tasks") == 0) {
      printf("%u tasks in %s\n", count_tasks(c), root);
      for (take(&c, '['); !take(&c, ']'); take(&c, ',')) print_task(&c);
    } else {
      skip(&c);
    }
    take(&c, ',');
  }
}

/* {"query": "plan", "tasks": [...], "all": true}; NULL without memory. */
static char *make_request(int count, char **tasks) {
  static char *by_default[] = {(char *)"build"};
  size_t size = 64;
  int i;
  const char *p;
  char *out, *end;
  if (count == 0) {
    count = 1;
    tasks = by_default;
  }
  for (i = 0; i < count; ++i) size += 6 * strlen(tasks[i]) + 4;
  out = malloc(size);
  if (out == NULL) return NULL;
  end = out + sprintf(out, "{\"query\": \"plan\", \"all\": true, \"tasks\": [");
  for (i = 0; i < count; ++i) {
    end += sprintf(end, "%s\"", i == 0 ? "" : ", ");
    for (p = tasks[i]; *p != '\0'; ++p) {
      if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20) {
        end += sprintf(end, "\\u%04x", (unsigned char)*p);
      } else {
        *end++ = *p;
      }
    }
    *end++ = '"';
  }
  strcpy(end, "]}");
  return out;
}

int main(int argc, char **argv) {
  vx_workspace *workspace = NULL;
  vx_error *error = NULL;
  vx_buf answer = VX_BUF_INIT;
  char *request;
  vx_status status;
  if (argc < 2) {
    fprintf(stderr, "usage: plan <directory> [task...]\n");
    return 2;
  }
  request = make_request(argc - 2, argv + 2);
  if (request == NULL) return 1;
  status = vx_workspace_open(argv[1], NULL, &workspace, &error);
  if (status == VX_OK) status = vx_workspace_query(workspace, request, NULL, &answer, &error);
  if (status == VX_OK) {
    print_plan(vx_workspace_root(workspace), answer.data);
  } else {
    fprintf(stderr, "plan: %s: %s\n", vx_status_name(status), vx_error_message(error));
  }
  free(request);
  vx_buf_dispose(&answer);
  vx_error_free(error);
  vx_workspace_free(workspace);
  return status == VX_OK ? 0 : 1;
}
