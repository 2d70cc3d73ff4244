/* vx/cache.h: save, look up, restore, explain, move between stores, prune; two threads on one store; NULL in every place. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

typedef struct {
  vx_save known;
  uint64_t later;
} longer_save;

static char store_dir[4200], other_dir[4200];
static const char *const made[] = {"out/**", NULL};
static const char *const nothing_made[] = {NULL};

static void path_of(char *to, const char *dir, const char *name) { CHECK(snprintf(to, 4200, "%s/%s", dir, name) < 4200); }

static int holds(const char *dir, const char *name, const char *bytes) {
  char path[4200], got[256] = "";
  FILE *f;
  path_of(path, dir, name);
  f = fopen(path, "rb");
  if (f == NULL) return bytes == NULL;
  got[fread(got, 1, sizeof got - 1, f)] = '\0';
  fclose(f);
  return bytes != NULL && strcmp(got, bytes) == 0;
}

static vx_outputs outputs_of(const char *root, const char *const *files) {
  vx_outputs o = VX_OUTPUTS_INIT;
  o.root = root;
  o.project_dir = "a";
  o.files = files;
  return o;
}

static vx_cache *open_cache(const char *dir, const char *root) {
  vx_cache_options o = VX_CACHE_OPTIONS_INIT;
  vx_cache *cache = NULL;
  o.root = root;
  CHECK_OK(vx_cache_open(dir, &o, &cache, &err_));
  return cache;
}

static vx_key *key_of(const char *value, vx_digest *digest) {
  vx_key_options o = VX_KEY_OPTIONS_INIT;
  vx_key *key = NULL;
  o.schema = "test-1";
  o.subject = "a#build";
  o.flags = VX_KEY_EXPLAIN;
  CHECK_OK(vx_key_new(&o, &key, &err_));
  CHECK_OK(vx_key_add_text(key, VX_KEY_ENV, "MODE", value, &err_));
  CHECK_OK(vx_key_add_text(key, VX_KEY_FILE, "a/in.txt", value, &err_));
  CHECK_OK(vx_key_finish(key, digest, &err_));
  return key;
}

static void make_outputs(const char *root, const char *bytes) {
  char path[4200];
  path_of(path, root, "a/out");
  mkdir(path, 0777);
  path_of(path, root, "a/out/deep");
  mkdir(path, 0777);
  write_file(root, "a/out/x", bytes);
  write_file(root, "a/out/deep/y", "y\n");
  path_of(path, root, "a/out/x");
  chmod(path, 0755);
  path_of(path, root, "a/out/link");
  unlink(path);
  CHECK(symlink("x", path) == 0);
}

static void opening(const char *root) {
  vx_cache *cache = (vx_cache *)(void *)&failed_checks;
  vx_cache_options o = VX_CACHE_OPTIONS_INIT;
  vx_buf buf = VX_BUF_INIT;
  char env[4300];
  const char *envp[] = {env, NULL};
  CHECK_FAILS(vx_cache_open(NULL, NULL, &cache, &err_), VX_E_INVALID);
  CHECK(cache == NULL);
  CHECK_FAILS(vx_cache_open("relative", &o, &cache, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_open(store_dir, &o, NULL, &err_), VX_E_INVALID);
  o.flags = 2;
  CHECK_FAILS(vx_cache_open(store_dir, &o, &cache, &err_), VX_E_UNSUPPORTED);
  o.flags = 0;
  o.root = "/no/such/root";
  CHECK_FAILS(vx_cache_open(store_dir, &o, &cache, &err_), VX_E_IO);
  o.root = root;
  CHECK_FAILS(vx_cache_open(root, &o, &cache, &err_), VX_E_REFUSED); /* holds the sources */
  o.flags = VX_CACHE_READ_ONLY;
  CHECK_OK(vx_cache_open(store_dir, &o, &cache, &err_));
  CHECK(vx_cache_access(cache) == 0 || vx_cache_access(cache) == 1);
  CHECK(access(store_dir, F_OK) != 0); /* nothing was made */
  vx_cache_free(cache);
  snprintf(env, sizeof env, "VX_CACHE_DIR=%s", store_dir);
  o.flags = 0;
  o.envp = envp;
  CHECK_OK(vx_cache_open(NULL, &o, &cache, &err_));
  CHECK(strcmp(vx_cache_dir(cache), store_dir) == 0);
  CHECK(vx_cache_access(cache) == 2);
  CHECK(vx_cache_salt(cache) != NULL);
  CHECK_OK(vx_cache_notices(cache, &buf, &err_));
  CHECK(buf.size == 0);
  vx_buf_dispose(&buf);
  CHECK_FAILS(vx_cache_notices(NULL, &buf, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_notices(cache, NULL, &err_), VX_E_INVALID);
  vx_cache_free(cache);
  vx_cache_free(NULL);
  CHECK(vx_cache_access(NULL) == 0 && vx_cache_salt(NULL) == NULL && strcmp(vx_cache_dir(NULL), "") == 0);
}

