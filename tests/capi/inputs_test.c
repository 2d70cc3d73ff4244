/* vx/inputs.h: globs, a walked tree and a git one, exact files, the truth check, two threads, NULL in every place. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static void globs(void) {
  const char *const list[] = {"src/**", "!src/gen", "*.md", NULL}, *const bad[] = {"../x", NULL}, *const negative[] = {"!x", NULL};
  vx_glob *glob = (vx_glob *)(void *)&failed_checks;
  CHECK_FAILS(vx_glob_compile(bad, &glob, &err_), VX_E_CONFIG);
  CHECK(glob == NULL);
  CHECK_FAILS(vx_glob_compile(negative, &glob, &err_), VX_E_CONFIG);
  CHECK_FAILS(vx_glob_compile(NULL, &glob, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_glob_compile(list, NULL, &err_), VX_E_INVALID);
  CHECK_OK(vx_glob_compile(list, &glob, &err_));
  CHECK(vx_glob_match(glob, "src/a/b.c") == 1);
  CHECK(vx_glob_match(glob, "src/gen/b.c") == 0);
  CHECK(vx_glob_match(glob, "x.md") == 1);
  CHECK(vx_glob_match(glob, "a/x.md") == 0);
  CHECK(vx_glob_match(glob, NULL) == 0);
  CHECK(vx_glob_match(NULL, "x.md") == 0);
  vx_glob_free(glob);
  vx_glob_free(NULL);
}

static vx_inputs *open_inputs(const char *root) {
  vx_inputs *inputs = NULL;
  CHECK_OK(vx_inputs_open(root, NULL, &inputs, &err_));
  return inputs;
}

static void opening(const char *root) {
  vx_inputs *inputs = (vx_inputs *)(void *)&failed_checks;
  vx_inputs_options o = VX_INPUTS_OPTIONS_INIT;
  const char *const no_path[] = {"PATH=/nowhere", NULL};
  CHECK_FAILS(vx_inputs_open(NULL, NULL, &inputs, &err_), VX_E_INVALID);
  CHECK(inputs == NULL);
  CHECK_FAILS(vx_inputs_open(root, NULL, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_inputs_open("relative", NULL, &inputs, &err_), VX_E_INVALID);
  CHECK(vx_inputs_open("/no/such/directory", NULL, &inputs, NULL) != VX_OK);
  CHECK(inputs == NULL);
  o.flags = 1;
  CHECK_FAILS(vx_inputs_open(root, &o, &inputs, &err_), VX_E_UNSUPPORTED);
  o.flags = 0;
  o.size = 3;
  CHECK_FAILS(vx_inputs_open(root, &o, &inputs, &err_), VX_E_INVALID);
  o.size = 2 * sizeof(uint32_t); /* an older caller */
  o.envp = (const char *const *)(void *)1;
  CHECK_OK(vx_inputs_open(root, &o, &inputs, &err_));
  vx_inputs_free(inputs);
  o.size = sizeof o;
  o.envp = no_path;
  CHECK_OK(vx_inputs_open(root, &o, &inputs, &err_));
  CHECK(vx_inputs_uses_git(inputs) == 0);
  CHECK(strstr(vx_inputs_notice(inputs), "not a git work tree") != NULL);
  vx_inputs_free(inputs);
  vx_inputs_free(NULL);
  CHECK(vx_inputs_uses_git(NULL) == 0);
  CHECK(strcmp(vx_inputs_notice(NULL), "") == 0);
}

static int has(const vx_selection *s, const char *path) {
  size_t i;
  for (i = 0; i < vx_selection_count(s); ++i)
    if (strcmp(vx_selection_path(s, i), path) == 0) return 1;
  return 0;
}

