/* Preloaded into vx: counts the file-system calls below given directories and fails chosen ones. SQLite makes the same calls.
 *
 *   VX_FAULT_BELOW  directories, separated by ':'; calls elsewhere are left alone
 *   VX_FAULT_LOG    file that gets a line "<number> <call> <path>" for each counted call, or only for those that failed
 *   VX_FAULT_AT     the number of the call to fail, from 1; absent: count only
 *   VX_FAULT_WITH   an errno as a number, or "short": half of a write
 *   VX_FAULT_STAY   set: every later call of a kind that errno is for fails, too, as on a full disk
 *
 * Only the process that loaded it first and is named vx is meant: neither git nor what a fork does before its exec. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { K_OPEN = 1, K_CREATE = 2, K_WRITE = 4, K_READ = 8, K_NAME = 16, K_SYNC = 32, K_STAT = 64, K_MAP = 128 };

static const char *below;
static long fail_at;
static int fail_with, shorten, stay, log_fd = -1;
static pid_t self;
static atomic_long counted;

static long raw(long n, long a, long b, long c, long d, long e, long f) {
  static long (*real)(long, ...);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
  return real(n, a, b, c, d, e, f);
}

__attribute__((constructor)) static void load(void) {
  const char *at = getenv("VX_FAULT_AT"), *with = getenv("VX_FAULT_WITH"), *log = getenv("VX_FAULT_LOG");
  if (strcmp(program_invocation_short_name, "vx") != 0) return;
  below = getenv("VX_FAULT_BELOW");
  fail_at = at == NULL ? 0 : atol(at);
  shorten = with != NULL && strcmp(with, "short") == 0;
  fail_with = with == NULL || shorten ? 0 : atoi(with);
  stay = getenv("VX_FAULT_STAY") != NULL;
  if (log != NULL) log_fd = (int)raw(SYS_openat, AT_FDCWD, (long)log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644, 0, 0);
  self = (pid_t)raw(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static int path_of_fd(int fd, char *out) {
  char link[64];
  ssize_t n;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  n = raw(SYS_readlinkat, AT_FDCWD, (long)link, (long)out, PATH_MAX - 1, 0, 0);
  if (n < 0) return 0;
  out[n] = '\0';
  return 1;
}

/* The path a call means, NULL name: the descriptor itself. */
static int path_of(int dir, const char *name, char *out) {
  size_t n;
  if (name != NULL && name[0] == '/') {
    snprintf(out, PATH_MAX, "%s", name);
    return 1;
  }
  if (name != NULL && dir == AT_FDCWD) {
    if (raw(SYS_getcwd, (long)out, PATH_MAX, 0, 0, 0, 0) < 0) return 0;
  } else if (!path_of_fd(dir, out)) {
    return 0;
  }
  if (name == NULL || *name == '\0') return 1;
  n = strlen(out);
  snprintf(out + n, PATH_MAX - n, "/%s", name);
  return 1;
}

static int meant(const char *path) {
  const char *at = below;
  while (at != NULL && *at != '\0') {
    const char *end = strchrnul(at, ':');
    const size_t n = (size_t)(end - at);
    if (strncmp(path, at, n) == 0 && (path[n] == '/' || path[n] == '\0' || path[n] == '-')) return 1;
    at = *end == '\0' ? end : end + 1;
  }
  return 0;
}

/* Can a call of this kind fail so? */
static int fits(int kind) {
  if (shorten) return (kind & K_WRITE) != 0;
  switch (fail_with) {
    case ENOSPC: return (kind & (K_CREATE | K_WRITE | K_SYNC)) != 0;
    case EACCES: return (kind & (K_OPEN | K_CREATE | K_NAME)) != 0;
    case EMFILE: return (kind & K_OPEN) != 0;
    case ENOMEM: return (kind & K_MAP) != 0;
    default: return (kind & K_MAP) == 0;
  }
}

/* 0: go on. 1: fail with errno set. 2: write half. */
static int judge(const char *call, int kind, int dir, const char *name) {
  char path[PATH_MAX], line[PATH_MAX + 64];
  const int saved = errno;
  long n;
  int hit;
  if (below == NULL || (pid_t)raw(SYS_getpid, 0, 0, 0, 0, 0, 0) != self || !path_of(dir, name, path) || !meant(path) || !fits(kind)) {
    errno = saved;
    return 0;
  }
  n = atomic_fetch_add(&counted, 1) + 1;
  hit = fail_at != 0 && (n == fail_at || (stay && n > fail_at));
  if (log_fd >= 0 && (fail_at == 0 || hit)) {
    const int length = snprintf(line, sizeof line, "%ld %s %s\n", n, call, path);
    raw(SYS_write, log_fd, (long)line, length, 0, 0, 0);
  }
  errno = saved;
  if (!hit) return 0;
  if (shorten) return 2;
  errno = fail_with;
  return 1;
}

#define REAL(name, type)      \
  static __typeof__(type) real; \
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)
#define open_kind(flags) (((flags) & O_CREAT) != 0 ? K_OPEN | K_CREATE : K_OPEN)