typedef struct {
  char out[64], err[64];
} printed;

static vx_status collect(void *user_data, int32_t stream, const void *data, size_t size) {
  printed *p = user_data;
  char *to = stream == 1 ? p->out : p->err;
  CHECK(stream == 1 || stream == 2);
  CHECK(size < sizeof p->out);
  memcpy(to, data, size);
  to[size] = '\0';
  return VX_OK;
}

static vx_status stop(void *user_data, int32_t stream, const void *data, size_t size) {
  (void)user_data;
  (void)stream;
  (void)data;
  (void)size;
  return VX_E_CANCELLED;
}

static void round_trip(const char *root) {
  vx_cache *cache = open_cache(store_dir, root);
  const vx_outputs outputs = outputs_of(root, made);
  vx_save save = VX_SAVE_INIT;
  vx_entry *entry = NULL;
  vx_digest digest;
  vx_key *key = key_of("1", &digest);
  vx_buf json = VX_BUF_INIT;
  printed p;
  int32_t done = -1;
  make_outputs(root, "one\n");
  CHECK_OK(vx_cache_lookup(cache, &digest, "a#build", &outputs, &entry, &err_));
  CHECK(entry == NULL && vx_cache_has(cache, &digest) == 0);
  save.outputs = &outputs;
  save.components = key;
  save.command = "make";
  save.out = "said\n";
  save.out_size = 5;
  save.err = "oops";
  save.err_size = 4;
  save.duration_ns = 1234;
  CHECK_OK(vx_cache_save(cache, &digest, &save, &err_));
  CHECK(vx_cache_has(cache, &digest) == 1);
  CHECK_OK(vx_cache_lookup(cache, &digest, NULL, NULL, &entry, &err_));
  CHECK(entry != NULL);
  CHECK(vx_cache_entry_outputs(entry) == 3);
  CHECK(strcmp(vx_cache_entry_output_path(entry, 0), "out/deep/y") == 0);
  CHECK(strcmp(vx_cache_entry_output_path(entry, 1), "out/link") == 0 && vx_cache_entry_output_mode(entry, 1) == 0120000);
  CHECK(strcmp(vx_cache_entry_output_path(entry, 2), "out/x") == 0 && vx_cache_entry_output_mode(entry, 2) == 0100755);
  CHECK(vx_cache_entry_output_size(entry, 2) == 4 && vx_cache_entry_output_space(entry, 2) == 0);
  CHECK(vx_cache_entry_output_path(entry, 3) == NULL && vx_cache_entry_output_mode(entry, 3) == 0 && vx_cache_entry_output_size(entry, 3) == 0);
  CHECK_OK(vx_cache_entry_stats(entry, &json, &err_));
  CHECK(strstr(json.data, "\"subject\":\"a#build\",\"durationNs\":1234,\"cpuNs\":null") != NULL);
  vx_buf_dispose(&json);
  CHECK_OK(vx_cache_entry_log(entry, collect, &p, &err_));
  CHECK(strcmp(p.out, "said\n") == 0 && strcmp(p.err, "oops") == 0);
  CHECK_FAILS(vx_cache_entry_log(entry, stop, NULL, &err_), VX_E_CANCELLED);

  CHECK_OK(vx_cache_is_current(entry, &outputs, &done, &err_));
  CHECK(done == 1);
  write_file(root, "a/out/stray", "");
  write_file(root, "a/out/x", "two\n");
  CHECK_OK(vx_cache_is_current(entry, &outputs, &done, &err_));
  CHECK(done == 0);
  CHECK_OK(vx_cache_restore(entry, &outputs, &done, &err_));
  CHECK(done == 1 && holds(root, "a/out/x", "one\n") && holds(root, "a/out/stray", NULL));
  CHECK_OK(vx_outputs_clean(&outputs, &err_));
  CHECK(holds(root, "a/out/x", NULL) && holds(root, "a/in.txt", "in\n"));
  vx_cache_free(cache); /* before its entry */
  CHECK_OK(vx_cache_restore(entry, &outputs, &done, &err_));
  CHECK(done == 1 && holds(root, "a/out/deep/y", "y\n") && holds(root, "a/out/link", "one\n"));
  CHECK_OK(vx_cache_is_current(entry, &outputs, &done, &err_));
  CHECK(done == 1);
  vx_cache_entry_free(entry);
  vx_key_free(key);
}

