/* vx/workspace.h: runs, their observer, cancelling, waiting, freeing in any order and from two threads. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

/* What an observer heard. Callbacks come one at a time, so only what the main thread reads during a run is behind the mutex. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  char out[8192];
  size_t out_size;
  int err_bytes, replayed, events, drops, inside, overlaps, after_drop;
  vx_run *run; /* waited for from a callback when not NULL */
  vx_status wait_inside;
} record;

static void record_init(record *r) {
  memset(r, 0, sizeof *r);
  pthread_mutex_init(&r->mutex, NULL);
  pthread_cond_init(&r->changed, NULL);
}

static void enter(record *r) {
  pthread_mutex_lock(&r->mutex);
  if (r->inside++ != 0) ++r->overlaps;
  if (r->drops != 0) ++r->after_drop;
  pthread_mutex_unlock(&r->mutex);
}

static void leave(record *r) {
  pthread_mutex_lock(&r->mutex);
  --r->inside;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static void on_event(void *user, const char *json, size_t size) {
  record *r = user;
  enter(r);
  CHECK(size > 0 && json[0] == '{');
  ++r->events;
  if (r->run != NULL) {
    r->wait_inside = vx_run_wait(r->run, NULL, NULL);
    r->run = NULL;
  }
  leave(r);
}

static void on_output(void *user, uint32_t task, int32_t stream, const void *data, size_t size, uint32_t flags) {
  record *r = user;
  (void)task;
  enter(r);
  pthread_mutex_lock(&r->mutex);
  if (stream == 2) {
    r->err_bytes += (int)size;
  } else if (r->out_size + size < sizeof r->out) {
    memcpy(r->out + r->out_size, data, size);
    r->out_size += size;
  }
  if ((flags & VX_OUTPUT_REPLAYED) != 0) ++r->replayed;
  pthread_mutex_unlock(&r->mutex);
  leave(r);
}

static void on_drop(void *user) {
  record *r = user;
  pthread_mutex_lock(&r->mutex);
  ++r->drops;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static vx_observer observe(record *r) {
  vx_observer o = VX_OBSERVER_INIT;
  o.event = on_event;
  o.output = on_output;
  o.drop = on_drop;
  o.user_data = r;
  return o;
}

static int summary_says(vx_run *run, const char *words) {
  vx_buf buf = VX_BUF_INIT;
  int found = 0;
  CHECK_OK(vx_run_wait(run, &buf, &err_));
  if (buf.data != NULL) found = strstr(buf.data, words) != NULL;
  if (!found) fprintf(stderr, "  summary: %s\n", buf.data != NULL ? buf.data : "(none)");
  vx_buf_dispose(&buf);
  return found;
}

static void refusals_drop_the_observer(vx_workspace *ws) {
  static const char *const bad[] = {"", "[]", "{\"tasks\": [\"biuld\"], \"all\": true}", "{\"taks\": [\"build\"]}", "{\"concurrency\": -1}"};
  size_t i;
  vx_run *run = NULL;
  for (i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    record r;
    vx_observer o;
    vx_error *err = NULL;
    record_init(&r);
    o = observe(&r);
    run = (vx_run *)(void *)&r;
    CHECK(vx_run_start(ws, bad[i], &o, NULL, &run, &err) != VX_OK);
    CHECK(run == NULL);
    CHECK(err != NULL);
    vx_error_free(err);
    CHECK(r.drops == 1);
    CHECK(r.events == 0);
  }
  {
    record r;
    vx_observer o;
    struct {
      vx_observer known;
      uint64_t later;
    } longer;
    record_init(&r);
    o = observe(&r);
    CHECK_FAILS(vx_run_start(NULL, "{}", &o, NULL, &run, &err_), VX_E_INVALID);
    CHECK(r.drops == 1);
    CHECK_FAILS(vx_run_start(ws, NULL, &o, NULL, &run, &err_), VX_E_INVALID);
    CHECK(r.drops == 2);
    CHECK_FAILS(vx_run_start(ws, "{}", &o, NULL, NULL, &err_), VX_E_INVALID);
    CHECK(r.drops == 3);
    o.flags = 1u << 31;
    CHECK_FAILS(vx_run_start(ws, "{}", &o, NULL, &run, &err_), VX_E_UNSUPPORTED);
    CHECK(r.drops == 4);
    memset(&longer, 0, sizeof longer);
    longer.known = observe(&r);
    longer.known.size = sizeof longer;
    longer.later = 1;
    CHECK_FAILS(vx_run_start(ws, "{}", &longer.known, NULL, &run, &err_), VX_E_UNSUPPORTED);
    CHECK(r.drops == 5);
  }
  CHECK(vx_run_start(NULL, NULL, NULL, NULL, NULL, NULL) == VX_E_INVALID);
  CHECK_FAILS(vx_run_wait(NULL, NULL, &err_), VX_E_INVALID);
  vx_run_cancel(NULL, SIGINT);
  vx_run_free(NULL);
  CHECK(vx_run_exit_code(NULL) != 0);
}

static void a_run_and_its_replay(vx_workspace *ws) {
  static const char request[] = "{\"tasks\": [\"build\"], \"all\": true}";
  int again;
  for (again = 0; again < 2; ++again) {
    record r;
    vx_observer o;
    vx_run *run = NULL;
    record_init(&r);
    o = observe(&r);
    CHECK_OK(vx_run_start(ws, request, &o, NULL, &run, &err_));
    if (run == NULL) return;
    CHECK(summary_says(run, "\"a#build\""));
    CHECK(summary_says(run, "\"exitCode\":0") || summary_says(run, "\"exitCode\": 0")); /* waiting again is fine */
    CHECK_OK(vx_run_wait(run, NULL, &err_));
    CHECK(vx_run_exit_code(run) == 0);
    vx_run_free(run);
    r.out[r.out_size] = '\0';
    CHECK(strstr(r.out, "building\n") != NULL);
    CHECK(strstr(r.out, "in\n") != NULL); /* b read what a wrote */
    CHECK(r.err_bytes == 4);
    CHECK(r.events > 0);
    CHECK(r.drops == 1);
    CHECK(r.overlaps == 0);
    CHECK(r.after_drop == 0);
    CHECK((r.replayed > 0) == (again == 1));
  }
}

static void a_failing_task_is_a_result(vx_workspace *ws) {
  vx_run *run = NULL;
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"a#fail\"]}", NULL, NULL, &run, &err_));
  if (run == NULL) return;
  CHECK(summary_says(run, "\"a#fail\""));
  CHECK(vx_run_exit_code(run) == 1);
  vx_run_free(run);
}