#define OPEN(fn)                                                                  \
  int fn(const char *path, int flags, ...) {                                      \
    va_list rest;                                                                 \
    mode_t mode;                                                                  \
    REAL(#fn, int (*)(const char *, int, ...));                                   \
    va_start(rest, flags);                                                        \
    mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;       \
    va_end(rest);                                                                 \
    return judge(#fn, open_kind(flags), AT_FDCWD, path) ? -1 : real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(fn)                                                                \
  int fn(int dir, const char *path, int flags, ...) {                             \
    va_list rest;                                                                 \
    mode_t mode;                                                                  \
    REAL(#fn, int (*)(int, const char *, int, ...));                              \
    va_start(rest, flags);                                                        \
    mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;       \
    va_end(rest);                                                                 \
    return judge(#fn, open_kind(flags), dir, path) ? -1 : real(dir, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *bytes, size_t n) {
  const int how = judge("write", K_WRITE, fd, NULL);
  REAL("write", ssize_t (*)(int, const void *, size_t));
  return how == 1 ? -1 : real(fd, bytes, how == 2 && n > 1 ? n / 2 : n);
}
#define PWRITE(fn)                                                                \
  ssize_t fn(int fd, const void *bytes, size_t n, off_t at) {                     \
    const int how = judge(#fn, K_WRITE, fd, NULL);                                \
    REAL(#fn, ssize_t (*)(int, const void *, size_t, off_t));                     \
    return how == 1 ? -1 : real(fd, bytes, how == 2 && n > 1 ? n / 2 : n, at);    \
  }
PWRITE(pwrite)
PWRITE(pwrite64)
ssize_t read(int fd, void *bytes, size_t n) {
  REAL("read", ssize_t (*)(int, void *, size_t));
  return judge("read", K_READ, fd, NULL) ? -1 : real(fd, bytes, n);
}
#define PREAD(fn)                                                                 \
  ssize_t fn(int fd, void *bytes, size_t n, off_t at) {                           \
    REAL(#fn, ssize_t (*)(int, void *, size_t, off_t));                           \
    return judge(#fn, K_READ, fd, NULL) ? -1 : real(fd, bytes, n, at);            \
  }
PREAD(pread)
PREAD(pread64)

#define ON_PATH(fn, kind, types, names, dir, path)                                \
  int fn types {                                                                  \
    REAL(#fn, int (*) types);                                                     \
    return judge(#fn, kind, dir, path) ? -1 : real names;                         \
  }
ON_PATH(rename, K_NAME | K_CREATE, (const char *from, const char *to), (from, to), AT_FDCWD, to)
ON_PATH(renameat, K_NAME | K_CREATE, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to)
ON_PATH(renameat2, K_NAME | K_CREATE, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags), b, to)
ON_PATH(unlink, K_NAME, (const char *path), (path), AT_FDCWD, path)
ON_PATH(unlinkat, K_NAME, (int dir, const char *path, int flags), (dir, path, flags), dir, path)
ON_PATH(rmdir, K_NAME, (const char *path), (path), AT_FDCWD, path)
ON_PATH(mkdir, K_NAME | K_CREATE, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
ON_PATH(mkdirat, K_NAME | K_CREATE, (int dir, const char *path, mode_t mode), (dir, path, mode), dir, path)
ON_PATH(symlinkat, K_NAME | K_CREATE, (const char *text, int dir, const char *path), (text, dir, path), dir, path)
ON_PATH(fsync, K_SYNC, (int fd), (fd), fd, NULL)
ON_PATH(fdatasync, K_SYNC, (int fd), (fd), fd, NULL)
ON_PATH(fchmod, K_NAME, (int fd, mode_t mode), (fd, mode), fd, NULL)
ON_PATH(fchmodat, K_NAME, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags), dir, path)
ON_PATH(chmod, K_NAME, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
ON_PATH(ftruncate, K_WRITE, (int fd, off_t size), (fd, size), fd, NULL)
ON_PATH(ftruncate64, K_WRITE, (int fd, off_t size), (fd, size), fd, NULL)
ON_PATH(futimens, K_NAME, (int fd, const struct timespec times[2]), (fd, times), fd, NULL)
ON_PATH(utimensat, K_NAME, (int dir, const char *path, const struct timespec times[2], int flags), (dir, path, times, flags), dir, path)
ON_PATH(fstat, K_STAT, (int fd, struct stat *st), (fd, st), fd, NULL)
ON_PATH(fstat64, K_STAT, (int fd, struct stat64 *st), (fd, st), fd, NULL)
ON_PATH(stat, K_STAT, (const char *path, struct stat *st), (path, st), AT_FDCWD, path)
ON_PATH(stat64, K_STAT, (const char *path, struct stat64 *st), (path, st), AT_FDCWD, path)
ON_PATH(lstat, K_STAT, (const char *path, struct stat *st), (path, st), AT_FDCWD, path)
ON_PATH(lstat64, K_STAT, (const char *path, struct stat64 *st), (path, st), AT_FDCWD, path)
ON_PATH(fstatat, K_STAT, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags), dir, path)
ON_PATH(fstatat64, K_STAT, (int dir, const char *path, struct stat64 *st, int flags), (dir, path, st, flags), dir, path)

ssize_t readlinkat(int dir, const char *path, char *text, size_t n) {
  REAL("readlinkat", ssize_t (*)(int, const char *, char *, size_t));
  return judge("readlinkat", K_READ, dir, path) ? -1 : real(dir, path, text, n);
}

#define MAP(fn)                                                                   \
  void *fn(void *at, size_t n, int protection, int flags, int fd, off_t offset) { \
    REAL(#fn, void *(*)(void *, size_t, int, int, int, off_t));                   \
    return fd >= 0 && judge(#fn, K_MAP, fd, NULL) ? MAP_FAILED : real(at, n, protection, flags, fd, offset); \
  }
MAP(mmap)
MAP(mmap64)

/* openat2 and copy_file_range have no or no old wrapper. */
long syscall(long number, ...) {
  va_list rest;
  long a, b, c, d, e, f;
  va_start(rest, number);
  a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long), d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
#ifdef SYS_openat2
  if (number == SYS_openat2 && judge("openat2", open_kind((int)*(const unsigned long long *)c), (int)a, (const char *)b)) return -1;
#endif
  return raw(number, a, b, c, d, e, f);
}
