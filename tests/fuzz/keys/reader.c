/* The command of every task of the key fuzzer: prints exactly what it was told to read.
 *
 *   reader OUT TASK [ARGUMENTS]
 *
 * $VXF_LISTS/<TASK, '#' and '/' as '_'> lists what to read, records ended by NUL: "f<path below $VXF_ROOT>" or "e<variable>".
 * The text of all of it goes to OUT/all ("-": nowhere), its sum to stdout. Some records make more outputs of odd kinds, so that
 * the set of outputs depends on the inputs; text.mjs computes the same. A path of another kind in the way is replaced. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *text;
static size_t used, room;

static void die(const char *what) {
  perror(what);
  exit(3);
}

static void add(const void *bytes, size_t n) {
  if (used + n > room) {
    room = (used + n) * 2 + 4096;
    text = realloc(text, room);
    if (text == NULL) die("realloc");
  }
  memcpy(text + used, bytes, n);
  used += n;
}

static void add_sized(const void *bytes, size_t n) {
  char head[32];
  const int length = snprintf(head, sizeof head, "%zu:", n);
  add(head, (size_t)length);
  add(bytes, n);
}

static char *slurp(const char *path, size_t *size) {
  FILE *in = fopen(path, "rb");
  size_t n = 0, capacity = 1 << 16, got;
  char *bytes = malloc(capacity);
  if (in == NULL || bytes == NULL) die(path);
  while ((got = fread(bytes + n, 1, capacity - n, in)) > 0) {
    n += got;
    if (n < capacity) continue;
    capacity *= 2;
    bytes = realloc(bytes, capacity);
    if (bytes == NULL) die("realloc");
  }
  fclose(in);
  *size = n;
  return bytes;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at) {
  (void)flag, (void)at;
  if (S_ISDIR(st->st_mode)) return rmdir(path);
  return unlink(path);
}

/* Another kind, or an older file, in the way of `path` goes. */
static void clear_way(const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) die(path);
}

static void make_dir(const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) return;
  clear_way(path);
  if (mkdir(path, 0755) != 0) die(path);
}

static void make_file(const char *path, const char *bytes, size_t n, mode_t mode) {
  int fd;
  clear_way(path);
  fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || fchmod(fd, mode) != 0 || close(fd) != 0) die(path);
}

/* Outputs of odd kinds, chosen by the content of record `i`. */
static void make_more(const char *out, int i, const char *bytes, size_t n) {
  char path[PATH_MAX];
  unsigned sum = (unsigned)n;
  size_t k;
  if (i >= 12) return;
  for (k = 0; k < n; ++k) sum += (unsigned char)bytes[k];
  snprintf(path, sizeof path, "%s/%c%d", out, "xrpledn"[sum % 7], i);
  switch (sum % 7) {
    case 0: make_file(path, bytes, n, 0755); break;
    case 1: make_file(path, bytes, n, 0444); break;
    case 2: make_file(path, bytes, n, 0600); break;
    case 3:
      clear_way(path);
      if (symlink(n % 2 ? "all" : "./all", path) != 0) die(path);
      break;
    case 4: make_dir(path); break;
    case 5:
      clear_way(path);
      make_dir(path);
      strcat(path, "/in");
      make_file(path, bytes, n, 0644);
      path[strlen(path) - 3] = '\0';
      if (chmod(path, 0555) != 0) die(path);
      break;
    default: break;
  }
}

static void read_file(const char *root, const char *name, const char *out, int i) {
  char path[PATH_MAX], target[PATH_MAX];
  struct stat st;
  size_t n;
  char *bytes;
  ssize_t length;
  snprintf(path, sizeof path, "%s/%s", root, name);
  if (lstat(path, &st) != 0) {
    add("-", 1);
    add_sized(name, strlen(name));
    add("\n", 1);
    return;
  }
  add(S_ISLNK(st.st_mode) ? "l" : st.st_mode & 0100 ? "x" : "f", 1);
  add_sized(name, strlen(name));
  if (S_ISLNK(st.st_mode)) {
    length = readlink(path, target, sizeof target);
    if (length < 0) die(path);
    add_sized(target, (size_t)length);
  } else {
    bytes = slurp(path, &n);
    add_sized(bytes, n);
    if (out != NULL) make_more(out, i, bytes, n);
    free(bytes);
  }
  add("\n", 1);
}

static void read_variable(const char *name) {
  const char *value = getenv(name);
  add(value == NULL ? "u" : "e", 1);
  add_sized(name, strlen(name));
  if (value != NULL) add_sized(value, strlen(value));
  add("\n", 1);
}

/* reader --times SECONDS NANOSECONDS: sets the times of the path on stdin. */
static int set_times(char **argv) {
  static char path[PATH_MAX];
  struct timespec times[2];
  const size_t n = fread(path, 1, sizeof path - 1, stdin);
  path[n] = '\0';
  times[1].tv_sec = atoll(argv[2]);
  times[1].tv_nsec = atol(argv[3]);
  times[0] = times[1];
  if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) != 0) die(path);
  return 0;
}

int main(int argc, char **argv) {
  const char *lists = getenv("VXF_LISTS"), *root = getenv("VXF_ROOT");
  char path[PATH_MAX];
  char *list, *at, *out;
  size_t size, k;
  uint32_t sum = 0;
  int i, index = 0;
  if (argc == 4 && strcmp(argv[1], "--times") == 0) return set_times(argv);
  if (argc < 3 || lists == NULL || root == NULL) return 2;
  umask(0);
  out = strcmp(argv[1], "-") == 0 ? NULL : argv[1];
  if (out != NULL) make_dir(out);
  snprintf(path, sizeof path, "%s/%s", lists, argv[2]);
  for (at = path + strlen(lists) + 1; *at; ++at) {
    if (*at == '#' || *at == '/') *at = '_';
  }
  list = slurp(path, &size);
  for (i = 3; i < argc; ++i) {
    add("a", 1);
    add_sized(argv[i], strlen(argv[i]));
    add("\n", 1);
  }
  for (at = list; at < list + size; at += strlen(at) + 1) {
    if (*at == 'f') read_file(root, at + 1, out, index++);
    else read_variable(at + 1);
  }
  if (out != NULL) {
    snprintf(path, sizeof path, "%s/all", out);
    make_file(path, text ? text : "", used, 0644);
  }
  for (k = 0; k < used; ++k) sum = sum * 31 + (unsigned char)text[k];
  printf("VXF %s %08x\n", argv[2], sum);
  return 0;
}
