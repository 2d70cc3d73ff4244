/* timed REPORT COMMAND [ARG...]: runs the command and writes "<wall us> <cpu us> <peak KiB> <status>" to REPORT. The CPU time is that of
   everything the command waited for. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double us(struct timespec t) { return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3; }

int main(int argc, char **argv) {
  struct timespec start, end;
  struct rusage use;
  int status = 0;
  pid_t child;
  FILE *report;
  if (argc < 3) return 2;
  clock_gettime(CLOCK_MONOTONIC, &start);
  child = vfork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  if (child < 0 || wait4(child, &status, 0, &use) != child) return 2;
  clock_gettime(CLOCK_MONOTONIC, &end);
  report = fopen(argv[1], "w");
  if (report == NULL) return 2;
  fprintf(report, "%.0f %ld %ld %d\n", us(end) - us(start),
          (long)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000L + (long)use.ru_utime.tv_usec + (long)use.ru_stime.tv_usec,
          use.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  fclose(report);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
