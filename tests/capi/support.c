#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

int failed_checks = 0;

void write_file(const char *dir, const char *name, const char *text) {
  char path[4096];
  FILE *f;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  f = fopen(path, "wb");
  CHECK(f != NULL);
  if (f == NULL) return;
  fputs(text, f);
  fclose(f);
}

char *make_workspace(void) {
  const char *base = getenv("TMPDIR");
  char path[4096], sub[4200];
  char *real;
  snprintf(path, sizeof path, "%s/vx-capi-XXXXXX", base != NULL && base[0] != '\0' ? base : "/tmp");
  if (mkdtemp(path) == NULL) return NULL;
  real = realpath(path, NULL);
  snprintf(sub, sizeof sub, "%s/a", real);
  mkdir(sub, 0777);
  snprintf(sub, sizeof sub, "%s/b", real);
  mkdir(sub, 0777);
  write_file(real, "package.json", "{\"name\": \"ws\", \"private\": true, \"workspaces\": [\"a\", \"b\"]}\n");
  write_file(real, "package-lock.json", "{\"lockfileVersion\": 3, \"packages\": {}}\n");
  write_file(real, "a/package.json", "{\"name\": \"a\", \"version\": \"1.0.0\"}\n");
  write_file(real, "a/in.txt", "in\n");
  write_file(real, "a/vx.config.json",
             "{\"tasks\": {"
             "\"build\": {\"exec\": {\"command\": \"echo building; cat in.txt > out.txt; printf oops >&2\"},"
             " \"cache\": {\"inputs\": {\"files\": [\"in.txt\"]}, \"outputs\": {\"files\": [\"out.txt\"]}}},"
             "\"fail\": {\"exec\": {\"command\": \"exit 3\"}},"
             "\"hang\": {\"exec\": {\"command\": \"echo hanging; exec sleep 60\"}}}}\n");
  write_file(real, "b/package.json", "{\"name\": \"b\", \"version\": \"1.0.0\", \"dependencies\": {\"a\": \"*\"}}\n");
  write_file(real, "b/vx.config.json",
             "{\"tasks\": {\"build\": {\"dependsOn\": [\"^build\"], \"exec\": {\"command\": \"cat ../a/out.txt\"}}}}\n");
  return real;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
  (void)st;
  (void)kind;
  (void)at;
  return remove(path);
}

void remove_workspace(char *path) {
  if (path == NULL) return;
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(path);
}
