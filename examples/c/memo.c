/* memo: takes the result of a compile from a cache, or runs it and says why it had to.

   usage: memo cc -c x.c -o x.o [option...]        in the root of the sources
   MEMO_DIR   the store, absolute; without it this user's store of the repository

   The key holds the command, some variables, what the compiler says of itself, the directory, the preprocessed text, and each file that the
   preprocessor read, by its depfile. The text alone would do; the files are what a miss is explained with. The depfile is always a new one:
   the list of an earlier run cannot know of a header that has since come to stand before another.
   A command that memo does not understand to the last option runs as it is. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vx/vx.h"

#define TRY(call) do { if (s == VX_OK) s = (call); } while (0)
enum { MOST = 2048 }; /* arguments, files: what has more is not cached */

typedef struct { char data[1 << 16]; size_t size; } text; /* what does not fit is not cached */
typedef struct { char **argv; int argc; const char *source, *object; char root[4096]; vx_cache *cache; vx_inputs *inputs; vx_error *err; } memo;

/* Runs a command and collects its standard error, showing it too when asked. Its exit status. */
static int run(char *const *argv, int show, text *errors) {
  char line[4096];
  int ends[2], status = -1;
  ssize_t n;
  pid_t pid;
  errors->size = 0;
  if (pipe(ends) != 0 || (pid = fork()) < 0) return 127;
  if (pid == 0) {
    dup2(ends[1], 2), close(ends[0]), close(ends[1]);
    execvp(argv[0], argv);
    _exit(127);
  }
  close(ends[1]);
  for (; (n = read(ends[0], line, sizeof line)) > 0; errors->size += (size_t)n) {
    if (errors->size + (size_t)n <= sizeof errors->data) memcpy(errors->data + errors->size, line, (size_t)n);
    if (show) fwrite(line, 1, (size_t)n, stderr);
  }
  close(ends[0]);
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/* One source, one object below the root, and options that write nothing else and read nothing that the preprocessor does not. */
static int understand(memo *m) {
  static const char *const plain[] = {"-I", "-D", "-U", "-O", "-W", "-std=", "-g", "-fPIC", "-fno-", "-fvisibility", "-pedantic", NULL};
  int i, k, compiles = 0;
  for (i = 1; i < m->argc; ++i) {
    const char *arg = m->argv[i];
    for (k = 0; plain[k] != NULL && strncmp(arg, plain[k], strlen(plain[k])) != 0;) ++k;
    if (strcmp(arg, "-c") == 0) compiles = 1;
    else if (strcmp(arg, "-o") == 0 && i + 1 < m->argc && m->object == NULL) m->object = m->argv[++i];
    else if (arg[0] != '-' && arg[0] != '@' && m->source == NULL) m->source = arg;
    else if (plain[k] == NULL || (strlen(arg) == 2 && strchr("IDU", arg[1]) != NULL) || strncmp(arg, "-gsplit", 7) == 0) return 0;
    else if (strncmp(arg, "-Wa,", 4) == 0 || strncmp(arg, "-Wp,", 4) == 0) return 0;
  }
  return compiles && m->source != NULL && m->object != NULL && m->argc < MOST && strpbrk(m->object, "*?{}[]!\\") == NULL;
}

/* Preprocesses into `to` and makes the depfile `list`. INVALID when that fails or the assembler will read a file of its own. */
static vx_status preprocess(const memo *m, char *to, char *list) {
  char *argv[MOST + 4] = {NULL}, line[1 << 16];
  text errors;
  int i, incbin = 0;
  for (i = 0; i < m->argc; ++i) argv[i] = strcmp(m->argv[i], "-c") == 0 ? (char *)"-E" : m->argv[i] == m->object ? to : m->argv[i];
  argv[i] = (char *)"-MD", argv[i + 1] = (char *)"-MF", argv[i + 2] = list;
  const int status = run(argv, 0, &errors);
  FILE *f = fopen(to, "rb");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) incbin = incbin || strstr(line, ".incbin") != NULL || strchr(line, '\n') == NULL;
  return f != NULL && fclose(f) == 0 && status == 0 && !incbin ? VX_OK : VX_E_INVALID;
}

/* The files of a depfile "x.o: x.c a.h \" as they are now, by their real paths: relative below the root, absolute elsewhere. A name that
   make would have to escape is not understood: INVALID. */