static void selecting(const char *root) {
  const char *const files[] = {"**/*.txt", "tool", "link", NULL}, *const outputs[] = {"out.txt", NULL}, *const shared[] = {"package.json", NULL};
  const char *const bad[] = {"/abs", NULL}, *const dots[] = {"a/../b", NULL};
  vx_inputs *inputs = open_inputs(root);
  vx_inputs_request q = VX_INPUTS_REQUEST_INIT;
  vx_selection *s = NULL;
  char path[4200];
  size_t i;
  write_file(root, "a/out.txt", "made\n");
  write_file(root, "a/tool", "#!/bin/sh\n");
  snprintf(path, sizeof path, "%s/a/tool", root);
  chmod(path, 0755);
  snprintf(path, sizeof path, "%s/a/link", root);
  CHECK(symlink("in.txt", path) == 0);
  CHECK_OK(vx_inputs_invalidate(inputs, NULL, &err_));
  q.project_dir = "a";
  q.files = files;
  q.outputs = outputs;
  q.workspace_files = shared;
  CHECK_OK(vx_inputs_resolve(inputs, &q, &s, &err_));
  CHECK(vx_selection_count(s) == 4);
  for (i = 0; i < vx_selection_count(s); ++i) {
    const char *name = vx_selection_path(s, i);
    CHECK(i == 0 || strcmp(vx_selection_path(s, i - 1), name) < 0);
    if (strcmp(name, "a/in.txt") == 0) CHECK(strcmp(vx_selection_identity(s, i), "4935e88d323e7973308dd73cccf2837fc3c7de22") == 0);
    if (strcmp(name, "a/tool") == 0) CHECK(vx_selection_mode(s, i) == 0100755 && strncmp(vx_selection_identity(s, i), "100755:", 7) == 0);
    if (strcmp(name, "a/link") == 0) CHECK(vx_selection_mode(s, i) == 0120000 && strncmp(vx_selection_identity(s, i), "120000:", 7) == 0);
    if (strcmp(name, "package.json") == 0) CHECK(vx_selection_mode(s, i) == 0100644);
  }
  CHECK(has(s, "a/in.txt") && has(s, "a/tool") && has(s, "a/link") && has(s, "package.json"));
  CHECK(vx_selection_path(s, 4) == NULL && vx_selection_identity(s, 4) == NULL && vx_selection_mode(s, 4) == 0);
  CHECK(vx_selection_count(NULL) == 0 && vx_selection_path(NULL, 0) == NULL);
  vx_selection_free(s);
  q.files = bad;
  CHECK_FAILS(vx_inputs_resolve(inputs, &q, &s, &err_), VX_E_CONFIG);
  CHECK(s == NULL);
  q.files = files;
  q.project_dir = "../a";
  CHECK_FAILS(vx_inputs_resolve(inputs, &q, &s, &err_), VX_E_INVALID);
  q.project_dir = NULL;
  q.paths = files;
  CHECK_FAILS(vx_inputs_resolve(inputs, &q, &s, &err_), VX_E_INVALID);
  memset(&q, 0, sizeof q);
  q.size = sizeof q;
  q.paths = dots;
  CHECK_FAILS(vx_inputs_resolve(inputs, &q, &s, &err_), VX_E_INVALID);
  q.paths = NULL;
  q.flags = 1;
  CHECK_FAILS(vx_inputs_resolve(inputs, &q, &s, &err_), VX_E_UNSUPPORTED);
  CHECK_FAILS(vx_inputs_resolve(inputs, NULL, &s, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_inputs_resolve(NULL, &q, &s, &err_), VX_E_INVALID);
  q.flags = 0;
  CHECK_FAILS(vx_inputs_resolve(inputs, &q, NULL, &err_), VX_E_INVALID);
  CHECK_OK(vx_inputs_resolve(inputs, &q, &s, &err_)); /* nothing asked, nothing selected */
  CHECK(vx_selection_count(s) == 0);
  vx_inputs_free(inputs); /* before its selection */
  vx_selection_free(s);
  vx_selection_free(NULL);
}

static int moved(vx_inputs *inputs, const vx_selection *s, int64_t mark, uint32_t flags, const char *want) {
  vx_buf changed = VX_BUF_INIT;
  int ok;
  CHECK_OK(vx_inputs_changed_since(inputs, s, mark, flags, &changed, &err_));
  ok = want == NULL ? changed.data == NULL : changed.data != NULL && strcmp(changed.data, want) == 0;
  if (!ok) fprintf(stderr, "  moved: %s\n", changed.data == NULL ? "nothing" : changed.data);
  vx_buf_dispose(&changed);
  return ok;
}

static void truth(const char *root) {
  const char *const globs_of_a[] = {"**", NULL}, *const exact[] = {"a/in.txt", "a/none", NULL};
  vx_inputs *inputs = open_inputs(root), *other = open_inputs(root);
  vx_inputs_request q = VX_INPUTS_REQUEST_INIT, p = VX_INPUTS_REQUEST_INIT;
  vx_selection *all = NULL, *some = NULL;
  vx_buf changed = VX_BUF_INIT;
  vx_key_options ko = VX_KEY_OPTIONS_INIT;
  vx_key *key = NULL;
  int64_t mark;
  q.project_dir = "a";
  q.files = globs_of_a;
  p.paths = exact;
  CHECK_OK(vx_inputs_resolve(inputs, &q, &all, &err_));
  CHECK_OK(vx_inputs_resolve(inputs, &p, &some, &err_));
  CHECK(vx_selection_count(some) == 2);
  CHECK(vx_selection_identity(some, 0) != NULL);
  CHECK(vx_selection_identity(some, 1) == NULL && vx_selection_mode(some, 1) == 0);
  ko.schema = "t-1";
  CHECK_OK(vx_key_new(&ko, &key, &err_));
  CHECK_OK(vx_key_add_selection(key, some, &err_));
  CHECK_FAILS(vx_key_add_selection(key, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_selection(NULL, some, &err_), VX_E_INVALID);
  vx_key_free(key);

  mark = vx_inputs_mark() + 60 * (int64_t)1000000000; /* nothing was written after it: identities alone decide */
  CHECK(moved(inputs, all, mark, 0, NULL));
  CHECK(moved(inputs, some, mark, 0, NULL));
  write_file(root, "a/new.txt", "1");
  CHECK(moved(inputs, all, mark, 0, "a/new.txt"));
  CHECK(moved(inputs, some, mark, 0, NULL));
  write_file(root, "a/in.txt", "in\n"); /* the same bytes again */
  CHECK(moved(inputs, some, 0, 0, "a/in.txt"));
  CHECK(moved(inputs, some, 0, VX_INPUTS_BY_BYTES, NULL));
  write_file(root, "a/in.txt", "ni\n");
  CHECK(moved(inputs, some, mark, VX_INPUTS_BY_BYTES, "a/in.txt"));
  write_file(root, "a/in.txt", "in\n");
  write_file(root, "a/none", "");
  CHECK(moved(inputs, some, mark, VX_INPUTS_BY_BYTES, "a/none"));

  CHECK_FAILS(vx_inputs_changed_since(other, some, mark, 0, &changed, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_inputs_changed_since(NULL, some, mark, 0, &changed, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_inputs_changed_since(inputs, NULL, mark, 0, &changed, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_inputs_changed_since(inputs, some, mark, 0, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_inputs_changed_since(inputs, some, mark, 2, &changed, &err_), VX_E_UNSUPPORTED);
  CHECK_FAILS(vx_inputs_invalidate(NULL, NULL, &err_), VX_E_INVALID);
  vx_selection_free(some);
  CHECK_OK(vx_inputs_invalidate(inputs, exact, &err_));
  CHECK_OK(vx_inputs_resolve(inputs, &p, &some, &err_));
  CHECK(vx_selection_identity(some, 1) != NULL);
  vx_inputs_free(other);
  vx_selection_free(all);
  vx_selection_free(some);
  vx_inputs_free(inputs);
}

static void *select_often(void *inputs) {
  const char *const files[] = {"**", NULL};
  int i;
  for (i = 0; i < 50; ++i) {
    vx_inputs_request q = VX_INPUTS_REQUEST_INIT;
    vx_selection *s = NULL;
    q.project_dir = "b";
    q.files = files;
    if (vx_inputs_invalidate(inputs, NULL, NULL) != VX_OK || vx_inputs_resolve(inputs, &q, &s, NULL) != VX_OK || vx_selection_count(s) != 2) return inputs;
    vx_selection_free(s);
  }
  return NULL;
}

static void two_threads(const char *root) {
  vx_inputs *inputs = open_inputs(root);
  pthread_t thread;
  void *ended = inputs;
  CHECK(pthread_create(&thread, NULL, select_often, inputs) == 0);
  CHECK(select_often(inputs) == NULL);
  CHECK(pthread_join(thread, &ended) == 0 && ended == NULL);
  vx_inputs_free(inputs);
}

int main(void) {
  char *root = make_workspace();
  globs();
  opening(root);
  selecting(root);
  truth(root);
  two_threads(root);
  remove_workspace(root);
  return failed_checks == 0 ? 0 : 1;
}
