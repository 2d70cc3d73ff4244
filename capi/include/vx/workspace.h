/* vx/workspace.h: the control plane. Requests and answers are JSON documents; their schemas are shipped in capi/schemas/. The same
   documents are what `vx --format json` prints. */
#ifndef VX_WORKSPACE_H
#define VX_WORKSPACE_H

#include "vx/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened workspace: its root, and the environment it was opened with. Cheap; configs are read by the calls below. Handles are
   independent; two may be open on one root. One thread at a time per handle, except that runs started from it go on by themselves. */
typedef struct vx_workspace vx_workspace;

typedef struct vx_workspace_options {
  uint32_t size;           /* sizeof(vx_workspace_options) as the caller compiled it */
  uint32_t flags;          /* none yet: 0 */
  const char *const *envp; /* "NAME=value" strings, NULL-terminated; NULL: a copy of the process environment, taken now */
  const char *cwd;         /* absolute; decides the current project and relative paths; NULL: `path` */
  const char *platform;    /* replaces "<os>-<arch>" in keys (tests); NULL: this build's */
} vx_workspace_options;
#define VX_WORKSPACE_OPTIONS_INIT { sizeof(vx_workspace_options), 0, NULL, NULL, NULL }

/* Finds the workspace that holds `path` (a directory inside it; absolute). Fails with: NO_WORKSPACE, CONFIG, FS, FDS, INVALID,
   UNSUPPORTED. Free with vx_workspace_free(). Since 0.1. */
VX_API vx_status vx_workspace_open(const char *path, const vx_workspace_options *options, vx_workspace **out, vx_error **err);
/* Runs started from it keep what they need: free in any order. */
VX_API void vx_workspace_free(vx_workspace *workspace);
/* The absolute root. Borrowed until vx_workspace_free(). */
VX_API const char *vx_workspace_root(const vx_workspace *workspace);

/* What this program adds to runs and plans of a handle: each is set before they start, holds for all that start afterwards, and replaces the
   one before; a NULL function takes it away. Calls come on the thread inside vx_run_start() or vx_workspace_query(), one at a time, except
   priorities of a run, which are asked on its own thread. They must not throw, longjmp or use the handle. `drop` (may be NULL) is called once,
   when neither the handle nor a run needs `user_data` any more, and also when setting fails. */

/* Collects the material of one task, during one call. */
typedef struct vx_material vx_material;
/* Adds a pair to the key of the task. The order of pairs does not count. `value` may be NULL when size is 0. Fails with: INVALID (an empty
   name). Since 0.1. */
VX_API vx_status vx_material_add(vx_material *material, const char *name, const void *value, size_t size, vx_error **err);
/* Facts of this program that decide a task's result: a toolchain it chose, settings it passes on. They are in the key like declared inputs;
   what is recorded of their values is a salted digest. Anything but VX_OK refuses the run or plan: VX_E_REFUSED names the task. */
typedef vx_status (*vx_key_material_fn)(void *user_data, const char *task_id, vx_material *material);
/* Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_workspace_set_key_material(vx_workspace *workspace, vx_key_material_fn fn, void *user_data, void (*drop)(void *), vx_error **err);
/* Who starts first among tasks that could: returns 1 and sets *priority (higher first), or 0 to leave the task to vx, which puts it behind
   those with one. Priorities order starts, never results. */
typedef int32_t (*vx_priority_fn)(void *user_data, const char *task_id, int64_t *priority);
/* Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_workspace_set_priorities(vx_workspace *workspace, vx_priority_fn fn, void *user_data, void (*drop)(void *), vx_error **err);

/* Answers one question. `request` is {"query": NAME, ...}; unknown fields are refused with a hint. Queries of 0.1:
     plan         what a run would do (fields as vx_run_start)                                                -> plan.json
     show         {"target"?: "pkg"|"pkg#task"|"task"|"//", "filter"?: [..]}                                  -> show.json
     list-tasks   {"filter"?: [..]}                                                                           -> list-tasks.json
     why          {"task": "task"|"pkg#task", "run"?: ID, "cacheDir"?: path}                                  -> why.json
                  why its newest (or that) recorded run executed or was served
     last         {"run"?: ID, "list"?: n, "failed"?: bool, "log"?: "task"|"pkg#task", "cacheDir"?: path}     -> last.json
                  one recorded run (the newest, the newest failed, that one), or the newest n, or one task's output
     info         {"cacheDir"?: path}                                                                         -> info.json
     cache-stats  {"cacheDir"?: path}                                                                         -> cache-stats.json
     prune-cache  {"olderThan"?: "30d", "maxSize"?: "10G", "dryRun"?: bool, "waitMs"?: n, "cacheDir"?: path}  -> prune-cache.json
                  needs a bound; waits for a run of this workspace to end, `waitMs` at the most
   All but prune-cache without dryRun read only: they change no byte below the root or in the store, but for the memos of a plan. A
   database that does not exist reads as empty. An ID is a run id or a unique prefix of one.
   The answer may carry "notices": lines meant for people. *response is the caller's: vx_buf_dispose(). `cancel` may be NULL. Fails with
   every code a selection or a config can raise; and why, last: NO_HISTORY, AMBIGUOUS; all that read the store: CACHE_VERSION (not info,
   which reports it), REFUSED for a cacheDir that does not exist; prune-cache: USAGE for its bounds, FS, REFUSED with details_json
   {"busy":true} when a run outlasted waitMs. details_json carries positions, cycles, candidates. Since 0.1. */