static void wait_for_words(record *r, const char *words) {
  pthread_mutex_lock(&r->mutex);
  for (;;) {
    r->out[r->out_size] = '\0';
    if (strstr(r->out, words) != NULL) break;
    pthread_cond_wait(&r->changed, &r->mutex);
  }
  pthread_mutex_unlock(&r->mutex);
}

static void *cancel_thread(void *raw) {
  vx_run_cancel(raw, SIGTERM);
  return NULL;
}

static void cancelling(const char *root, int by_token) {
  record r;
  vx_observer o;
  vx_workspace *ws = NULL;
  vx_cancel *cancel = NULL;
  vx_run *run = NULL;
  pthread_t thread;
  record_init(&r);
  o = observe(&r);
  CHECK_OK(vx_workspace_open(root, NULL, &ws, &err_));
  CHECK_OK(vx_cancel_new(&cancel, &err_));
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"a#hang\"]}", &o, cancel, &run, &err_));
  vx_workspace_free(ws); /* a run keeps what it needs */
  if (run == NULL) return;
  wait_for_words(&r, "hanging\n");
  if (by_token) {
    vx_cancel_request(cancel, SIGINT);
  } else {
    CHECK(pthread_create(&thread, NULL, cancel_thread, run) == 0);
    pthread_join(thread, NULL);
  }
  CHECK_OK(vx_run_wait(run, NULL, &err_));
  CHECK(vx_run_exit_code(run) == (by_token ? 130 : 143));
  vx_run_free(run);
  vx_cancel_free(cancel);
  CHECK(r.drops == 1);
}