static vx_status select_files(memo *m, const char *list, vx_selection **out) {
  vx_inputs_request request = VX_INPUTS_REQUEST_INIT;
  char name[4096], *paths[MOST + 1] = {NULL};
  const size_t root = strlen(m->root);
  size_t n = 0;
  FILE *f = fopen(list, "rb");
  vx_status s = f != NULL && fscanf(f, "%4095[^:]:", name) == 1 ? VX_OK : VX_E_INVALID;
  while (s == VX_OK && fscanf(f, "%4095s", name) == 1) {
    if (strcmp(name, "\\") == 0) continue;
    if (n == MOST || strpbrk(name, "\\$") != NULL || (paths[n] = realpath(name, NULL)) == NULL) s = VX_E_INVALID;
    else if (strncmp(paths[n++], m->root, root) == 0 && paths[n - 1][root] == '/') memmove(paths[n - 1], paths[n - 1] + root + 1, strlen(paths[n - 1] + root));
  }
  if (f != NULL) fclose(f);
  request.paths = (const char *const *)paths;
  TRY(vx_inputs_resolve(m->inputs, &request, out, &m->err));
  while (n > 0) free(paths[--n]);
  return s;
}

/* The key of the command as things are now, and the files in it. */
static vx_status make_key(memo *m, vx_key **key, vx_digest *digest, vx_selection **files) {
  static const char *const variables[] = {"PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LANG", "LC_ALL", "LC_MESSAGES", "SOURCE_DATE_EPOCH", NULL};
  char to[] = "/tmp/memo-XXXXXX", list[] = "/tmp/memo-XXXXXX", *ask[] = {m->argv[0], (char *)"-v", NULL}, subject[4200];
  const int to_fd = mkstemp(to), list_fd = mkstemp(list);
  vx_key_options options = VX_KEY_OPTIONS_INIT;
  vx_digest source;
  text version;
  int i;
  vx_status s = to_fd >= 0 && list_fd >= 0 && run(ask, 0, &version) == 0 && version.size <= sizeof version.data ? VX_OK : VX_E_INVALID;
  snprintf(subject, sizeof subject, "memo#%s", m->object);
  options.flags = VX_KEY_EXPLAIN, options.schema = "memo-1", options.subject = subject;
  TRY(preprocess(m, to, list));
  TRY(select_files(m, list, files));
  TRY(vx_digest_file(to, &source, &m->err));
  TRY(vx_key_new(&options, key, &m->err));
  for (i = 0; i < m->argc; ++i) TRY(vx_key_add_text(*key, VX_KEY_FORWARD, NULL, m->argv[i], &m->err));
  for (i = 0; variables[i] != NULL; ++i) TRY(vx_key_add_text(*key, VX_KEY_ENV, variables[i], getenv(variables[i]), &m->err));
  TRY(vx_key_add(*key, VX_KEY_RUNTIME, "compiler", version.data, version.size, &m->err));
  TRY(vx_key_add_text(*key, VX_KEY_HOST, "directory", m->root, &m->err)); /* debug information holds it */
  TRY(vx_key_add(*key, VX_KEY_HOST, "text", &source, sizeof source, &m->err));
  TRY(vx_key_add_selection(*key, *files, &m->err));
  TRY(vx_key_finish(*key, digest, &m->err));
  close(to_fd), close(list_fd), unlink(to), unlink(list);
  return s;
}

/* "memo: miss x.o: file a.h changed". A program with a JSON library would read the document with that. */
static void tell_miss(memo *m, const vx_key *key) {
  char kind[32], name[256], change[16];
  vx_buf json = VX_BUF_INIT;
  const char *at = NULL, *before = ": ";
  fprintf(stderr, "memo: miss %s", m->object);
  if (vx_cache_explain(m->cache, key, &json, NULL) == VX_OK) at = json.data;
  if (at != NULL && strstr(at, "\"found\":false") != NULL) fprintf(stderr, ": nothing of it is stored");
  for (; at != NULL && (at = strstr(at, "{\"kind\":")) != NULL; ++at) {
    if (sscanf(at, "{\"kind\":\"%31[^\"]\",\"name\":\"%255[^\"]\",\"change\":\"%15[^\"]", kind, name, change) != 3 || strcmp(name, "text") == 0) continue;
    fprintf(stderr, "%s%s %s %s", before, strcmp(kind, "forward") == 0 ? "argument" : kind, name, change);
    before = ", ";
  }
  fputc('\n', stderr);
  vx_buf_dispose(&json);
}

