/* The floor of a warm run: every directory is read once and every entry lstat-ed once. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static unsigned long entries;

static void walk(const char *path) {
  DIR *dir = opendir(path);
  struct dirent *entry;
  if (dir == NULL) return;
  while ((entry = readdir(dir)) != NULL) {
    struct stat st;
    char *child;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, ".git") == 0 ||
        strcmp(entry->d_name, ".vx") == 0 || strcmp(entry->d_name, ".turbo") == 0 || strcmp(entry->d_name, "node_modules") == 0) {
      continue;
    }
    if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) abort();
    ++entries;
    if (lstat(child, &st) == 0 && S_ISDIR(st.st_mode)) walk(child);
    free(child);
  }
  closedir(dir);
}

int main(int argc, char **argv) {
  walk(argc > 1 ? argv[1] : ".");
  printf("%lu\n", entries);
  return 0;
}