static void reading_only(const char *root) {
  const vx_outputs outputs = outputs_of(root, made);
  vx_cache_options o = VX_CACHE_OPTIONS_INIT;
  vx_cache *cache = NULL;
  vx_save save = VX_SAVE_INIT;
  vx_entry *entry = NULL;
  vx_digest digest, other;
  vx_key *key = key_of("1", &digest);
  int32_t done = 0;
  o.flags = VX_CACHE_READ_ONLY;
  o.root = root;
  CHECK_OK(vx_cache_open(store_dir, &o, &cache, &err_));
  CHECK(vx_cache_access(cache) == 1);
  CHECK_OK(vx_cache_lookup(cache, &digest, NULL, NULL, &entry, &err_));
  CHECK(entry != NULL);
  write_file(root, "a/out/x", "two\n");
  CHECK_OK(vx_cache_restore(entry, &outputs, &done, &err_));
  CHECK(done == 1 && holds(root, "a/out/x", "one\n"));
  save.outputs = &outputs;
  CHECK_OK(vx_digest_bytes("other", 5, &other, &err_));
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_IO);
  CHECK(vx_cache_has(cache, &other) == 0 && vx_cache_has(cache, &digest) == 1);
  vx_cache_entry_free(entry);
  vx_cache_free(cache);
  vx_key_free(key);
}

