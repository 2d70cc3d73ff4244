/* vx/workspace.h: opening, questions, option structs of other sizes, NULL in every place, handles freed in any order. */
#include <stdlib.h>

#include "check.h"

/* A caller compiled against a later header: the struct it knows is longer. */
typedef struct {
  vx_workspace_options known;
  uint64_t later[4];
} longer_options;

static const char *const no_variables[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

static void open_refuses(const char *root) {
  vx_workspace *ws = (vx_workspace *)(void *)&failed_checks;
  CHECK_FAILS(vx_workspace_open(NULL, NULL, &ws, &err_), VX_E_INVALID);
  CHECK(ws == NULL);
  CHECK_FAILS(vx_workspace_open(root, NULL, NULL, &err_), VX_E_INVALID);
  CHECK(vx_workspace_open(NULL, NULL, NULL, NULL) == VX_E_INVALID);
  CHECK_FAILS(vx_workspace_open("", NULL, &ws, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_workspace_open("relative", NULL, &ws, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_workspace_open("/", NULL, &ws, &err_), VX_E_NO_WORKSPACE);
  CHECK(ws == NULL);
  CHECK(vx_workspace_open("/no/such/directory/at/all", NULL, &ws, NULL) != VX_OK);
  CHECK(ws == NULL);
  CHECK(strcmp(vx_workspace_root(NULL), "") == 0);
  vx_workspace_free(NULL);
}

static void option_sizes(const char *root) {
  vx_workspace *ws = NULL;
  vx_workspace_options options = VX_WORKSPACE_OPTIONS_INIT;
  longer_options longer;
  CHECK(options.size == sizeof options);
  options.envp = no_variables;
  options.cwd = root;
  CHECK_OK(vx_workspace_open(root, &options, &ws, &err_));
  CHECK(strcmp(vx_workspace_root(ws), root) == 0);
  vx_workspace_free(ws);

  memset(&longer, 0, sizeof longer);
  longer.known = options;
  longer.known.size = sizeof longer;
  CHECK_OK(vx_workspace_open(root, &longer.known, &ws, &err_)); /* the rest is zero: default */
  vx_workspace_free(ws);
  longer.later[3] = 1;
  CHECK_FAILS(vx_workspace_open(root, &longer.known, &ws, &err_), VX_E_UNSUPPORTED);
  CHECK(ws == NULL);

  options.cwd = "/beyond/what/the/short/struct/says";
  options.size = 2 * sizeof(uint32_t) + sizeof(void *); /* an older caller: only size, flags, envp */
  CHECK_OK(vx_workspace_open(root, &options, &ws, &err_));
  vx_workspace_free(ws);
  options.size = 0; /* forgotten */
  CHECK_FAILS(vx_workspace_open(root, &options, &ws, &err_), VX_E_INVALID);
  options.size = sizeof options;
  options.cwd = root;
  options.flags = 1;
  CHECK_FAILS(vx_workspace_open(root, &options, &ws, &err_), VX_E_UNSUPPORTED);
}

static int answers(vx_workspace *ws, const char *request, const char *expected) {
  vx_buf buf = VX_BUF_INIT;
  vx_error *err = NULL;
  int found = 0;
  if (vx_workspace_query(ws, request, NULL, &buf, &err) == VX_OK) {
    CHECK(buf.data[buf.size] == '\0');
    CHECK(strlen(buf.data) == buf.size);
    found = strstr(buf.data, expected) != NULL;
    if (!found) fprintf(stderr, "  answer: %s\n", buf.data);
  } else {
    fprintf(stderr, "  %s\n", vx_error_message(err));
  }
  vx_error_free(err);
  vx_buf_dispose(&buf);
  return found;
}

static void queries(const char *root) {
  static const char *const bad[] = {"", "{", "[]", "null", "{}", "{\"query\": 1}", "{\"query\": \"plam\"}", "{\"query\": \"plan\", \"taks\": []}",
                                    "{\"query\": \"show\", \"target\": 1}", "{\"query\": \"why\"}", "{\"query\": \"why\", \"task\": \"\"}",
                                    "{\"query\": \"last\", \"list\": 0}", "{\"query\": \"last\", \"list\": 1, \"run\": \"0\"}",
                                    "{\"query\": \"info\", \"cachedir\": \".\"}", "{\"query\": \"prune-cache\"}",
                                    "{\"query\": \"prune-cache\", \"olderThan\": \"1w\"}", "{\"query\": \"prune-cache\", \"maxSize\": \"10\"}"};
  size_t i;
  char inside[4096];
  vx_workspace *ws = NULL, *other = NULL;
  vx_cancel *cancel = NULL;
  vx_buf buf = {(char *)"untouched", 9};
  CHECK_OK(vx_workspace_open(root, NULL, &ws, &err_));
  snprintf(inside, sizeof inside, "%s/a", root);
  CHECK_OK(vx_workspace_open(inside, NULL, &other, &err_)); /* two handles on one root */
  CHECK(strcmp(vx_workspace_root(other), root) == 0);

  CHECK_FAILS(vx_workspace_query(NULL, "{}", NULL, &buf, &err_), VX_E_INVALID);
  CHECK(buf.data == NULL && buf.size == 0);
  CHECK_FAILS(vx_workspace_query(ws, NULL, NULL, &buf, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_workspace_query(ws, "{}", NULL, NULL, &err_), VX_E_INVALID);
  CHECK(vx_workspace_query(NULL, NULL, NULL, NULL, NULL) == VX_E_INVALID);
  for (i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    fprintf(stderr, "request %s\n", bad[i]);
    CHECK_FAILS(vx_workspace_query(ws, bad[i], NULL, &buf, &err_), VX_E_USAGE);
    CHECK(buf.data == NULL && buf.size == 0);
  }
  CHECK_FAILS(vx_workspace_query(ws, "{\"query\": \"plan\", \"tasks\": [\"biuld\"], \"all\": true}", NULL, &buf, &err_), VX_E_UNKNOWN_TASK);

  CHECK(answers(ws, "{\"query\": \"plan\", \"tasks\": [\"build\"], \"all\": true}", "\"a#build\""));
  CHECK(answers(other, "{\"query\": \"plan\", \"tasks\": [\"b#build\"]}", "\"b#build\""));
  CHECK(answers(ws, "{\"query\": \"list-tasks\"}", "build"));
  CHECK(answers(ws, "{\"query\": \"show\", \"target\": \"a#build\"}", "out.txt"));
  /* Nothing ran here yet. */
  CHECK_FAILS(vx_workspace_query(ws, "{\"query\": \"why\", \"task\": \"a#build\"}", NULL, &buf, &err_), VX_E_NO_HISTORY);
  CHECK_FAILS(vx_workspace_query(ws, "{\"query\": \"last\"}", NULL, &buf, &err_), VX_E_NO_HISTORY);
  CHECK(answers(ws, "{\"query\": \"last\", \"list\": 5}", "\"result\":[]"));
  CHECK(answers(ws, "{\"query\": \"info\"}", "\"cacheVersion\":\"vx-key-1\""));
  CHECK(answers(ws, "{\"query\": \"cache-stats\"}", "\"entries\":0"));
  CHECK_FAILS(vx_workspace_query(ws, "{\"query\": \"cache-stats\", \"cacheDir\": \"nowhere\"}", NULL, &buf, &err_), VX_E_REFUSED);
  CHECK(answers(ws, "{\"query\": \"prune-cache\", \"olderThan\": \"1d\", \"dryRun\": true}", "\"dryRun\":true,\"evicted\":0"));
  vx_workspace_free(ws);
  CHECK(answers(other, "{\"query\": \"list-tasks\"}", "build")); /* one handle does not need the other */

  CHECK_OK(vx_cancel_new(&cancel, &err_));
  CHECK_OK(vx_workspace_query(other, "{\"query\": \"list-tasks\"}", cancel, &buf, &err_));
  vx_buf_dispose(&buf);
  vx_workspace_free(other);
  vx_cancel_free(cancel);
}

int main(void) {
  char *root = make_workspace();
  CHECK(root != NULL);
  if (root != NULL) {
    open_refuses(root);
    option_sizes(root);
    queries(root);
  }
  remove_workspace(root);
  return failed_checks == 0 ? 0 : 1;
}
