/* vx_cache_add_layer(): a table in memory behind two stores; layers that fail or lie; drop exactly once. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define SLOTS 8

/* A layer that keeps artifacts in memory. One lock: calls may come from several threads. */
typedef struct {
  pthread_mutex_t lock;
  vx_digest keys[SLOTS];
  char *bytes[SLOTS];
  size_t sizes[SLOTS];
  int used, hass, gets, puts, drops;
  vx_status answer; /* what every call returns */
  int rubbish;      /* get writes other bytes */
} table;

static int slot_of(const table *t, const vx_digest *key) {
  int i;
  for (i = 0; i < t->used; ++i) {
    if (memcmp(t->keys[i].bytes, key->bytes, sizeof key->bytes) == 0) return i;
  }
  return -1;
}

static int write_whole(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n <= 0) return 0;
    bytes += n;
    size -= (size_t)n;
  }
  return 1;
}

static vx_status table_has(void *data, const vx_digest *key, int32_t *found) {
  table *t = data;
  pthread_mutex_lock(&t->lock);
  ++t->hass;
  *found = slot_of(t, key) >= 0;
  pthread_mutex_unlock(&t->lock);
  return t->answer;
}

static vx_status table_get(void *data, const vx_digest *key, int32_t fd, int32_t *found) {
  table *t = data;
  int i;
  pthread_mutex_lock(&t->lock);
  ++t->gets;
  i = slot_of(t, key);
  *found = i >= 0;
  if (t->rubbish) CHECK(write_whole(fd, "rubbish", 7));
  else if (i >= 0) CHECK(write_whole(fd, t->bytes[i], t->sizes[i]));
  pthread_mutex_unlock(&t->lock);
  return t->answer;
}

static vx_status table_put(void *data, const vx_digest *key, int32_t fd, uint64_t size) {
  table *t = data;
  char *bytes = malloc((size_t)size), end;
  size_t got = 0;
  ssize_t n;
  while (got < size && (n = read(fd, bytes + got, (size_t)size - got)) > 0) got += (size_t)n;
  CHECK(got == size && read(fd, &end, 1) == 0); /* exactly what was announced */
  pthread_mutex_lock(&t->lock);
  ++t->puts;
  CHECK(t->used < SLOTS);
  t->keys[t->used] = *key;
  t->bytes[t->used] = bytes;
  t->sizes[t->used++] = got;
  pthread_mutex_unlock(&t->lock);
  return t->answer;
}

static void table_drop(void *data) { ++((table *)data)->drops; }

static void table_init(table *t) {
  memset(t, 0, sizeof *t);
  pthread_mutex_init(&t->lock, NULL);
}

static void table_clear(table *t) {
  while (t->used > 0) free(t->bytes[--t->used]);
  pthread_mutex_destroy(&t->lock);
}

static vx_cache_layer table_layer(void) {
  vx_cache_layer layer = VX_CACHE_LAYER_INIT;
  layer.name = "table";
  layer.has = table_has;
  layer.get = table_get;
  layer.put = table_put;
  return layer;
}

static const char *const made[] = {"out/**", NULL};

static vx_outputs outputs_of(const char *root) {
  vx_outputs o = VX_OUTPUTS_INIT;
  o.root = root;
  o.project_dir = "a";
  o.files = made;
  return o;
}

static vx_cache *open_store(const char *base, const char *name, const char *root, table *t) {
  vx_cache_options o = VX_CACHE_OPTIONS_INIT;
  const vx_cache_layer layer = table_layer();
  vx_cache *cache = NULL;
  char dir[4200];
  snprintf(dir, sizeof dir, "%s/b/%s", base, name);
  o.root = root;
  CHECK_OK(vx_cache_open(dir, &o, &cache, &err_));
  if (t != NULL) CHECK_OK(vx_cache_add_layer(cache, &layer, t, table_drop, &err_));
  return cache;
}

static vx_digest key_of(const char *text) {
  vx_digest d;
  CHECK_OK(vx_digest_bytes(text, strlen(text), &d, &err_));
  return d;
}

static void save(vx_cache *cache, const char *root, const vx_digest *key, const char *text) {
  const vx_outputs outputs = outputs_of(root);
  vx_save s = VX_SAVE_INIT;
  char dir[4200];
  snprintf(dir, sizeof dir, "mkdir -p '%s/a/out'", root);
  CHECK(system(dir) == 0);
  write_file(root, "a/out/x", text);
  s.outputs = &outputs;
  CHECK_OK(vx_cache_save(cache, key, &s, &err_));
}

