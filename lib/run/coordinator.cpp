#include "run/coordinator.hpp"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "graph/scheduler.hpp"
#include "run/lane.hpp"
#include "run/priorities.hpp"
#include "run/records.hpp"
#include "run/task_runner.hpp"
#include "run/wakeup.hpp"

namespace vx::run {
namespace {

/// What a lane tells the coordinator.
struct message {
  enum class kind : std::uint8_t { ended, settled, demoted, ready, server_ended };
  message::kind what = kind::ended;
  std::uint32_t node = 0;
  task_outcome outcome;
  std::optional<save_job> save;
  std::unique_ptr<exec::server> server;
  int exit_code = 0;
  bool before_ready = false;
};

graph::end_kind kind_of(const task_outcome& o) {
  switch (o.status) {
    case task_status::success: return graph::end_kind::success;
    case task_status::cache_hit:
    case task_status::cache_hit_remote: return graph::end_kind::hit;
    case task_status::failed: return graph::end_kind::failed;
    case task_status::skipped: return graph::end_kind::skipped;
    case task_status::aborted: return graph::end_kind::aborted;
  }
  return graph::end_kind::failed;
}

}  // namespace

struct coordinator::impl {
  explicit impl(run_state& state) : s(state), runner(state) {}

  run_state& s;
  task_runner runner;
  std::optional<graph::scheduler> plan;
  std::vector<std::uint32_t> to_node;  // scheduler index -> node
  std::vector<std::uint32_t> to_slot;  // node -> scheduler index
  std::vector<std::vector<std::uint32_t>> order;

  wakeup wake;
  std::mutex inbox_mutex;
  std::deque<message> inbox;
  std::map<std::uint32_t, std::unique_ptr<exec::server>> servers;  // ready and alive, or dead and not yet stopped
  bool died = false;
  bool cancelled = false;

  // Last, so that their threads end before anything they use goes away.
  std::unique_ptr<lane> exec_lane, restore_lane, save_lane;

  void tell(message m) {
    bool first = false;
    {
      const std::lock_guard lock(inbox_mutex);
      first = inbox.empty();
      inbox.push_back(std::move(m));
    }
    if (first) wake.raise();
  }

  std::deque<message> take() {
    wake.clear();
    const std::lock_guard lock(inbox_mutex);
    return std::exchange(inbox, {});
  }

  // --- records -------------------------------------------------------------------------------------------------------------

  bool quiet(std::uint32_t node) const {
    const task_outcome& o = s.outcomes[node];
    return s.out.skips_current() && (s.p.is_group(node) || (is_hit(o.status) && !o.restored.value_or(true)));
  }
  void record_start(std::uint32_t node) {
    if (s.out.active()) s.out.event(task_start_record(s, node));
  }
  void record_end(std::uint32_t node) {
    if (s.out.active()) s.out.event(task_end_record(s, node));
  }
  void record_whole(std::uint32_t node) {
    if (!s.out.active() || quiet(node)) return;
    record_start(node);
    record_end(node);
  }

  // --- starting ------------------------------------------------------------------------------------------------------------

  void build_scheduler() {
    const std::vector<graph::priority> ranks =
        needs_ranks() ? rank_tasks(s.p, s.early.tier) : std::vector<graph::priority>(s.p.tasks.size());
    to_slot.assign(s.p.tasks.size(), 0);
    for (std::uint32_t i = 0; i < s.p.tasks.size(); ++i) {
      if (!s.p.schedule.scheduled[i]) continue;
      to_slot[i] = static_cast<std::uint32_t>(to_node.size());
      to_node.push_back(i);
    }
    order.resize(to_node.size());
    std::vector<graph::schedule_node> nodes(to_node.size());
    for (std::size_t k = 0; k < to_node.size(); ++k) {
      const std::uint32_t node = to_node[k];
      for (const std::uint32_t dep : s.p.schedule.order[node]) order[k].push_back(to_slot[dep]);
      nodes[k].deps = order[k];
      nodes[k].group = s.p.is_group(node);
      nodes[k].restore_tier = s.early.tier[node] != 0;
      nodes[k].rank = ranks[node];
    }
    plan.emplace(std::move(nodes), s.p.concurrency, 2 * s.p.concurrency, s.p.request.mode);
  }

  bool needs_ranks() const {
    for (std::uint32_t i = 0; i < s.p.tasks.size(); ++i)
      if (s.p.schedule.scheduled[i] && !s.p.is_group(i) && s.early.tier[i] == 0) return true;
    return false;
  }

