/* vx/workspace.h: what a host adds to runs: key material and priorities. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

typedef struct {
  const char *value; /* NULL: the provider fails */
  int calls, drops, bad_adds;
} provider;

static vx_status give(void *user, const char *task_id, vx_material *material) {
  provider *p = user;
  vx_error *err = NULL;
  ++p->calls;
  if (p->value == NULL) return VX_E_IO;
  if (strcmp(task_id, "a#build") != 0) return VX_OK;
  p->bad_adds += vx_material_add(material, "", "x", 1, NULL) != VX_E_INVALID;
  p->bad_adds += vx_material_add(material, NULL, "x", 1, NULL) != VX_E_INVALID;
  p->bad_adds += vx_material_add(material, "toolchain", NULL, 1, NULL) != VX_E_INVALID;
  p->bad_adds += vx_material_add(material, "empty", NULL, 0, &err) != VX_OK;
  return vx_material_add(material, "toolchain", p->value, strlen(p->value), &err);
}
static void drop_provider(void *user) { ++((provider *)user)->drops; }

/* The key of a#build in a plan. */
static int key_of(vx_workspace *ws, char *out) {
  vx_buf plan = VX_BUF_INIT;
  const char *at;
  const vx_status rc = vx_workspace_query(ws, "{\"query\": \"plan\", \"tasks\": [\"a#build\"]}", NULL, &plan, NULL);
  out[0] = '\0';
  if (rc == VX_OK && (at = strstr(plan.data, "\"hash\":\"")) != NULL) {
    memcpy(out, at + 8, 32);
    out[32] = '\0';
  }
  vx_buf_dispose(&plan);
  return rc == VX_OK && out[0] != '\0';
}

static void material_is_in_the_key(const char *root) {
  vx_workspace *ws = NULL, *other = NULL;
  provider one = {"gcc 12", 0, 0, 0}, two = {"gcc 13", 0, 0, 0}, broken = {NULL, 0, 0, 0};
  vx_buf why = VX_BUF_INIT;
  vx_run *run = NULL;
  char plain[33], with_one[33], again[33], with_two[33];
  CHECK_OK(vx_workspace_open(root, NULL, &ws, &err_));
  CHECK(key_of(ws, plain));
  CHECK_OK(vx_workspace_set_key_material(ws, give, &one, drop_provider, &err_));
  CHECK(key_of(ws, with_one) && strcmp(with_one, plain) != 0);
  CHECK(key_of(ws, again) && strcmp(with_one, again) == 0);
  CHECK(one.calls >= 2 && one.bad_adds == 0 && one.drops == 0);
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"a#build\"]}", NULL, NULL, &run, &err_));
  CHECK_OK(vx_workspace_set_key_material(ws, give, &two, drop_provider, &err_));
  CHECK_OK(vx_run_wait(run, NULL, &err_));
  CHECK(vx_run_exit_code(run) == 0);
  CHECK(one.drops == 0); /* the run still holds it */
  vx_run_free(run);
  CHECK(one.drops == 1);
  CHECK(key_of(ws, with_two) && strcmp(with_two, with_one) != 0);
  run = NULL;
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"a#build\"]}", NULL, NULL, &run, &err_));
  CHECK_OK(vx_run_wait(run, NULL, &err_));
  vx_run_free(run);
  CHECK_OK(vx_workspace_query(ws, "{\"query\": \"why\", \"task\": \"a#build\"}", NULL, &why, &err_));
  CHECK(why.data != NULL && strstr(why.data, "toolchain") != NULL && strstr(why.data, "gcc") == NULL); /* named, its value is not */
  vx_buf_dispose(&why);

  CHECK_OK(vx_workspace_set_key_material(ws, give, &broken, drop_provider, &err_));
  CHECK(two.drops == 1);
  CHECK_FAILS(vx_workspace_query(ws, "{\"query\": \"plan\", \"tasks\": [\"a#build\"]}", NULL, &why, &err_), VX_E_REFUSED);
  run = NULL;
  CHECK_FAILS(vx_run_start(ws, "{\"tasks\": [\"a#build\"]}", NULL, NULL, &run, &err_), VX_E_REFUSED);
  CHECK(run == NULL);
  CHECK_OK(vx_workspace_set_key_material(ws, NULL, NULL, NULL, &err_));
  CHECK(broken.drops == 1);
  CHECK(key_of(ws, again) && strcmp(again, plain) == 0);
  CHECK_OK(vx_workspace_open(root, NULL, &other, &err_));
  CHECK_OK(vx_workspace_set_key_material(other, give, &two, drop_provider, &err_));
  CHECK(key_of(ws, again) && strcmp(again, plain) == 0); /* handles are independent */
  vx_workspace_free(other);
  CHECK(two.drops == 2);
  vx_workspace_free(ws);
}