static int hits(vx_cache *cache, const vx_digest *key, const vx_outputs *outputs) {
  vx_entry *entry = NULL;
  int hit;
  CHECK_OK(vx_cache_lookup(cache, key, "a#build", outputs, &entry, &err_));
  hit = entry != NULL;
  vx_cache_entry_free(entry);
  return hit;
}

/* How many lines of notices came since the last call, each of which names the layer. */
static int notices(vx_cache *cache) {
  vx_buf lines = VX_BUF_INIT;
  int n = 0;
  char *line;
  CHECK_OK(vx_cache_notices(cache, &lines, &err_));
  for (line = lines.size > 0 ? strtok(lines.data, "\n") : NULL; line != NULL; line = strtok(NULL, "\n"), ++n) CHECK(strstr(line, "table") != NULL);
  vx_buf_dispose(&lines);
  return n;
}

static void from_one_store_to_another(const char *root, const char *base) {
  table t;
  const vx_digest key = key_of("1"), absent = key_of("absent");
  const vx_outputs outputs = outputs_of(root);
  vx_entry *entry = NULL;
  int32_t restored = 0;
  char path[4200];
  FILE *f;
  vx_cache *first, *second;
  table_init(&t);
  first = open_store(base, "first", root, &t);
  second = open_store(base, "second", root, &t);
  CHECK(!hits(first, &key, &outputs) && t.gets == 1);
  save(first, root, &key, "x\n");
  CHECK(t.puts == 1 && t.used == 1);
  CHECK(vx_cache_has(second, &key) == 1 && t.hass == 1);
  CHECK(vx_cache_has(second, &absent) == 0);
  CHECK(!hits(second, &key, NULL) && t.gets == 1); /* without a declaration nothing could be verified */
  CHECK_OK(vx_outputs_clean(&outputs, &err_));
  CHECK_OK(vx_cache_lookup(second, &key, "a#build", &outputs, &entry, &err_));
  CHECK(entry != NULL && t.gets == 2 && t.puts == 1);
  CHECK_OK(vx_cache_restore(entry, &outputs, &restored, &err_));
  snprintf(path, sizeof path, "%s/a/out/x", root);
  f = fopen(path, "r");
  CHECK(restored == 1 && f != NULL && fgetc(f) == 'x');
  if (f != NULL) fclose(f);
  CHECK(hits(second, &key, &outputs) && t.gets == 2); /* it is in the store now */
  CHECK(notices(first) == 0 && notices(second) == 0);
  vx_cache_free(first);
  CHECK(t.drops == 1);
  vx_cache_free(second); /* the entry keeps it */
  CHECK(t.drops == 1);
  vx_cache_entry_free(entry);
  CHECK(t.drops == 2);
  table_clear(&t);
}

static void what_a_layer_does_wrong_is_a_miss(const char *root, const char *base) {
  table bad, good;
  const vx_cache_layer layer = table_layer();
  const vx_digest keys[] = {key_of("2"), key_of("3"), key_of("4")};
  const vx_outputs outputs = outputs_of(root);
  vx_cache *filled, *cache;
  table_init(&bad);
  table_init(&good);
  filled = open_store(base, "filled", root, &good);
  save(filled, root, &keys[0], "two\n");
  save(filled, root, &keys[1], "three\n");
  vx_cache_free(filled);
  cache = open_store(base, "wrong", root, &bad);
  bad.answer = VX_E_IO;
  CHECK(!hits(cache, &keys[0], &outputs) && notices(cache) == 1);
  CHECK(!hits(cache, &keys[0], &outputs) && vx_cache_has(cache, &keys[0]) == 0 && notices(cache) == 0); /* said once */
  save(cache, root, &keys[2], "four\n");                                                               /* and no failure of a save */
  CHECK(notices(cache) == 0 && bad.puts == 1);
  CHECK_OK(vx_cache_add_layer(cache, &layer, &good, table_drop, &err_));
  CHECK(hits(cache, &keys[0], &outputs) && good.gets == 1); /* the next one is asked */
  bad.answer = VX_OK;
  bad.rubbish = 1;
  CHECK(hits(cache, &keys[1], &outputs));
  vx_cache_free(cache);
  cache = open_store(base, "lied", root, &bad);
  bad.keys[0] = keys[0];
  CHECK(!hits(cache, &keys[0], &outputs) && notices(cache) == 1);
  vx_cache_free(cache);
  CHECK(bad.drops == 2 && good.drops == 2);
  table_clear(&bad);
  table_clear(&good);
}