  void make_lanes() {
    exec_lane = std::make_unique<lane>(s.p.concurrency);
    restore_lane = std::make_unique<lane>(s.p.concurrency == 1 ? 1 : 2 * s.p.concurrency);
    save_lane = std::make_unique<lane>(2 * s.p.concurrency);
  }

  void perform(const graph::action& a) {
    const std::uint32_t node = to_node[a.node];
    using kind = graph::action::kind;
    switch (a.what) {
      case kind::complete: return complete_group(node);
      case kind::skip:
      case kind::abort: return end_unstarted(a, node);
      case kind::restore: return restore(node, a.node);
      case kind::start: return start(node, a.tainted);
    }
  }

  void complete_group(std::uint32_t node) {
    task_outcome& o = s.outcomes[node];
    o.status = task_status::success;
    const node_key& k = s.keys.at(node).is == node_key::state::none ? s.keys.derive(node) : s.keys.at(node);
    if (k.is == node_key::state::known)
      o.key = k.key;
    else
      s.unkeyed[node] = 1;
    if (k.is == node_key::state::error) {
      // A keyed group whose inputs can't be read fails what folds it, through the missing key.
      s.p.notices.say(level::warning, s.p.graph.nodes[node].id + ": " + k.why->message, s.p.graph.nodes[node].id);
    }
    const auto& folded = s.p.tasks[node].config->has_cache ? s.p.graph.folded[node] : order_of(node);
    for (const std::uint32_t dep : folded)
      if (s.unkeyed[dep] != 0) s.unkeyed[node] = 1;
    record_whole(node);
  }

  std::vector<std::uint32_t> order_of(std::uint32_t node) const {
    const auto deps = s.p.graph.edges.deps(node);
    return {deps.begin(), deps.end()};
  }

  void end_unstarted(const graph::action& a, std::uint32_t node) {
    task_outcome& o = s.outcomes[node];
    o.status = a.what == graph::action::kind::skip ? task_status::skipped : task_status::aborted;
    o.exit_code = 1;
    o.no_cache = !s.p.tasks[node].config->has_cache;
    if (a.blocker) o.blocked_by = s.p.graph.nodes[to_node[*a.blocker]].id;
    if (s.keys.known(node)) o.key = s.keys.at(node).key;
    s.unkeyed[node] = 1;
    record_whole(node);
  }

  void restore(std::uint32_t node, std::uint32_t slot) {
    if (s.early.current[node] != 0) {
      const bool shown = s.out.active() && !s.out.skips_current();
      if (shown) record_start(node);
      s.outcomes[node] = runner.current_hit(node);
      if (shown) record_end(node);
      plan->finished(slot, graph::end_kind::hit);
      plan->settled(slot);
      return;
    }
    record_start(node);
    restore_lane->post([this, node] {
      std::optional<task_outcome> out = runner.restore_hit(node);
      message m;
      m.node = node;
      m.what = out ? message::kind::ended : message::kind::demoted;
      if (out) m.outcome = std::move(*out);
      tell(std::move(m));
    });
  }

  void start(std::uint32_t node, bool tainted) {
    // A demoted tier hit had its start recorded when the restore began.
    const bool demoted = s.early.probed[node] == probe::miss && s.early.tier[node] != 0;
    if (!demoted) record_start(node);
    if (s.p.tasks[node].config->persistent) {
      exec_lane->post([this, node] { start_server(node); });
      return;
    }
    exec_lane->post([this, node, tainted] {
      ended_task end = runner.execute(node, tainted);
      message m;
      m.node = node;
      m.outcome = std::move(end.outcome);
      m.save = std::move(end.save);
      tell(std::move(m));
    });
  }

  // --- servers -------------------------------------------------------------------------------------------------------------

