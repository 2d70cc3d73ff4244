/* vx/key.h: digests, kinds in their order, explanations, option structs of other sizes, NULL in every place. */
#include <stdlib.h>

#include "check.h"

typedef struct {
  vx_key_options known;
  uint64_t later[2];
} longer_options;

static vx_key *new_key(const char *schema, uint32_t flags) {
  vx_key_options options = VX_KEY_OPTIONS_INIT;
  vx_key *key = NULL;
  options.schema = schema;
  options.subject = "tool#x";
  options.flags = flags;
  CHECK_OK(vx_key_new(&options, &key, &err_));
  return key;
}

static void digests(const char *dir) {
  vx_digest d, e;
  char text[VX_DIGEST_TEXT], path[4200], git[VX_GIT_ID_TEXT];
  CHECK(sizeof d == 16);
  CHECK_OK(vx_digest_bytes("abc", 3, &d, &err_));
  vx_digest_hex(&d, text);
  CHECK(strcmp(text, "06b05ab6733a618578af5f94892f3950") == 0); /* XXH3-128 of "abc" */
  CHECK_OK(vx_digest_parse(text, &e, &err_));
  CHECK(memcmp(&d, &e, sizeof d) == 0);
  CHECK_OK(vx_digest_parse("06B05AB6733A618578AF5F94892F3950", &e, &err_));
  CHECK(memcmp(&d, &e, sizeof d) == 0);
  CHECK_FAILS(vx_digest_parse("06b05ab6", &e, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_digest_parse("x6b05ab6733a618578af5f94892f3950", &e, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_digest_parse(NULL, &e, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_digest_parse(text, NULL, &err_), VX_E_INVALID);
  CHECK_OK(vx_digest_bytes(NULL, 0, &d, &err_));
  CHECK_FAILS(vx_digest_bytes(NULL, 1, &d, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_digest_bytes("", 0, NULL, &err_), VX_E_INVALID);
  vx_digest_hex(NULL, text);
  CHECK(text[0] == '\0');
  vx_digest_hex(&d, NULL);

  snprintf(path, sizeof path, "%s/a/in.txt", dir);
  CHECK_OK(vx_digest_file(path, &d, &err_));
  CHECK_OK(vx_digest_bytes("in\n", 3, &e, &err_));
  CHECK(memcmp(&d, &e, sizeof d) == 0);
  CHECK_FAILS(vx_digest_file(dir, &d, &err_), VX_E_IO);
  CHECK_FAILS(vx_digest_file("/dev/zero", &d, &err_), VX_E_IO);
  CHECK_FAILS(vx_digest_file("/no/such/file", &d, &err_), VX_E_IO);
  CHECK_FAILS(vx_digest_file(NULL, &d, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_digest_file(path, NULL, &err_), VX_E_INVALID);

  CHECK_OK(vx_git_blob_id("1\n", 2, 160, git, &err_));
  CHECK(strcmp(git, "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d") == 0);
  CHECK_OK(vx_git_blob_id(NULL, 0, 256, git, &err_));
  CHECK(strcmp(git, "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813") == 0);
  CHECK_FAILS(vx_git_blob_id("", 0, 128, git, &err_), VX_E_INVALID);
  CHECK(git[0] == '\0');
  CHECK_FAILS(vx_git_blob_id(NULL, 1, 160, git, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_git_blob_id("", 0, 160, NULL, &err_), VX_E_INVALID);
}

static void kinds(void) {
  static const char *const names[] = {"format", "platform", "workspace", "package", "config", "forward", "env", "runtime",
                                      "ws-runtime", "upstream", "host", "file"};
  int32_t i;
  for (i = 1; i <= 12; ++i) CHECK(strcmp(vx_key_kind_name(i), names[i - 1]) == 0);
  CHECK(strcmp(vx_key_kind_name(0), "unknown") == 0);
  CHECK(strcmp(vx_key_kind_name(13), "unknown") == 0);
  CHECK(strcmp(vx_key_kind_name(-1), "unknown") == 0);
  CHECK(strcmp(vx_key_kind_name(257), "unknown") == 0);
}

static void options(void) {
  vx_key *key = (vx_key *)(void *)&failed_checks;
  vx_key_options o = VX_KEY_OPTIONS_INIT;
  longer_options longer;
  char schema[300];
  CHECK_FAILS(vx_key_new(NULL, &key, &err_), VX_E_INVALID); /* a schema is required */
  CHECK(key == NULL);
  CHECK_FAILS(vx_key_new(&o, &key, &err_), VX_E_INVALID);
  o.schema = "";
  CHECK_FAILS(vx_key_new(&o, &key, &err_), VX_E_INVALID);
  o.schema = "vx-key-1"; /* ours */
  CHECK_FAILS(vx_key_new(&o, &key, &err_), VX_E_INVALID);
  memset(schema, 's', sizeof schema);
  schema[256] = '\0';
  o.schema = schema;
  CHECK_FAILS(vx_key_new(&o, &key, &err_), VX_E_INVALID);
  o.schema = "t-1";
  CHECK_FAILS(vx_key_new(&o, NULL, &err_), VX_E_INVALID);
  o.flags = 2;
  CHECK_FAILS(vx_key_new(&o, &key, &err_), VX_E_UNSUPPORTED);
  o.flags = 0;
  o.size = 0;
  CHECK_FAILS(vx_key_new(&o, &key, &err_), VX_E_INVALID);
  o.size = sizeof o;
  memset(&longer, 0, sizeof longer);
  longer.known = o;
  longer.known.size = sizeof longer;
  CHECK_OK(vx_key_new(&longer.known, &key, &err_));
  vx_key_free(key);
  longer.later[1] = 1;
  CHECK_FAILS(vx_key_new(&longer.known, &key, &err_), VX_E_UNSUPPORTED);
  o.subject = (const char *)(void *)1; /* beyond what the short struct says */
  o.size = 2 * sizeof(uint32_t) + sizeof(void *);
  CHECK_OK(vx_key_new(&o, &key, &err_));
  vx_key_free(key);
  vx_key_free(NULL);
}

static void adding(void) {
  vx_key *key = new_key("t-1", 0), *other = new_key("t-1", 0);
  vx_digest a, b;
  CHECK_OK(vx_key_add_text(key, VX_KEY_PLATFORM, NULL, "linux-x64", &err_));
  CHECK_OK(vx_key_add_text(key, VX_KEY_ENV, "A", NULL, &err_));
  CHECK_OK(vx_key_add(key, VX_KEY_ENV, "B", "x\0y", 3, &err_));
  CHECK_FAILS(vx_key_add_text(key, VX_KEY_PLATFORM, NULL, "late", &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_text(key, VX_KEY_FORMAT, NULL, "x", &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_text(key, 0, NULL, "x", &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_text(key, 256 + VX_KEY_HOST, "h", "x", &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_text(key, VX_KEY_HOST, NULL, "x", &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_text(key, VX_KEY_HOST, "h", NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add(key, VX_KEY_HOST, "h", NULL, 1, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add(key, VX_KEY_UPSTREAM, "u", "short", 5, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_add_text(NULL, VX_KEY_HOST, "h", "x", &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_begin(NULL, VX_KEY_FILE, 1, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_begin(key, 77, 1, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_end(NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_end(key, &err_), VX_E_INVALID);
  CHECK_OK(vx_key_begin(key, VX_KEY_FILE, 2, &err_));
  CHECK_OK(vx_key_add_text(key, VX_KEY_FILE, "b", "id-b", &err_));
  CHECK_FAILS(vx_key_end(key, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_finish(key, &a, &err_), VX_E_INVALID);
  CHECK_OK(vx_key_add_text(key, VX_KEY_FILE, "a", NULL, &err_));
  CHECK_OK(vx_key_end(key, &err_));
  CHECK_FAILS(vx_key_finish(key, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_finish(NULL, &a, &err_), VX_E_INVALID);
  CHECK_OK(vx_key_finish(key, &a, &err_));
  CHECK_OK(vx_key_finish(key, &b, &err_));
  CHECK(memcmp(&a, &b, sizeof a) == 0);
  CHECK_FAILS(vx_key_add_text(key, VX_KEY_FILE, "c", "id", &err_), VX_E_INVALID);

  /* The same in another order, where order does not count. */
  CHECK_OK(vx_key_add_text(other, VX_KEY_PLATFORM, NULL, "linux-x64", &err_));
  CHECK_OK(vx_key_add(other, VX_KEY_ENV, "B", "x\0y", 3, &err_));
  CHECK_OK(vx_key_add_text(other, VX_KEY_ENV, "A", NULL, &err_));
  CHECK_OK(vx_key_add_text(other, VX_KEY_FILE, "a", NULL, &err_));
  CHECK_OK(vx_key_add_text(other, VX_KEY_FILE, "b", "id-b", &err_));
  CHECK_OK(vx_key_finish(other, &b, &err_));
  CHECK(memcmp(&a, &b, sizeof a) == 0);
  vx_key_free(key);
  vx_key_free(other);
}

static vx_status count_one(void *user_data, vx_key_kind kind, const char *name, const char *digest) {
  int *seen = user_data;
  CHECK(kind >= VX_KEY_FORMAT && kind <= VX_KEY_FILE && name[0] != '\0' && digest[0] != '\0');
  if (kind == VX_KEY_ENV) CHECK(strcmp(name, "A") == 0 && strlen(digest) == 32);
  if (kind == VX_KEY_FILE) CHECK(strcmp(name, "f") == 0 && strcmp(digest, "id") == 0);
  return ++*seen == 100 ? VX_E_CANCELLED : VX_OK;
}

static vx_key *explained(const char *env, const char *identity, const void *salt) {
  vx_key_options o = VX_KEY_OPTIONS_INIT;
  vx_key *key = NULL;
  vx_digest d;
  o.schema = "t-1";
  o.flags = VX_KEY_EXPLAIN;
  o.salt = salt;
  CHECK_OK(vx_key_new(&o, &key, &err_));
  CHECK_OK(vx_key_add_text(key, VX_KEY_ENV, "A", env, &err_));
  if (identity != NULL) CHECK_OK(vx_key_add_text(key, VX_KEY_FILE, "f", identity, &err_));
  CHECK_OK(vx_key_finish(key, &d, &err_));
  return key;
}

static void explaining(void) {
  vx_key *a = explained("1", "id", NULL), *b = explained("2", NULL, NULL), *salted = explained("1", "id", "0123456789abcdef");
  vx_key *plain = new_key("t-1", 0), *open = new_key("t-1", VX_KEY_EXPLAIN);
  vx_digest d;
  vx_buf json = VX_BUF_INIT;
  int seen = 0;
  CHECK_OK(vx_key_components(a, count_one, &seen, &err_));
  CHECK(seen == 7); /* format, platform, workspace, package, config, env, file */
  seen = 97;
  CHECK_FAILS(vx_key_components(a, count_one, &seen, &err_), VX_E_CANCELLED);
  CHECK(seen == 100);
  CHECK_FAILS(vx_key_components(a, NULL, &seen, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_components(NULL, count_one, &seen, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_components(open, count_one, &seen, &err_), VX_E_INVALID);
  CHECK_OK(vx_key_finish(plain, &d, &err_));
  CHECK_FAILS(vx_key_components(plain, count_one, &seen, &err_), VX_E_INVALID);
  CHECK_OK(vx_key_diff(a, b, &json, &err_));
  CHECK(strstr(json.data, "{\"kind\":\"env\",\"name\":\"A\",\"change\":\"changed\",\"before\":\"") != NULL);
  CHECK(strstr(json.data, "{\"kind\":\"file\",\"name\":\"f\",\"change\":\"removed\",\"before\":\"id\",\"after\":null}],\"unchangedCount\":5}") != NULL);
  vx_buf_dispose(&json);
  CHECK_FAILS(vx_key_diff(a, salted, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_diff(a, plain, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_diff(NULL, b, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_diff(a, NULL, &json, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_key_diff(a, b, NULL, &err_), VX_E_INVALID);
  CHECK(json.data == NULL);
  vx_key_free(a);
  vx_key_free(b);
  vx_key_free(salted);
  vx_key_free(plain);
  vx_key_free(open);
}

int main(void) {
  char *dir = make_workspace();
  digests(dir);
  kinds();
  options();
  adding();
  explaining();
  remove_workspace(dir);
  return failed_checks == 0 ? 0 : 1;
}