VX_API vx_status vx_workspace_query(vx_workspace *workspace, const char *request_json, vx_cancel *cancel, vx_buf *response, vx_error **err);

/* What a run tells while it goes on. Calls come from libvx threads, never two at once for one run, in order, with no lock held; a slow
   callback slows the run. They must not throw or longjmp. NULL members are skipped. */
typedef struct vx_observer {
  uint32_t size;  /* sizeof(vx_observer) */
  uint32_t flags; /* VX_OBSERVE_* */
  /* One record, see spec run.md 19: {"v":1,"kind":"task.end",...}; `json` is valid during the call. */
  void (*event)(void *user_data, const char *json, size_t size);
  /* Output of a task as raw bytes (masked). `task` is the "index" of its task.start record; stream 1 stdout, 2 stderr;
     flags: VX_OUTPUT_REPLAYED when a hit replays what the producing run printed. */
  void (*output)(void *user_data, uint32_t task, int32_t stream, const void *data, size_t size, uint32_t flags);
  void *user_data;
  void (*drop)(void *user_data); /* exactly once, after the last call, and also when starting fails */
} vx_observer;
#define VX_OBSERVER_INIT { sizeof(vx_observer), 0, NULL, NULL, NULL, NULL }
/* vx_observer.flags: no task records for groups and for hits whose tree was already current, no replayed output of hits, and no
   "tasks" in run.summary. For hosts that show only what happened: 3,000 unchanged tasks cost them nothing. */
#define VX_OBSERVE_SKIP_CURRENT 1u
/* `flags` of an output call: a hit replays what the producing run printed. */
#define VX_OUTPUT_REPLAYED 1u

/* A run in progress. vx_run_cancel() from any thread; everything else by one thread. */
typedef struct vx_run vx_run;

/* Starts a run and returns once its request is resolved: refusals (unknown names, configs, cycles, overlaps) are failures of this call
   and nothing has started. Request fields, all optional:
     "tasks": ["build","pkg#test"], "all": bool, "filter": [..], "affected": true|"ref", "excludeDependencies": true|["name"],
     "args": [..] (forwarded), "concurrency": n|"50%", "force": bool, "noCache": bool, "cache": "local:rw,remote:r",
     "cacheDir": "path", "retry": n, "continue": "never"|"deps-ok"|"always", "timeout": ms, "summarize": true|"path",
     "tags": {"k":"v"}, "command": "vx run build" (for the record), "hold": bool
   `observer` and `cancel` may be NULL. Fails with: USAGE, UNKNOWN_TASK, UNKNOWN_PROJECT, CONFIG, CYCLE, REFUSED, FS, FDS,
   UNSUPPORTED (SIGCHLD ignored), INVALID. Free with vx_run_free(). Since 0.1. */
VX_API vx_status vx_run_start(vx_workspace *workspace, const char *request_json, const vx_observer *observer, vx_cancel *cancel, vx_run **out,
                              vx_error **err);
/* Blocks until the run has ended; *summary is the document of run.md 20 (summary.json). A task that failed is a result, not an error:
   read "ok" and "exitCode". May be called again. From a callback: VX_E_INVALID. Since 0.1. */
VX_API vx_status vx_run_wait(vx_run *run, vx_buf *summary, vx_error **err);
/* What a command line would exit with: 0, 1, or 130/143/129 after a stop. After vx_run_wait(). NULL: 1. Since 0.1. */
VX_API int32_t vx_run_exit_code(const vx_run *run);
/* The same as vx_cancel_request() on the run's token. Any thread, any signal handler. */
VX_API void vx_run_cancel(vx_run *run, int32_t signal);
/* Cancels with SIGKILL if it is still going, joins, frees. */
VX_API void vx_run_free(vx_run *run);

#ifdef __cplusplus
}
#endif
#endif