static void freeing_a_live_run_ends_it(vx_workspace *ws) {
  record r;
  vx_observer o;
  vx_run *run = NULL;
  record_init(&r);
  o = observe(&r);
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"a#hang\"]}", &o, NULL, &run, &err_));
  if (run == NULL) return;
  wait_for_words(&r, "hanging\n");
  vx_run_free(run);
  CHECK(r.drops == 1);
  CHECK(r.inside == 0);
}

static void waiting_in_a_callback_is_refused(vx_workspace *ws) {
  record r;
  vx_observer o;
  vx_run *run = NULL;
  record_init(&r);
  r.wait_inside = VX_OK;
  o = observe(&r);
  CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"a#hang\"]}", &o, NULL, &run, &err_));
  if (run == NULL) return;
  wait_for_words(&r, "hanging\n");
  pthread_mutex_lock(&r.mutex);
  r.run = run;
  pthread_mutex_unlock(&r.mutex);
  vx_run_cancel(run, SIGTERM);
  CHECK_OK(vx_run_wait(run, NULL, &err_));
  CHECK(r.wait_inside == VX_E_INVALID);
  vx_run_free(run);
}

static void *own_workspace(void *unused) {
  char *root = make_workspace();
  vx_workspace *ws = NULL;
  int i;
  (void)unused;
  CHECK_OK(vx_workspace_open(root, NULL, &ws, &err_));
  for (i = 0; i < 3 && ws != NULL; ++i) {
    vx_buf buf = VX_BUF_INIT;
    vx_run *run = NULL;
    CHECK_OK(vx_workspace_query(ws, "{\"query\": \"plan\", \"tasks\": [\"build\"], \"all\": true}", NULL, &buf, &err_));
    vx_buf_dispose(&buf);
    CHECK_OK(vx_run_start(ws, "{\"tasks\": [\"build\"], \"all\": true}", NULL, NULL, &run, &err_));
    if (run == NULL) break;
    CHECK_OK(vx_run_wait(run, NULL, &err_));
    CHECK(vx_run_exit_code(run) == 0);
    vx_run_free(run);
    CHECK_OK(vx_workspace_query(ws, "{\"query\": \"why\", \"task\": \"a#build\"}", NULL, &buf, &err_));
    CHECK(buf.data != NULL && strstr(buf.data, i == 0 ? "first recorded run" : "same key, served from cache") != NULL);
    vx_buf_dispose(&buf);
    CHECK_OK(vx_workspace_query(ws, "{\"query\": \"last\"}", NULL, &buf, &err_));
    CHECK(buf.data != NULL && strstr(buf.data, "\"exitOk\":true") != NULL);
    vx_buf_dispose(&buf);
  }
  vx_workspace_free(ws);
  remove_workspace(root);
  return NULL;
}

static void two_threads(void) {
  pthread_t threads[2];
  int i;
  for (i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, own_workspace, NULL) == 0);
  for (i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static void ignored_children_are_refused(vx_workspace *ws) {
  struct sigaction ignore, before;
  vx_run *run = NULL;
  memset(&ignore, 0, sizeof ignore);
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  CHECK_FAILS(vx_run_start(ws, "{\"tasks\": [\"a#fail\"]}", NULL, NULL, &run, &err_), VX_E_UNSUPPORTED);
  CHECK(run == NULL);
  sigaction(SIGCHLD, &before, NULL);
}

int main(void) {
  char *root = make_workspace();
  vx_workspace *ws = NULL;
  CHECK(root != NULL);
  CHECK_OK(vx_workspace_open(root, NULL, &ws, &err_));
  if (ws != NULL) {
    refusals_drop_the_observer(ws);
    a_run_and_its_replay(ws);
    a_failing_task_is_a_result(ws);
    cancelling(root, 0);
    cancelling(root, 1);
    freeing_a_live_run_ends_it(ws);
    waiting_in_a_callback_is_refused(ws);
    two_threads();
    ignored_children_are_refused(ws);
  }
  vx_workspace_free(ws);
  remove_workspace(root);
  return failed_checks == 0 ? 0 : 1;
}