typedef struct {
  char order[256];
  int drops;
} starts;

static int32_t rank(void *user, const char *task_id, int64_t *priority) {
  (void)user;
  if (strncmp(task_id, "r#", 2) != 0) return 0;
  *priority = (int64_t)(task_id[2] - 'a') * 1000000000000 - 1; /* later letters first */
  return task_id[2] != 'c';
}
static void note(void *user, const char *json, size_t size) {
  starts *s = user;
  const char *at = strstr(json, "\"taskId\":\"r#");
  (void)size;
  if (strstr(json, "\"task.start\"") != NULL && at != NULL) strncat(s->order, at + 12, 1);
}
static void drop_starts(void *user) { ++((starts *)user)->drops; }

static void priorities_order_starts(const char *root) {
  vx_workspace *ws = NULL;
  vx_run *run = NULL;
  vx_observer observer = VX_OBSERVER_INIT;
  starts heard = {"", 0}, given = {"", 0};
  write_file(root, "package.json", "{\"name\": \"r\", \"private\": true, \"workspaces\": [\"a\", \"b\"]}\n");
  write_file(root, "vx.config.json",
             "{\"tasks\": {\"a\": {\"exec\": {\"command\": \"true\"}}, \"b\": {\"exec\": {\"command\": \"true\"}},"
             "\"c\": {\"exec\": {\"command\": \"true\"}}, \"d\": {\"exec\": {\"command\": \"true\"}}}}\n");
  CHECK_OK(vx_workspace_open(root, NULL, &ws, &err_));
  CHECK_OK(vx_workspace_set_priorities(ws, rank, &given, drop_starts, &err_));
  observer.event = note;
  observer.user_data = &heard;
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"r#a\", \"r#b\", \"r#c\", \"r#d\"], \"concurrency\": 1}", &observer, NULL, &run, &err_));
  CHECK_OK(vx_run_wait(run, NULL, &err_));
  CHECK(strcmp(heard.order, "dbac") == 0);
  if (strcmp(heard.order, "dbac") != 0) fprintf(stderr, "  order: %s\n", heard.order);
  vx_workspace_free(ws);
  CHECK(given.drops == 0);
  vx_run_free(run);
  CHECK(given.drops == 1);
}

static void nulls(void) {
  provider p = {"x", 0, 0, 0};
  CHECK_FAILS(vx_workspace_set_key_material(NULL, give, &p, drop_provider, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_workspace_set_priorities(NULL, rank, &p, drop_provider, &err_), VX_E_INVALID);
  CHECK(p.drops == 2);
  CHECK_FAILS(vx_material_add(NULL, "a", "b", 1, &err_), VX_E_INVALID);
  CHECK(vx_workspace_set_key_material(NULL, NULL, NULL, NULL, NULL) == VX_E_INVALID);
}

static void *own_handle(void *root) {
  material_is_in_the_key(root);
  return NULL;
}

int main(void) {
  char *root = make_workspace(), *roots[2];
  pthread_t threads[2];
  int i;
  CHECK(root != NULL);
  nulls();
  material_is_in_the_key(root);
  priorities_order_starts(root);
  for (i = 0; i < 2; ++i) {
    roots[i] = make_workspace();
    CHECK(pthread_create(&threads[i], NULL, own_handle, roots[i]) == 0);
  }
  for (i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    remove_workspace(roots[i]);
  }
  remove_workspace(root);
  return failed_checks == 0 ? 0 : 1;
}