typedef struct {
  vx_cache_layer known;
  uint64_t later;
} longer_layer;

static void registering(const char *root, const char *base) {
  vx_cache *cache = open_store(base, "registering", root, NULL);
  const vx_digest key = key_of("5");
  const vx_outputs outputs = outputs_of(root);
  vx_cache_layer layer = table_layer(), none = VX_CACHE_LAYER_INIT;
  longer_layer longer = {VX_CACHE_LAYER_INIT, 0};
  table t;
  table_init(&t);
  CHECK_FAILS(vx_cache_add_layer(NULL, &layer, &t, table_drop, &err_), VX_E_INVALID);
  CHECK(t.drops == 1);
  CHECK_FAILS(vx_cache_add_layer(cache, NULL, &t, table_drop, &err_), VX_E_INVALID);
  CHECK(t.drops == 2);
  layer.flags = 1;
  CHECK_FAILS(vx_cache_add_layer(cache, &layer, &t, table_drop, &err_), VX_E_UNSUPPORTED);
  layer.flags = 0;
  layer.size = 4;
  CHECK_FAILS(vx_cache_add_layer(cache, &layer, &t, table_drop, &err_), VX_E_INVALID);
  CHECK(t.drops == 4);
  longer.known.size = sizeof longer;
  longer.later = 1;
  CHECK_FAILS(vx_cache_add_layer(cache, &longer.known, NULL, NULL, &err_), VX_E_UNSUPPORTED);
  longer.later = 0;
  CHECK_OK(vx_cache_add_layer(cache, &longer.known, NULL, NULL, &err_)); /* all of its members are NULL */
  CHECK_OK(vx_cache_add_layer(cache, &none, NULL, NULL, &err_));
  CHECK(!hits(cache, &key, &outputs) && vx_cache_has(cache, &key) == 0);
  save(cache, root, &key, "five\n");
  CHECK(hits(cache, &key, &outputs) && notices(cache) == 0);
  layer.size = (uint32_t)((char *)&layer.put - (char *)&layer); /* as a header without `put` has it */
  CHECK_OK(vx_cache_add_layer(cache, &layer, &t, table_drop, &err_));
  save(cache, root, &key, "again\n");
  CHECK(t.puts == 0);
  vx_cache_free(cache);
  CHECK(t.drops == 5);
  table_clear(&t);
}

typedef struct {
  vx_cache *cache;
  const char *root;
} work;

static void *look_up_often(void *data) {
  const work *w = data;
  const vx_outputs outputs = outputs_of(w->root);
  const vx_digest keys[] = {key_of("6"), key_of("7")};
  int i;
  for (i = 0; i < 50; ++i) CHECK(hits(w->cache, &keys[i % 2], &outputs) && vx_cache_has(w->cache, &keys[i % 2]) == 1);
  return NULL;
}

static void two_threads(const char *root, const char *base) {
  table t;
  work w;
  pthread_t other;
  const vx_digest keys[] = {key_of("6"), key_of("7")};
  vx_cache *filled;
  table_init(&t);
  filled = open_store(base, "two-filled", root, &t);
  save(filled, root, &keys[0], "six\n");
  save(filled, root, &keys[1], "seven\n");
  vx_cache_free(filled);
  w.cache = open_store(base, "two", root, &t);
  w.root = root;
  CHECK(pthread_create(&other, NULL, look_up_often, &w) == 0);
  look_up_often(&w);
  pthread_join(other, NULL);
  CHECK(notices(w.cache) == 0);
  vx_cache_free(w.cache);
  CHECK(t.drops == 2);
  table_clear(&t);
}

int main(void) {
  char *root = make_workspace(), *base = make_workspace();
  from_one_store_to_another(root, base);
  what_a_layer_does_wrong_is_a_miss(root, base);
  registering(root, base);
  two_threads(root, base);
  remove_workspace(root);
  remove_workspace(base);
  return failed_checks == 0 ? 0 : 1;
}
