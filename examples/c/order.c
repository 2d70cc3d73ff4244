/* A small make on vx/graph.h: rules from a file, commands in dependency order, several at once, nothing that is up to date.

   usage: order [-j jobs] [-k] rules [target...]        (no target: the first rule; -k: go on after a failure)

     app: main.o util.o         a target and what it depends on: rules of the file, or files
     <tab>cc -o app main.o util.o

   The graph says what is reachable and whether there is a cycle; the schedule says what to start. Threads, processes and clocks are
   this program's: the library knows none here. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vx/vx.h"

typedef struct {
  char *target, *command, **needs;
  size_t need_count;
  int wanted, made; /* reached from what was asked for; its command ran */
  pid_t pid;
} rule;

static rule *rules;
static uint32_t rule_count;

static void *grown(void *old, size_t bytes) {
  void *p = realloc(old, bytes);
  if (p == NULL) exit(2);
  return p;
}
static char *copy(const char *text) { return strcpy(grown(NULL, strlen(text) + 1), text); }

static int fail(const char *what, vx_error *err) {
  fprintf(stderr, "order: %s: %s %s\n", what, vx_error_message(err), vx_error_details_json(err));
  vx_error_free(err);
  return 2;
}

static uint32_t find(const char *target) {
  uint32_t i = 0;
  while (i < rule_count && strcmp(rules[i].target, target) != 0) ++i;
  return i;
}

/* "target: need need" starts a rule, a line that begins with a tab is its command. */
static int read_rules(FILE *in) {
  char line[4096];
  while (fgets(line, sizeof line, in) != NULL) {
    char *colon = strchr(line, ':'), *word;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#') continue;
    if (line[0] == '\t' && rule_count > 0) {
      rules[rule_count - 1].command = copy(line + 1);
      continue;
    }
    if (colon == NULL) return 0;
    *colon = '\0';
    rules = grown(rules, (rule_count + 1) * sizeof *rules);
    memset(&rules[rule_count], 0, sizeof *rules);
    rules[rule_count].target = copy(line);
    for (word = strtok(colon + 1, " \t"); word != NULL; word = strtok(NULL, " \t")) {
      rule *r = &rules[rule_count];
      r->needs = grown(r->needs, (r->need_count + 1) * sizeof *r->needs);
      r->needs[r->need_count++] = copy(word);
    }
    ++rule_count;
  }
  return rule_count > 0;
}

static vx_status build_graph(vx_graph **graph, vx_error **err) {
  vx_status rc = vx_graph_new(graph, err);
  uint32_t i, n;
  size_t k;
  for (i = 0; i < rule_count && rc == VX_OK; ++i) rc = vx_graph_add_node(*graph, 1, rules[i].command == NULL ? VX_NODE_GROUP : 0, NULL, err);
  for (i = 0; i < rule_count; ++i)
    for (k = 0; k < rules[i].need_count && rc == VX_OK; ++k)
      if ((n = find(rules[i].needs[k])) < rule_count) rc = vx_graph_add_edge(*graph, i, n, err);
  return rc == VX_OK ? vx_graph_freeze(*graph, err) : rc;
}

/* Marks the rules that `targets` need. */
static vx_status select_rules(const vx_graph *graph, char **targets, vx_error **err) {
  uint8_t *bits = calloc((rule_count + 7) / 8, 1);
  uint32_t first = 0, i, *seeds = grown(NULL, rule_count * sizeof *seeds);
  size_t count = 0;
  vx_status rc;
  for (; *targets != NULL; ++targets)
    if ((i = find(*targets)) < rule_count && count < rule_count) seeds[count++] = i;
    else fprintf(stderr, "order: no rule makes %s\n", *targets);
  rc = vx_graph_closure(graph, count > 0 ? seeds : &first, count > 0 ? count : 1, bits, (rule_count + 7) / 8, err);
  for (i = 0; i < rule_count && rc == VX_OK; ++i) rules[i].wanted = bits[i / 8] >> (i % 8) & 1;
  free(bits);
  free(seeds);
  return rc;
}

static int is_current(const rule *r) {
  struct stat mine, need;
  size_t k;
  if (stat(r->target, &mine) != 0) return 0;
  for (k = 0; k < r->need_count; ++k) {
    const uint32_t n = find(r->needs[k]);
    if (n < rule_count && rules[n].made) return 0;
    if (stat(r->needs[k], &need) != 0 || need.st_mtime > mine.st_mtime) return 0;
  }
  return 1;
}

static void start(rule *r) {
  printf("%s\n", r->command);
  fflush(stdout);
  r->made = 1;
  r->pid = fork();
  if (r->pid == 0) {
    execl("/bin/sh", "sh", "-c", r->command, (char *)NULL);
    _exit(127);
  }
}

/* Waits for one command and tells the schedule. */
static int collect(vx_schedule *schedule, vx_error **err) {
  int status = 0;
  uint32_t i = 0;
  const pid_t pid = wait(&status);
  while (i < rule_count && rules[i].pid != pid) ++i;
  if (pid < 0 || i == rule_count) return pid < 0 ? -1 : 0;
  rules[i].pid = 0;
  if (status != 0) fprintf(stderr, "order: %s failed\n", rules[i].target);
  if (vx_schedule_finish(schedule, i, status == 0 ? VX_OUTCOME_SUCCESS : VX_OUTCOME_FAILED, err) != VX_OK) return -1;
  return status != 0;
}

static int run(vx_schedule *schedule, vx_error **err) {
  uint32_t node, blocker;
  int failed = 0, told;
  for (;;) switch (vx_schedule_next(schedule, &node, &blocker)) {
      case VX_NEXT_DONE: return failed;
      case VX_NEXT_IDLE:
        if ((told = collect(schedule, err)) < 0) return 2;
        failed |= told;
        break;
      case VX_NEXT_SKIP: fprintf(stderr, "order: %s is not made, because %s failed\n", rules[node].target, rules[blocker].target); break;
      case VX_NEXT_RUN:
        if (rules[node].wanted && !is_current(&rules[node])) start(&rules[node]);
        else if (vx_schedule_finish(schedule, node, VX_OUTCOME_HIT, err) != VX_OK) return 2;
        break;
      default: break; /* COMPLETE, ABORT: nothing to do here */
    }
}

int main(int argc, char **argv) {
  vx_schedule_options options = VX_SCHEDULE_OPTIONS_INIT;
  vx_graph *graph = NULL;
  vx_schedule *schedule = NULL;
  vx_error *err = NULL;
  FILE *in;
  int flag, rc;
  options.workers = 1;
  options.continue_mode = VX_CONTINUE_NEVER;
  while ((flag = getopt(argc, argv, "j:k")) != -1) {
    if (flag == 'j') options.workers = (uint32_t)atoi(optarg);
    else if (flag == 'k') options.continue_mode = VX_CONTINUE_DEPS_OK;
    else return 2;
  }
  if (optind == argc || (in = fopen(argv[optind], "r")) == NULL || !read_rules(in)) {
    fprintf(stderr, "usage: order [-j jobs] [-k] rules [target...]\n");
    return 2;
  }
  fclose(in);
  rc = 2;
  if (build_graph(&graph, &err) == VX_OK && select_rules(graph, argv + optind + 1, &err) == VX_OK &&
      vx_schedule_new(graph, &options, &schedule, &err) == VX_OK)
    rc = run(schedule, &err);
  if (err != NULL) rc = fail(argv[optind], err);
  vx_schedule_free(schedule);
  vx_graph_free(graph);
  return rc;
}