  void start_server(std::uint32_t node) {
    message m;
    m.node = node;
    m.outcome.mono_start_ns = s.since_start_ns();
    m.outcome.wall_start_ns = wall_ns();
    m.outcome.no_cache = true;
    const bool folded = !s.p.graph.edges.dependents(node).empty();
    if (folded && !runner.ensure_key(node, m.outcome)) return tell(std::move(m));
    exec::server::hooks hooks;
    const auto kept = std::make_shared<exec::capture>(make_failure_capture());  // only its own thread touches it
    hooks.output = [this, node, kept](int stream, std::string_view bytes) {
      kept->add(stream, bytes);
      s.out.output(node, stream, std::string(bytes), false);
    };
    hooks.on_ready = [this, node](std::int64_t ns) {
      message ready;
      ready.what = message::kind::ready;
      ready.node = node;
      ready.outcome.duration_ns = ns;
      tell(std::move(ready));
    };
    hooks.on_exit = [this, node, kept](const exec::spawn_result& r, bool before) {
      if (before || (r.exit_code != 0 && !r.stopped)) keep_failure(node, failure_text(*kept));
      message ended;
      ended.what = message::kind::server_ended;
      ended.node = node;
      ended.before_ready = before;
      ended.exit_code = r.exit_code;
      ended.outcome.exit_code = r.exit_code;
      ended.outcome.timed_out = r.timed_out;
      ended.outcome.not_ready = r.spawn_failed ? "spawn" : r.timed_out ? "timeout" : "exited";
      tell(std::move(ended));
    };
    hooks.on_slow = [this, node] {
      const std::string& pattern = s.p.tasks[node].config->ready_when;
      runner.say(node, level::notice,
                 s.p.graph.nodes[node].id + " is not ready yet: waiting for a line that matches " + pattern +
                     (timeout_of(s, node) != 0 ? "" : " (no timeout bounds the wait)"));
    };
    exec::server::options o;
    o.spawn = make_spawn(s, node);
    o.spawn.timeout_ms = 0;
    o.spawn.keep_stdin_open = true;
    o.ready_when = s.p.tasks[node].config->ready_when;
    o.ready_timeout_ms = timeout_of(s, node);
    o.notice_ms = s.settings.ready_notice_ms;
    result<std::unique_ptr<exec::server>> up = exec::server::start(std::move(o), std::move(hooks), s.processes, s.cancel);
    const std::lock_guard lock(inbox_mutex);
    if (up) servers[node] = std::move(*up);
    if (up) return;
    m.outcome.status = task_status::failed;
    m.outcome.exit_code = 127;
    m.outcome.not_ready = "spawn";
    const std::string line = s.p.graph.nodes[node].id + " did not start: " + up.error().message;
    runner.say(node, level::warning, line);
    keep_failure(node, "[vx] " + line + "\n");
    inbox.push_back(std::move(m));
    wake.raise();
  }

  void keep_failure(std::uint32_t node, std::string output) {
    const std::lock_guard lock(s.ends_mutex);
    s.failures.push_back({node, std::move(output)});
  }

  void on_ready(const message& m) {
    task_outcome& o = s.outcomes[m.node];
    if (o.status == task_status::success || o.status == task_status::failed) return;
    o.status = task_status::success;
    o.exit_code = 0;
    o.no_cache = true;
    o.duration_ns = m.outcome.duration_ns;
    o.mono_end_ns = s.since_start_ns();
    o.mono_start_ns = *o.mono_end_ns - o.duration_ns;
    if (s.keys.known(m.node)) o.key = s.keys.at(m.node).key;
    forget_reach(m.node);
    if (s.out.active()) s.out.event(task_ready_record(s, m.node, o.duration_ns));
    plan->ready(to_slot[m.node]);
  }

  void forget_reach(std::uint32_t node) {
    s.p.facts->forget_project(s.p.tasks[node].project->dir, s.p.ws().nested_of(s.p.graph.nodes[node].project));
  }

  void on_server_end(message& m) {
    task_outcome& o = s.outcomes[m.node];
    forget_reach(m.node);
    if (m.before_ready) {
      o = std::move(m.outcome);
      o.status = s.cancel.requested() ? task_status::aborted : task_status::failed;
      o.no_cache = true;
      if (o.exit_code == 0) o.exit_code = 1;
      o.mono_start_ns = o.mono_end_ns = s.since_start_ns();
      s.unkeyed[m.node] = 1;
      record_end(m.node);
      plan->finished(to_slot[m.node], kind_of(o));
      plan->settled(to_slot[m.node]);
      return;
    }
    const bool bad = m.exit_code != 0 && !s.cancel.requested() && !stopping;
    if (s.out.active()) s.out.event(task_exit_record(s, m.node, m.exit_code, !stopping));
    if (!bad) return;
    died = true;
    o.status = task_status::failed;
    o.exit_code = m.exit_code;
    s.p.notices.say(level::warning, s.p.graph.nodes[m.node].id + " ended by itself with exit " + std::to_string(m.exit_code) +
                                        " after it was ready");
    if (!plan->done()) plan->failed_late(to_slot[m.node]);
  }

  bool stopping = false;

  // --- feeding back --------------------------------------------------------------------------------------------------------

