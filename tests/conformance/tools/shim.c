/* Laid below vx by LD_PRELOAD, this is a machine with other file systems and clocks. Settings, all from the environment:
     SHIM_GRAIN=SECONDS     file stamps have this grain
     SHIM_NETWORK=1         every file system is NFS
     SHIM_CLOCK=FILE        the wall clock is ahead by the seconds that the file holds now
     SHIM_FOLD=NAME=OTHER   the file system takes NAME for OTHER (the last component of a path)
   vx calls these functions only; tasks do not inherit it, because vx hands no LD_PRELOAD on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *folded(const char *path, char *buffer, size_t size) {
  const char *setting = getenv("SHIM_FOLD");
  const char *equals, *slash, *last;
  size_t n;
  if (setting == NULL || path == NULL) return path;
  equals = strchr(setting, '=');
  slash = strrchr(path, '/');
  last = slash != NULL ? slash + 1 : path;
  n = (size_t)(equals - setting);
  if (strlen(last) != n || strncmp(last, setting, n) != 0) return path;
  snprintf(buffer, size, "%.*s%s", (int)(last - path), path, equals + 1);
  return buffer;
}

static void coarse(struct timespec *t, long grain) {
  t->tv_nsec = 0;
  t->tv_sec -= ((t->tv_sec % grain) + grain) % grain;
}
static int stamped(int rc, struct stat *st) {
  const char *grain = getenv("SHIM_GRAIN");
  if (rc != 0 || grain == NULL) return rc;
  coarse(&st->st_mtim, atol(grain));
  coarse(&st->st_ctim, atol(grain));
  return rc;
}

int stat64(const char *path, struct stat64 *st) { return stamped(REAL(stat64)(path, st), (struct stat *)st); }
int lstat64(const char *path, struct stat64 *st) { return stamped(REAL(lstat64)(path, st), (struct stat *)st); }
int fstat64(int fd, struct stat64 *st) { return stamped(REAL(fstat64)(fd, st), (struct stat *)st); }
int fstatat64(int dir, const char *path, struct stat64 *st, int flags) {
  char b[4096];
  return stamped(REAL(fstatat64)(dir, folded(path, b, sizeof b), st, flags), (struct stat *)st);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
  char b[4096];
  return REAL(renameat)(from_dir, from, to_dir, folded(to, b, sizeof b));
}

int fstatfs64(int fd, struct statfs64 *st) {
  const int rc = REAL(fstatfs64)(fd, st);
  if (rc == 0 && getenv("SHIM_NETWORK") != NULL) st->f_type = 0x6969;
  return rc;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
  const int rc = REAL(clock_gettime)(id, ts);
  const char *file = getenv("SHIM_CLOCK");
  if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && file != NULL) {
    char text[32] = "";
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      const ssize_t n = read(fd, text, sizeof text - 1);
      text[n > 0 ? n : 0] = '\0';
      close(fd);
      ts->tv_sec += atol(text);
    }
  }
  return rc;
}
