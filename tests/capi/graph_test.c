/* vx/graph.h: building and freezing, walks, a schedule driven to its end in every mode, sizes that must not hurt, NULL in every place. */
#include <stdlib.h>

#include "check.h"

static vx_graph *new_graph(uint32_t nodes, uint64_t weight) {
  vx_graph *g = NULL;
  uint32_t i, id = 77;
  CHECK_OK(vx_graph_new(&g, &err_));
  for (i = 0; i < nodes; ++i) {
    CHECK(vx_graph_add_node(g, weight, 0, &id, NULL) == VX_OK);
    CHECK(id == i);
  }
  return g;
}

static void edge(vx_graph *g, uint32_t from, uint32_t to) { CHECK_OK(vx_graph_add_edge(g, from, to, &err_)); }

/* 3 -> 1 -> 0, 3 -> 2 -> 0, 4 */
static vx_graph *diamond(void) {
  vx_graph *g = new_graph(5, 10);
  edge(g, 3, 1);
  edge(g, 3, 2);
  edge(g, 1, 0);
  edge(g, 2, 0);
  edge(g, 2, 0);
  return g;
}

static void building(void) {
  vx_graph *g = NULL;
  vx_error *err = NULL;
  CHECK_FAILS(vx_graph_new(NULL, &err_), VX_E_INVALID);
  g = diamond();
  CHECK(vx_graph_size(g) == 5 && vx_graph_size(NULL) == 0);
  CHECK_FAILS(vx_graph_add_node(NULL, 0, 0, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_add_node(g, 0, 4, NULL, &err_), VX_E_UNSUPPORTED);
  CHECK_FAILS(vx_graph_add_edge(g, 0, 5, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_add_edge(NULL, 0, 1, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_freeze(NULL, &err_), VX_E_INVALID);
  CHECK_OK(vx_graph_freeze(g, &err_));
  CHECK_FAILS(vx_graph_freeze(g, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_add_node(g, 0, 0, NULL, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_add_edge(g, 4, 0, &err_), VX_E_INVALID);
  vx_graph_free(g);
  vx_graph_free(NULL);

  g = new_graph(3, 1);
  edge(g, 0, 1);
  edge(g, 1, 2);
  edge(g, 2, 0);
  CHECK(vx_graph_freeze(g, &err) == VX_E_CYCLE);
  CHECK(strcmp(vx_error_details_json(err), "{\"cycle\":[0,1,2,0]}") == 0);
  vx_error_free(err);
  vx_graph_free(g);
  g = new_graph(1, 1);
  edge(g, 0, 0);
  CHECK_FAILS(vx_graph_freeze(g, &err_), VX_E_CYCLE);
  vx_graph_free(g);
}

static void walks(void) {
  vx_graph *g = diamond(), *empty = new_graph(0, 0);
  uint32_t nodes[5], seeds[] = {2}, far[] = {9};
  uint8_t bits[2] = {0xff, 0xff};
  size_t n = 9;
  CHECK_FAILS(vx_graph_order(g, nodes, 5, &err_), VX_E_INVALID); /* not frozen */
  CHECK_OK(vx_graph_freeze(g, &err_));
  CHECK_OK(vx_graph_order(g, nodes, 5, &err_));
  CHECK(nodes[0] == 0 && nodes[1] == 1 && nodes[2] == 2 && nodes[3] == 3 && nodes[4] == 4);
  CHECK_OK(vx_graph_dependents_count(g, nodes, 5, &err_));
  CHECK(nodes[0] == 3 && nodes[1] == 1 && nodes[2] == 1 && nodes[3] == 0 && nodes[4] == 0);
  CHECK_OK(vx_graph_closure(g, seeds, 1, bits, 2, &err_));
  CHECK(bits[0] == 5 && bits[1] == 0);
  CHECK_OK(vx_graph_critical_path(g, nodes, 5, &n, &err_));
  CHECK(n == 3 && nodes[0] == 0 && nodes[2] == 3);
  CHECK_FAILS(vx_graph_order(g, nodes, 4, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_order(g, NULL, 5, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_order(NULL, nodes, 5, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_dependents_count(g, nodes, 0, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_closure(g, far, 1, bits, 2, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_closure(g, NULL, 1, bits, 2, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_closure(g, seeds, 1, bits, 0, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_graph_critical_path(g, nodes, 5, NULL, &err_), VX_E_INVALID);
  CHECK_OK(vx_graph_freeze(empty, &err_));
  CHECK_OK(vx_graph_order(empty, NULL, 0, &err_));
  CHECK_OK(vx_graph_closure(empty, NULL, 0, NULL, 0, &err_));
  vx_graph_free(g);
  vx_graph_free(empty);
}

/* Runs a schedule to its end, one node at a time; what happened, as text: "r0 r1 s3<1 ." */
static void drive(vx_schedule *s, uint32_t fails, char *told) {
  for (;;) {
    uint32_t node, blocker;
    const int32_t what = vx_schedule_next(s, &node, &blocker);
    if (what == VX_NEXT_DONE) break;
    CHECK(what != VX_NEXT_IDLE);
    if (what == VX_NEXT_IDLE) break;
    told += sprintf(told, "%c%u", "?rhcsa"[what], (unsigned)node);
    if (blocker != UINT32_MAX) told += sprintf(told, "<%u", (unsigned)blocker);
    if (what == VX_NEXT_RUN && vx_schedule_tainted(s, node)) *told++ = '!';
    *told++ = ' ';
    if (what == VX_NEXT_RUN || what == VX_NEXT_RESTORE) CHECK_OK(vx_schedule_finish(s, node, node == fails ? VX_OUTCOME_FAILED : VX_OUTCOME_SUCCESS, &err_));
  }
  *told = '\0';
}

static int schedule_gives(vx_graph *g, int32_t mode, uint32_t fails, const char *want) {
  vx_schedule_options o = VX_SCHEDULE_OPTIONS_INIT;
  vx_schedule *s = NULL;
  char told[256];
  o.continue_mode = mode;
  CHECK_OK(vx_schedule_new(g, &o, &s, &err_));
  CHECK_OK(vx_schedule_set_priority(s, 2, 7, &err_));
  CHECK_OK(vx_schedule_set_priority(s, 0, 9, &err_));
  drive(s, fails, told);
  if (strcmp(told, want) != 0) fprintf(stderr, "  told: %s\n", told);
  CHECK(vx_schedule_next(s, NULL, NULL) == VX_NEXT_DONE);
  vx_schedule_free(s);
  return strcmp(told, want) == 0;
}

static void schedules(void) {
  vx_graph *g = diamond();
  vx_schedule_options o = VX_SCHEDULE_OPTIONS_INIT;
  vx_schedule *s = (vx_schedule *)(void *)&failed_checks;
  uint32_t node, blocker;
  CHECK_FAILS(vx_schedule_new(g, NULL, &s, &err_), VX_E_INVALID); /* not frozen */
  CHECK(s == NULL);
  CHECK_OK(vx_graph_freeze(g, &err_));
  CHECK(schedule_gives(g, VX_CONTINUE_DEPS_OK, 99, "r0 r2 r1 r4 r3 "));
  CHECK(schedule_gives(g, VX_CONTINUE_DEPS_OK, 2, "r0 r2 r1 r4 s3<2 "));
  CHECK(schedule_gives(g, VX_CONTINUE_ALWAYS, 2, "r0 r2 r1 r4 r3! "));
  CHECK_FAILS(vx_schedule_new(NULL, &o, &s, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_schedule_new(g, &o, NULL, &err_), VX_E_INVALID);
  o.continue_mode = 3;
  CHECK_FAILS(vx_schedule_new(g, &o, &s, &err_), VX_E_INVALID);
  o.continue_mode = 0;
  o.flags = 1;
  CHECK_FAILS(vx_schedule_new(g, &o, &s, &err_), VX_E_UNSUPPORTED);
  o.flags = 0;
  o.size = 4;
  CHECK_FAILS(vx_schedule_new(g, &o, &s, &err_), VX_E_INVALID);
  o.size = sizeof o;
  o.workers = 2;
  CHECK_OK(vx_schedule_new(g, &o, &s, &err_));
  vx_graph_free(g); /* before its schedule */
  CHECK_OK(vx_schedule_mark_restorable(s, 3, &err_));
  CHECK_FAILS(vx_schedule_mark_restorable(s, 5, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_schedule_set_priority(NULL, 0, 1, &err_), VX_E_INVALID);
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_RUN && node == 0);
  CHECK_FAILS(vx_schedule_set_priority(s, 0, 1, &err_), VX_E_INVALID); /* it has started */
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_RUN && node == 4);
  CHECK(vx_schedule_next(s, &node, &blocker) == VX_NEXT_RESTORE && node == 3 && blocker == UINT32_MAX);
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_IDLE && node == UINT32_MAX);
  CHECK_FAILS(vx_schedule_finish(s, 1, VX_OUTCOME_SUCCESS, &err_), VX_E_INVALID); /* not running */
  CHECK_FAILS(vx_schedule_finish(s, 99, VX_OUTCOME_SUCCESS, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_schedule_finish(s, 0, 3, &err_), VX_E_INVALID);
  CHECK_FAILS(vx_schedule_finish(s, 0, VX_OUTCOME_VANISHED, &err_), VX_E_INVALID); /* no restore */
  CHECK_FAILS(vx_schedule_finish(NULL, 0, VX_OUTCOME_SUCCESS, &err_), VX_E_INVALID);
  CHECK_OK(vx_schedule_finish(s, 3, VX_OUTCOME_VANISHED, &err_));
  CHECK_OK(vx_schedule_finish(s, 4, VX_OUTCOME_HIT, &err_));
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_IDLE); /* 3 waits for 1 and 2 now */
  CHECK_OK(vx_schedule_finish(s, 0, VX_OUTCOME_SUCCESS, &err_));
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_RUN && node == 1);
  vx_schedule_stop(s);
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_ABORT);
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_ABORT);
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_IDLE);
  CHECK_OK(vx_schedule_finish(s, 1, VX_OUTCOME_ABORTED, &err_));
  CHECK(vx_schedule_next(s, &node, NULL) == VX_NEXT_DONE);
  CHECK(vx_schedule_next(NULL, &node, NULL) == VX_NEXT_DONE);
  CHECK(vx_schedule_tainted(NULL, 0) == 0);
  vx_schedule_stop(NULL);
  vx_schedule_free(s);
  vx_schedule_free(NULL);
}

static void a_long_chain(void) {
  const uint32_t length = 50000;
  vx_graph *g = new_graph(length, 1);
  uint32_t i, *nodes = malloc(length * sizeof *nodes), node;
  vx_schedule *s = NULL;
  size_t n = 0;
  for (i = 1; i < length; ++i) CHECK(vx_graph_add_edge(g, i, i - 1, NULL) == VX_OK);
  CHECK_OK(vx_graph_freeze(g, &err_));
  CHECK_OK(vx_graph_order(g, nodes, length, &err_));
  for (i = 0; i < length; ++i) CHECK(nodes[i] == i);
  CHECK_OK(vx_graph_critical_path(g, nodes, length, &n, &err_));
  CHECK(n == length);
  CHECK_OK(vx_schedule_new(g, NULL, &s, &err_));
  for (i = 0; vx_schedule_next(s, &node, NULL) == VX_NEXT_RUN; ++i) CHECK(node == i && vx_schedule_finish(s, node, VX_OUTCOME_SUCCESS, NULL) == VX_OK);
  CHECK(i == length);
  vx_schedule_free(s);
  vx_graph_free(g);
  free(nodes);
}

int main(void) {
  building();
  walks();
  schedules();
  a_long_chain();
  return failed_checks == 0 ? 0 : 1;
}