  void accept(message m) {
    switch (m.what) {
      case message::kind::ready: return on_ready(m);
      case message::kind::server_ended: return on_server_end(m);
      case message::kind::demoted: return plan->demote(to_slot[m.node]);
      case message::kind::settled: record_end(m.node); return plan->settled(to_slot[m.node]);
      case message::kind::ended: break;
    }
    s.outcomes[m.node] = std::move(m.outcome);
    plan->finished(to_slot[m.node], kind_of(s.outcomes[m.node]));
    if (!m.save) {
      record_end(m.node);
      plan->settled(to_slot[m.node]);
      return;
    }
    auto job = std::make_shared<save_job>(std::move(*m.save));
    save_lane->post([this, job] {
      runner.save(std::move(*job));
      message landed;
      landed.what = message::kind::settled;
      landed.node = job->node;
      tell(std::move(landed));
    });
  }

  void sleep() const {
    pollfd fds[2] = {{wake.fd(), POLLIN, 0}, {cancelled ? -1 : s.cancel.fd(), POLLIN, 0}};
    while (::poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
  }

  void loop() {
    while (!plan->done()) {
      while (const std::optional<graph::action> a = plan->poll()) perform(*a);
      if (plan->done()) break;
      std::deque<message> batch = take();
      if (batch.empty()) {
        sleep();
        batch = take();
      }
      for (message& m : batch) accept(std::move(m));
      if (!cancelled && s.cancel.requested()) {
        cancelled = true;
        plan->cancel();
      }
    }
  }

  /// Keys of tasks that were dropped from the schedule: taken over the tree as it is now, because others fold them.
  void key_dropped() {
    bool any = false;
    for (std::uint32_t i = 0; i < s.p.tasks.size() && !any; ++i) any = !s.p.schedule.scheduled[i];
    if (!any) return;
    std::vector<std::uint32_t> lent;
    for (const std::uint32_t node : s.p.graph.edges.topological_order()) {
      if (s.keys.at(node).is != node_key::state::none) continue;
      (void)s.keys.derive(node);
      if (s.p.schedule.scheduled[node]) lent.push_back(node);
    }
    for (const std::uint32_t node : lent) s.keys.forget(node);
  }
};

coordinator::coordinator(run_state& s) : impl_(std::make_unique<impl>(s)) {}
coordinator::~coordinator() { stop_servers(); }

status coordinator::run() {
  VX_TRY_LET(impl_->wake, wakeup::make());
  impl_->key_dropped();
  impl_->build_scheduler();
  impl_->make_lanes();
  impl_->loop();
  impl_->exec_lane.reset();
  impl_->restore_lane.reset();
  impl_->save_lane.reset();
  // Deaths of servers that nobody was waiting for any more still count.
  for (message& m : impl_->take()) impl_->accept(std::move(m));
  return {};
}

std::vector<std::uint32_t> coordinator::kept() const {
  const run_state& s = impl_->s;
  std::vector<std::uint32_t> out;
  if (!s.p.request.hold || s.cancel.requested()) return out;
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i)
    if (s.p.schedule.scheduled[i] && !passes(s.outcomes[i].status) && s.p.request.mode != graph::continue_mode::always)
      return out;
  std::vector<std::uint32_t> seeds;
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i) {
    const graph::task_node& n = s.p.graph.nodes[i];
    if (s.p.tasks[i].config->persistent && (n.requested || n.surfaced) && passes(s.outcomes[i].status)) seeds.push_back(i);
  }
  const std::vector<bool> needed = s.p.graph.edges.closure(seeds);
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i)
    if (needed[i] && s.p.tasks[i].config->persistent && impl_->servers.count(i) != 0) out.push_back(i);
  return out;
}

bool coordinator::hold() {
  impl& m = *impl_;
  bool failed = false, over = false;
  while (!over && !m.s.cancel.requested()) {
    std::deque<message> batch = m.take();
    if (batch.empty()) {
      m.sleep();
      batch = m.take();
    }
    for (message& msg : batch) {
      if (msg.what != message::kind::server_ended) continue;
      const graph::task_node& n = m.s.p.graph.nodes[msg.node];
      const bool requested = n.requested || n.surfaced;
      if (msg.exit_code != 0) failed = true;
      if (requested || msg.exit_code != 0) over = true;
      m.on_server_end(msg);
    }
  }
  stop_servers();
  return failed;
}

void coordinator::stop_servers() {
  impl_->stopping = true;
  std::map<std::uint32_t, std::unique_ptr<exec::server>> all;
  {
    const std::lock_guard lock(impl_->inbox_mutex);
    all.swap(impl_->servers);
  }
  std::vector<std::thread> stops;  // side by side: each may take its whole grace
  for (auto& [node, server] : all)
    if (server) stops.emplace_back([&process = *server] { process.stop(); });
  for (std::thread& t : stops) t.join();
}

bool coordinator::server_died() const noexcept { return impl_->died; }

}  // namespace vx::run