static void refusals(const char *root) {
  vx_cache *cache = open_cache(store_dir, root);
  const char *const dots[] = {"../x", NULL}, *const fifo[] = {"pipe", NULL};
  vx_outputs outputs = outputs_of(root, made), bad = outputs_of(root, dots), pipes = outputs_of(root, fifo);
  vx_save save = VX_SAVE_INIT;
  longer_save longer;
  vx_entry *entry = (vx_entry *)(void *)&failed_checks;
  vx_digest digest, other;
  vx_key *key = key_of("1", &digest);
  char path[4200];
  int32_t done = 7;
  save.outputs = &outputs;
  CHECK_FAILS(vx_cache_save(NULL, &digest, &save, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_save(cache, NULL, &save, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_save(cache, &digest, NULL, &err_), VX_E_INVALID);
  save.components = key;
  CHECK_OK(vx_digest_bytes("x", 1, &other, &err_));
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_INVALID);
  save.components = NULL;
  save.out_size = 1;
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_INVALID);
  save.out_size = 0;
  save.duration_ns = -1;
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_INVALID);
  save.duration_ns = 0;
  save.outputs = NULL;
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_INVALID);
  save.outputs = &bad;
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_CONFIG);
  save.outputs = &pipes;
  path_of(path, root, "a/pipe");
  CHECK(mkfifo(path, 0600) == 0);
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_REFUSED);
  unlink(path);
  save.outputs = &outputs;
  save.size = 4;
  CHECK_FAILS(vx_cache_save(cache, &other, &save, &err_), VX_E_INVALID);
  memset(&longer, 0, sizeof longer);
  longer.known = save;
  longer.known.size = sizeof longer;
  longer.later = 1;
  CHECK_FAILS(vx_cache_save(cache, &other, &longer.known, &err_), VX_E_UNSUPPORTED);
  CHECK(vx_cache_has(cache, &other) == 0);
  longer.later = 0;
  CHECK_OK(vx_cache_save(cache, &other, &longer.known, &err_));
  CHECK(vx_cache_has(cache, &other) == 1);

  CHECK_FAILS(vx_cache_lookup(NULL, &digest, NULL, NULL, &entry, &err_), VX_E_INVALID);
  CHECK(entry == NULL);
  CHECK_FAILS(vx_cache_lookup(cache, NULL, NULL, NULL, &entry, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_lookup(cache, &digest, NULL, NULL, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_lookup(cache, &digest, NULL, &bad, &entry, &err_), VX_E_CONFIG);
  CHECK(vx_cache_has(NULL, &digest) == 0 && vx_cache_has(cache, NULL) == 0);
  CHECK_OK(vx_cache_lookup(cache, &digest, NULL, NULL, &entry, &err_));
  CHECK_FAILS(vx_cache_restore(NULL, &outputs, &done, &err_), VX_E_INVALID);
  CHECK(done == 0);
  CHECK_FAILS(vx_cache_restore(entry, NULL, &done, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_restore(entry, &outputs, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_is_current(NULL, &outputs, &done, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_is_current(entry, NULL, &done, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_is_current(entry, &outputs, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_entry_stats(entry, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_entry_log(NULL, collect, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_entry_log(entry, NULL, NULL, &err_), VX_E_INVALID);
  outputs.root = NULL;
  CHECK_FAILS(vx_outputs_clean(&outputs, &err_), VX_E_INVALID);
  outputs.root = root;
  outputs.flags = 1;
  CHECK_FAILS(vx_outputs_clean(&outputs, &err_), VX_E_UNSUPPORTED);
  outputs.flags = 0;
  outputs.project_dir = "/a";
  CHECK_FAILS(vx_outputs_clean(&outputs, &err_), VX_E_INVALID);
  outputs.project_dir = "a";

  /* An artifact that this declaration does not own is not restored, and nothing in the tree changes. */
  outputs.files = fifo;
  CHECK_OK(vx_cache_restore(entry, &outputs, &done, &err_));
  CHECK(done == 0 && holds(root, "a/out/x", "one\n"));
  vx_cache_entry_free(entry);
  vx_cache_entry_free(NULL);
  CHECK(vx_cache_entry_outputs(NULL) == 0);
  vx_key_free(key);
  vx_cache_free(cache);
}

static void explaining(const char *root) {
  vx_cache *cache = open_cache(store_dir, root);
  const vx_outputs outputs = outputs_of(root, nothing_made);
  vx_save save = VX_SAVE_INIT;
  vx_digest one, two;
  vx_key *first = key_of("1", &one), *second = key_of("2", &two);
  vx_buf json = VX_BUF_INIT;
  save.outputs = &outputs;
  save.components = first;
  CHECK_OK(vx_cache_save(cache, &one, &save, &err_));
  CHECK_OK(vx_cache_explain(cache, second, &json, &err_));
  CHECK(strstr(json.data, "\"kind\":\"env\",\"name\":\"MODE\",\"change\":\"changed\"") != NULL);
  CHECK(strstr(json.data, "\"kind\":\"file\",\"name\":\"a/in.txt\",\"change\":\"changed\",\"before\":\"1\",\"after\":\"2\"}],"
                          "\"unchangedCount\":5,\"found\":true") != NULL);
  vx_buf_dispose(&json);
  CHECK_FAILS(vx_cache_explain(NULL, second, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_explain(cache, NULL, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_explain(cache, second, NULL, &err_), VX_E_INVALID);
  vx_cache_free(cache);
  cache = open_cache(other_dir, NULL);
  CHECK_OK(vx_cache_explain(cache, second, &json, &err_));
  CHECK(strcmp(json.data, "{\"entries\":[],\"unchangedCount\":0,\"found\":false,\"previousKey\":null}") == 0);
  vx_buf_dispose(&json);
  vx_cache_free(cache);
  vx_key_free(first);
  vx_key_free(second);
}

static void moving(const char *root) {
  vx_cache *from = open_cache(store_dir, root), *to = open_cache(other_dir, root);
  const vx_outputs outputs = outputs_of(root, made), nothing = outputs_of(root, nothing_made);
  vx_save save = VX_SAVE_INIT;
  vx_digest digest, absent;
  vx_key *key = key_of("move", &digest);
  vx_entry *entry = NULL;
  char path[4200];
  int fd;
  int32_t done = 0;
  save.outputs = &outputs;
  CHECK_OK(vx_outputs_clean(&outputs, &err_));
  make_outputs(root, "one\n");
  CHECK_OK(vx_cache_save(from, &digest, &save, &err_));
  path_of(path, root, "artifact");
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0);
  CHECK_OK(vx_cache_export(from, &digest, fd, &err_));
  CHECK_OK(vx_digest_bytes("absent", 6, &absent, &err_));
  CHECK_FAILS(vx_cache_export(from, &absent, fd, &err_), VX_E_NOT_FOUND);
  CHECK_FAILS(vx_cache_export(from, &digest, -1, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_export(NULL, &digest, fd, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_import(NULL, &digest, fd, NULL, &outputs, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_import(to, &digest, fd, NULL, NULL, &err_), VX_E_INVALID);
  lseek(fd, 0, SEEK_SET);
  CHECK_FAILS(vx_cache_import(to, &absent, fd, NULL, &outputs, &err_), VX_E_CORRUPT); /* another key's */
  lseek(fd, 0, SEEK_SET);
  CHECK_FAILS(vx_cache_import(to, &digest, fd, NULL, &nothing, &err_), VX_E_CORRUPT); /* files it does not own */
  lseek(fd, 3, SEEK_SET);
  CHECK_FAILS(vx_cache_import(to, &digest, fd, NULL, &outputs, &err_), VX_E_CORRUPT);
  CHECK(vx_cache_has(to, &digest) == 0);
  lseek(fd, 0, SEEK_SET);
  CHECK_OK(vx_cache_import(to, &digest, fd, "a#build", &outputs, &err_));
  close(fd);
  CHECK_OK(vx_outputs_clean(&outputs, &err_));
  CHECK_OK(vx_cache_lookup(to, &digest, NULL, NULL, &entry, &err_));
  CHECK(entry != NULL);
  CHECK_OK(vx_cache_restore(entry, &outputs, &done, &err_));
  CHECK(done == 1 && holds(root, "a/out/x", "one\n"));

  /* An artifact without a row is a miss, and is taken in when it may be verified. */
  vx_cache_entry_free(entry);
  vx_cache_free(to);
  path_of(path, other_dir, "store-1.db");
  unlink(path);
  to = open_cache(other_dir, root);
  CHECK_OK(vx_cache_lookup(to, &digest, NULL, NULL, &entry, &err_));
  CHECK(entry == NULL);
  CHECK_OK(vx_cache_lookup(to, &digest, "a#build", &outputs, &entry, &err_));
  CHECK(entry != NULL);

  /* And one that is gone is no hit. */
  {
    char text[VX_DIGEST_TEXT], name[64];
    vx_buf lines = VX_BUF_INIT;
    vx_digest_hex(&digest, text);
    snprintf(name, sizeof name, "%s.tar.zst", text);
    path_of(path, other_dir, name);
    CHECK(unlink(path) == 0);
    CHECK_OK(vx_cache_restore(entry, &outputs, &done, &err_));
    CHECK(done == 0);
    CHECK_OK(vx_cache_notices(to, &lines, &err_));
    CHECK(strstr(lines.data, "the artifact is gone\n") != NULL);
    vx_buf_dispose(&lines);
  }
  vx_cache_entry_free(entry);
  vx_key_free(key);
  vx_cache_free(to);
  vx_cache_free(from);
}

static void housekeeping(const char *root) {
  vx_cache *cache = open_cache(store_dir, root);
  vx_prune policy = VX_PRUNE_INIT;
  vx_buf json = VX_BUF_INIT;
  vx_digest keys[2];
  vx_key *one = key_of("1", &keys[0]), *two = key_of("absent", &keys[1]);
  vx_entry *found[2] = {NULL, NULL};
  CHECK_OK(vx_cache_lookup_many(cache, keys, 2, found, &err_));
  CHECK(found[0] != NULL && found[1] == NULL);
  vx_cache_entry_free(found[0]);
  CHECK_OK(vx_cache_lookup_many(cache, NULL, 0, NULL, &err_));
  CHECK_FAILS(vx_cache_lookup_many(cache, NULL, 2, found, &err_), VX_E_INVALID);
  CHECK(found[0] == NULL);
  CHECK_FAILS(vx_cache_lookup_many(cache, keys, 2, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_lookup_many(NULL, keys, 2, found, &err_), VX_E_INVALID);
  CHECK_OK(vx_cache_stats(cache, &json, &err_));
  CHECK(strstr(json.data, "\"entries\":3,") != NULL && strstr(json.data, "{\"project\":\"a\",\"entries\":1,") != NULL);
  vx_buf_dispose(&json);
  CHECK_FAILS(vx_cache_stats(cache, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_stats(NULL, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_cache_prune(cache, &policy, &json, &err_), VX_E_INVALID); /* no rule */
  CHECK_FAILS(vx_cache_prune(cache, NULL, &json, &err_), VX_E_INVALID);
  policy.max_bytes = 1;
  CHECK_FAILS(vx_cache_prune(NULL, &policy, &json, &err_), VX_E_INVALID);
  policy.flags = 2;
  CHECK_FAILS(vx_cache_prune(cache, &policy, &json, &err_), VX_E_UNSUPPORTED);
  policy.flags = VX_PRUNE_DRY_RUN;
  CHECK_OK(vx_cache_prune(cache, &policy, &json, &err_));
  CHECK(strstr(json.data, "{\"dryRun\":true,\"evicted\":3,") != NULL && vx_cache_has(cache, &keys[0]) == 1);
  vx_buf_dispose(&json);
  policy.flags = 0;
  CHECK_OK(vx_cache_prune(cache, &policy, NULL, &err_));
  CHECK(vx_cache_has(cache, &keys[0]) == 0);
  vx_key_free(one);
  vx_key_free(two);
  vx_cache_free(cache);
}

typedef struct {
  vx_cache *cache;
  const char *root, *project;
} worker;

static void *work(void *user_data) {
  const worker *w = user_data;
  vx_outputs outputs = outputs_of(w->root, made);
  int i;
  outputs.project_dir = w->project;
  for (i = 0; i < 20; ++i) {
    vx_save save = VX_SAVE_INIT;
    vx_entry *entry = NULL;
    vx_digest digest;
    char text[64];
    int32_t done = 0;
    snprintf(text, sizeof text, "%s %d", w->project, i);
    if (vx_digest_bytes(text, strlen(text), &digest, NULL) != VX_OK) return user_data;
    save.outputs = &outputs;
    if (vx_cache_save(w->cache, &digest, &save, NULL) != VX_OK) return user_data;
    if (vx_cache_lookup(w->cache, &digest, NULL, NULL, &entry, NULL) != VX_OK || entry == NULL) return user_data;
    if (vx_outputs_clean(&outputs, NULL) != VX_OK || vx_cache_restore(entry, &outputs, &done, NULL) != VX_OK || !done) return user_data;
    vx_cache_entry_free(entry);
  }
  return NULL;
}

static void two_threads(const char *root) {
  vx_cache *cache = open_cache(store_dir, root);
  worker a = {cache, root, "a"}, b = {cache, root, "b"};
  pthread_t thread;
  void *ended = &a;
  char path[4200];
  make_outputs(root, "a\n");
  path_of(path, root, "b/out");
  mkdir(path, 0777);
  write_file(root, "b/out/x", "b\n");
  CHECK(pthread_create(&thread, NULL, work, &b) == 0);
  CHECK(work(&a) == NULL);
  CHECK(pthread_join(thread, &ended) == 0 && ended == NULL);
  CHECK(holds(root, "a/out/x", "a\n") && holds(root, "b/out/x", "b\n"));
  vx_cache_free(cache);
}

int main(void) {
  char *root = make_workspace(), *base = make_workspace();
  path_of(store_dir, base, "b/store");
  path_of(other_dir, base, "b/other");
  opening(root);
  round_trip(root);
  reading_only(root);
  refusals(root);
  explaining(root);
  moving(root);
  housekeeping(root);
  two_threads(root);
  remove_workspace(root);
  remove_workspace(base);
  return failed_checks == 0 ? 0 : 1;
}