static vx_status replay(void *unused, int32_t stream, const void *data, size_t size) {
  (void)unused;
  if (data != NULL) fwrite(data, 1, size, stream == 1 ? stdout : stderr);
  return VX_OK;
}

/* Runs the command and stores what it made, if everything it read is still what the key says. */
static int compile(memo *m, const vx_outputs *outputs, const vx_key *key, const vx_digest *digest, const vx_selection *files, int64_t mark) {
  vx_save save = VX_SAVE_INIT;
  vx_buf moved = VX_BUF_INIT;
  vx_selection *files_now = NULL;
  vx_key *key_now = NULL;
  vx_digest now;
  text errors;
  vx_status s = vx_outputs_clean(outputs, &m->err); /* what an earlier run left is not this one's result */
  const int status = run(m->argv, 1, &errors);
  if (status != 0 || errors.size > sizeof errors.data) return status;
  TRY(vx_inputs_changed_since(m->inputs, files, mark, 0, &moved, &m->err));
  TRY(vx_inputs_invalidate(m->inputs, NULL, &m->err));
  TRY(make_key(m, &key_now, &now, &files_now)); /* also sees what was not read before */
  save.outputs = outputs, save.components = key, save.err = errors.data, save.err_size = errors.size;
  const int same = s == VX_OK && moved.data == NULL && memcmp(&now, digest, sizeof now) == 0;
  if (s == VX_OK && !same) fprintf(stderr, "memo: %s is not stored: %s changed meanwhile\n", m->object, moved.data != NULL ? moved.data : "what it is made of");
  if (same) TRY(vx_cache_save(m->cache, digest, &save, &m->err));
  vx_buf_dispose(&moved), vx_selection_free(files_now), vx_key_free(key_now);
  return status;
}

int main(int argc, char **argv) {
  const char *made[] = {NULL, NULL};
  vx_cache_options options = VX_CACHE_OPTIONS_INIT;
  vx_inputs_options listing = VX_INPUTS_OPTIONS_INIT;
  vx_outputs outputs = VX_OUTPUTS_INIT;
  vx_selection *files = NULL;
  vx_key *key = NULL;
  vx_entry *entry = NULL;
  vx_digest digest;
  memo m = {argv + 1, argc - 1, NULL, NULL, "", NULL, NULL, NULL};
  const int64_t mark = vx_inputs_mark();
  int32_t done = 0;
  int status = -1;
  if (argc < 2) return fprintf(stderr, "usage: memo cc -c x.c -o x.o [option...]\n"), 2;
  vx_status s = understand(&m) && getcwd(m.root, sizeof m.root) != NULL ? VX_OK : VX_E_INVALID;
  options.root = outputs.root = m.root, made[0] = m.object, outputs.files = made;
  TRY(vx_cache_open(getenv("MEMO_DIR"), &options, &m.cache, &m.err));
  listing.cache = m.cache;
  TRY(vx_inputs_open(m.root, &listing, &m.inputs, &m.err));
  TRY(make_key(&m, &key, &digest, &files));
  TRY(vx_cache_lookup(m.cache, &digest, NULL, &outputs, &entry, &m.err));
  if (entry != NULL) TRY(vx_cache_is_current(entry, &outputs, &done, &m.err));
  if (entry != NULL && !done) TRY(vx_cache_restore(entry, &outputs, &done, &m.err));
  if (done) {
    fprintf(stderr, "memo: hit %s\n", m.object);
    TRY(vx_cache_entry_log(entry, replay, NULL, &m.err));
    status = 0;
  } else if (s == VX_OK) {
    tell_miss(&m, key);
    status = compile(&m, &outputs, key, &digest, files, mark);
  }
  if (m.err != NULL) fprintf(stderr, "memo: %s\n", vx_error_message(m.err));
  vx_error_free(m.err), vx_cache_entry_free(entry), vx_selection_free(files), vx_key_free(key), vx_inputs_free(m.inputs), vx_cache_free(m.cache);
  if (status >= 0) return status;
  execvp(argv[1], argv + 1); /* not understood, or it does not preprocess: as if memo were not there */
  return perror(argv[1]), 127;
}
