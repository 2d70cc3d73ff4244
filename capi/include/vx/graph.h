/* vx/graph.h: a dependency graph, and a scheduler over it that knows no thread, clock or process: you ask what to start and tell how it
   ended. Walks are linear and do not recurse: a chain of 50,000 nodes is fine. */
#ifndef VX_GRAPH_H
#define VX_GRAPH_H

#include "vx/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nodes are 0, 1, 2 ... in the order they are added. Until it is frozen: one thread. A frozen graph is immutable: any thread. */
typedef struct vx_graph vx_graph;

#define VX_NODE_GROUP 1u     /* nothing to run: it has ended when what it depends on has */
#define VX_NODE_EXCLUSIVE 2u /* runs alone */

/* Fails with: INVALID, NO_MEMORY. Free with vx_graph_free(). Since 0.1. */
VX_API vx_status vx_graph_new(vx_graph **out, vx_error **err);
/* Schedules made from it keep what they need: free in any order. NULL is fine. */
VX_API void vx_graph_free(vx_graph *graph);
/* `weight` is what the node costs, in any unit (nanoseconds): it decides the critical path and the default order. *id (may be NULL) becomes
   its number. Fails with: INVALID (frozen), UNSUPPORTED (an unknown flag). Since 0.1. */
VX_API vx_status vx_graph_add_node(vx_graph *graph, uint64_t weight, uint32_t flags, uint32_t *id, vx_error **err);
/* `from` depends on `to`. The same edge twice is one. Fails with: INVALID (frozen, no such node). Since 0.1. */
VX_API vx_status vx_graph_add_edge(vx_graph *graph, uint32_t from, uint32_t to, vx_error **err);
/* Checks and freezes. Fails with: INVALID (frozen already), CYCLE (vx_error_details_json(): {"cycle": [2, 5, 2]}; the graph is as it was).
   Since 0.1. */
VX_API vx_status vx_graph_freeze(vx_graph *graph, vx_error **err);
VX_API uint32_t vx_graph_size(const vx_graph *graph);

/* Of a frozen graph. `count` is the room of the array in elements: at least vx_graph_size(). All fail with INVALID. Since 0.1. */
/* Every node, dependencies first; ties by number. */
VX_API vx_status vx_graph_order(const vx_graph *graph, uint32_t *order, size_t count, vx_error **err);
/* How many nodes depend on each, directly or not; exact. */
VX_API vx_status vx_graph_dependents_count(const vx_graph *graph, uint32_t *counts, size_t count, vx_error **err);
/* The seeds and everything they depend on: bit (n % 8) of bits[n / 8] is node n. `bytes` is at least (vx_graph_size() + 7) / 8; all are
   written. */
VX_API vx_status vx_graph_closure(const vx_graph *graph, const uint32_t *seeds, size_t seed_count, uint8_t *bits, size_t bytes, vx_error **err);
/* The heaviest chain, dependencies first; *length becomes its number of nodes. */
VX_API vx_status vx_graph_critical_path(const vx_graph *graph, uint32_t *nodes, size_t count, size_t *length, vx_error **err);

/* What to do next with a graph's nodes. One thread at a time. */
typedef struct vx_schedule vx_schedule;

/* vx_schedule_options.continue_mode: what still starts after a failure. */
enum {
  VX_CONTINUE_DEPS_OK = 0, /* what does not depend on it */
  VX_CONTINUE_NEVER = 1,   /* nothing */
  VX_CONTINUE_ALWAYS = 2   /* everything; see vx_schedule_tainted() */
};
typedef struct vx_schedule_options {
  uint32_t size;            /* sizeof(vx_schedule_options) as the caller compiled it */
  uint32_t flags;           /* none yet: 0 */
  uint32_t workers;         /* nodes that run at once; 0: 1 */
  uint32_t restore_workers; /* restorable nodes beside them; 0: 2 * workers */
  int32_t continue_mode;    /* VX_CONTINUE_* */
} vx_schedule_options;
#define VX_SCHEDULE_OPTIONS_INIT { sizeof(vx_schedule_options), 0, 0, 0, VX_CONTINUE_DEPS_OK }

/* A schedule of a frozen graph; several may share one. Fails with: INVALID, UNSUPPORTED. Free with vx_schedule_free(). Since 0.1. */
VX_API vx_status vx_schedule_new(const vx_graph *graph, const vx_schedule_options *options, vx_schedule **out, vx_error **err);
VX_API void vx_schedule_free(vx_schedule *schedule); /* NULL is fine */
/* Before the first vx_schedule_next(). A higher priority starts first; nodes without one come after those with one, by the weight that
   waits behind them. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_schedule_set_priority(vx_schedule *schedule, uint32_t node, int64_t priority, vx_error **err);
/* Before the first vx_schedule_next(). The node's result is known to be at hand, whatever it depends on: it waits for nothing and is told as
   VX_NEXT_RESTORE. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_schedule_mark_restorable(vx_schedule *schedule, uint32_t node, vx_error **err);

enum {
  VX_NEXT_IDLE = 0,     /* nothing until a running node finishes */
  VX_NEXT_RUN = 1,      /* start *node; tell vx_schedule_finish() */
  VX_NEXT_RESTORE = 2,  /* restore *node; tell vx_schedule_finish() */
  VX_NEXT_COMPLETE = 3, /* *node is a group and has ended: for your records */
  VX_NEXT_SKIP = 4,     /* *node has ended without running, because of *blocker: for your records */
  VX_NEXT_ABORT = 5,    /* *node has ended without running, because of vx_schedule_stop() or an earlier failure: for your records */
  VX_NEXT_DONE = 6      /* every node has ended */
};
/* What to do now; ask again until it is IDLE or DONE. `node` and `blocker` may be NULL; *blocker becomes the node whose failure is the
   cause, or UINT32_MAX. NULL: DONE. Since 0.1. */
VX_API int32_t vx_schedule_next(vx_schedule *schedule, uint32_t *node, uint32_t *blocker);
/* 1 when the node runs behind a failure (VX_CONTINUE_ALWAYS): nothing it makes may be stored. Since 0.1. */
VX_API int32_t vx_schedule_tainted(const vx_schedule *schedule, uint32_t node);

enum {
  VX_OUTCOME_SUCCESS = 0,
  VX_OUTCOME_HIT = 1,      /* its result was taken from a cache */
  VX_OUTCOME_FAILED = 2,
  VX_OUTCOME_ABORTED = 4,  /* it was stopped */
  VX_OUTCOME_VANISHED = 5  /* a VX_NEXT_RESTORE whose result was gone: it is told again as VX_NEXT_RUN, in its turn */
};
/* How a node that RUN or RESTORE named has ended. Fails with: INVALID (it is not running, no such outcome). Since 0.1. */
VX_API vx_status vx_schedule_finish(vx_schedule *schedule, uint32_t node, int32_t outcome, vx_error **err);
/* Nothing more starts; what has not started is told as ABORT. NULL is fine. Since 0.1. */
VX_API void vx_schedule_stop(vx_schedule *schedule);

#ifdef __cplusplus
}
#endif
#endif
