#include "graph/scheduler.hpp"

#include <algorithm>
#include <queue>

namespace vx::graph {

namespace {

constexpr std::uint32_t k_none = 0xFFFFFFFFU;

/// The one authoritative state of a node; heaps and counters are views of it.
enum class phase : std::uint8_t {
  waiting,   ///< dependencies have not settled
  ready,     ///< in a heap or in the queue of groups
  running,   ///< holds a slot of its lane
  finished,  ///< outcome known, slot free, save under way
  settled    ///< dependants have been released
};

enum class lane : std::uint8_t { exec, restore };

struct node_state {
  graph::phase at = phase::waiting;
  graph::lane on = lane::exec;
  bool ended = false;  ///< `how` holds
  bool bad = false;    ///< dependants must not take it for a success
  bool tainted = false;
  bool live = false;  ///< a server that was ready and has not been reported ended
  end_kind how = end_kind::success;
  std::uint32_t pending = 0;
  std::uint32_t root = k_none;  ///< bad: the failure at the end of the chain
};

struct ready_entry {
  priority rank;
  std::uint64_t sequence;
  std::uint32_t node;
};

/// Greatest rank on top, then the earliest enqueued.
struct later {
  bool operator()(const ready_entry& a, const ready_entry& b) const noexcept {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.sequence > b.sequence;
  }
};

using ready_heap = std::priority_queue<ready_entry, std::vector<ready_entry>, later>;

bool is_failure(end_kind how) noexcept { return how == end_kind::failed || how == end_kind::aborted; }

}  // namespace

struct scheduler::impl {
  std::vector<schedule_node> nodes;
  std::vector<node_state> state;
  std::vector<std::uint32_t> rev_start, rev;
  ready_heap exec, restore, exclusive;
  std::vector<std::uint32_t> groups;  ///< ready groups, first in first out
  std::size_t next_group = 0;
  std::uint64_t sequence = 0;
  unsigned concurrency, restore_workers;
  continue_mode mode;
  unsigned active_exec = 0, active_restore = 0;
  std::size_t settled_nodes = 0;
  std::uint32_t alone = k_none;  ///< the exclusive node that runs
  bool tripped = false;          ///< `never`, after the first failure
  bool cancelled = false;
  std::uint32_t sweep = 0;  ///< how far the abort of unstarted nodes has come

  impl(std::vector<schedule_node> n, unsigned slots, unsigned restore_slots, continue_mode m)
      : nodes(std::move(n)),
        state(nodes.size()),
        concurrency(std::max(slots, 1U)),
        restore_workers(std::max(restore_slots, 1U)),
        mode(m) {
    link();
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      node_state& s = state[i];
      s.pending = static_cast<std::uint32_t>(nodes[i].deps.size());
      if (nodes[i].restore_tier) s.on = lane::restore;
      if (s.on == lane::restore || s.pending == 0) enqueue(i);
    }
  }

  void link() {
    rev_start.assign(nodes.size() + 1, 0);
    for (const schedule_node& n : nodes) {
      for (const std::uint32_t d : n.deps) ++rev_start[d + 1];
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) rev_start[i + 1] += rev_start[i];
    rev.resize(rev_start.back());
    std::vector<std::uint32_t> at(rev_start.begin(), rev_start.end() - 1);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      for (const std::uint32_t d : nodes[i].deps) rev[at[d]++] = i;
    }
  }
  std::span<const std::uint32_t> dependents(std::uint32_t node) const {
    return std::span(rev).subspan(rev_start[node], rev_start[node + 1] - rev_start[node]);
  }

  void enqueue(std::uint32_t i) {
    state[i].at = phase::ready;
    const ready_entry e{nodes[i].rank, sequence++, i};
    if (state[i].on == lane::restore)
      restore.push(e);
    else if (nodes[i].group)
      groups.push_back(i);
    else if (nodes[i].exclusive)
      exclusive.push(e);
    else
      exec.push(e);
  }

  /// Dependants lose one thing to wait for. Restore-tier nodes were enqueued at the start, whatever they depend on.
  void release(std::uint32_t node) {
    for (const std::uint32_t d : dependents(node)) {
      if (--state[d].pending == 0 && state[d].at == phase::waiting) enqueue(d);
    }
  }

  void settle(std::uint32_t node) {
    state[node].at = phase::settled;
    ++settled_nodes;
    release(node);
  }

  void end(std::uint32_t node, end_kind how) {
    state[node].ended = true;
    state[node].how = how;
    if (how == end_kind::hit) state[node].tainted = false;  // its bytes come from the store, not from what ran before it
    if (!is_failure(how)) return;
    state[node].bad = true;
    state[node].root = node;
    if (mode == continue_mode::never) tripped = true;
  }

  /// What stands in a node's way: nothing, or a bad dependency and the failure behind it. The first dependency in the
  /// node's own order decides, so that completion order does not.
  struct obstacle {
    bool any = false;
    std::uint32_t root = k_none;
  };
  obstacle obstacle_of(std::uint32_t node) const {
    obstacle o;
    for (const std::uint32_t d : nodes[node].deps) {
      if (!state[d].bad) continue;
      o.any = true;
      if (state[d].root != k_none) {
        o.root = state[d].root;
        break;
      }
    }
    return o;
  }

  bool behind_taint(std::uint32_t node) const {
    return std::any_of(nodes[node].deps.begin(), nodes[node].deps.end(),
                       [this](std::uint32_t d) { return state[d].bad || state[d].tainted; });
  }

  static std::optional<std::uint32_t> as_blocker(std::uint32_t root) {
    return root == k_none ? std::nullopt : std::optional<std::uint32_t>(root);
  }

  action skip(std::uint32_t node, std::uint32_t root) {
    node_state& s = state[node];
    s.ended = s.bad = true;
    s.how = end_kind::skipped;
    s.root = root;
    settle(node);
    return {action::kind::skip, node, as_blocker(root), false};
  }

  /// The verdict at dispatch: a skip, or nothing when the node may go.
  std::optional<action> skip_at_dispatch(std::uint32_t node) {
    const bool gated = state[node].on == lane::exec && mode != continue_mode::always;
    if (!tripped && !gated) return std::nullopt;
    const obstacle o = obstacle_of(node);
    if (!tripped && !o.any) return std::nullopt;
    return skip(node, o.root);
  }

  action begin(std::uint32_t node) {
    node_state& s = state[node];
    s.at = phase::running;
    if (s.on == lane::restore) {
      ++active_restore;
      return {action::kind::restore, node, std::nullopt, false};
    }
    ++active_exec;
    if (nodes[node].exclusive) alone = node;
    s.tainted = mode == continue_mode::always && behind_taint(node);
    return {action::kind::start, node, std::nullopt, s.tainted};
  }

  void free_slot(std::uint32_t node) {
    --(state[node].on == lane::restore ? active_restore : active_exec);
    if (alone == node) alone = k_none;
  }

  unsigned active() const { return active_exec + active_restore; }
  bool exec_has_room() const { return concurrency == 1 ? active() == 0 : active_exec < concurrency; }
  bool restore_has_room() const { return concurrency == 1 ? active() == 0 : active_restore < restore_workers; }

  std::optional<action> poll() {
    if (cancelled) return poll_abort();
    if (next_group < groups.size()) return poll_group();
    // Once tripped nothing starts: skips need no slot, so they do not wait for one.
    if (alone != k_none && !tripped) return std::nullopt;
    if (tripped || exec_has_room()) {
      if (ready_heap* const from = pick_exec()) return dispatch(*from);
    }
    if (!restore.empty() && (tripped || restore_has_room())) return dispatch(restore);
    return std::nullopt;
  }

  /// An exclusive node starts only on an idle machine; until then others pass it.
  ready_heap* pick_exec() {
    const bool may_be_alone = !exclusive.empty() && (tripped || active() == 0);
    if (exec.empty()) return may_be_alone ? &exclusive : nullptr;
    return may_be_alone && later{}(exec.top(), exclusive.top()) ? &exclusive : &exec;
  }

  action dispatch(ready_heap& from) {
    const std::uint32_t node = from.top().node;
    from.pop();
    if (const auto skipped = skip_at_dispatch(node)) return *skipped;
    return begin(node);
  }

  action poll_group() {
    const std::uint32_t node = groups[next_group++];
    if (const auto skipped = skip_at_dispatch(node)) return *skipped;
    state[node].tainted = mode == continue_mode::always && behind_taint(node);
    end(node, end_kind::success);
    settle(node);
    return {action::kind::complete, node, std::nullopt, state[node].tainted};
  }

  std::optional<action> poll_abort() {
    for (; sweep < nodes.size(); ++sweep) {
      node_state& s = state[sweep];
      if (s.at != phase::waiting && s.at != phase::ready) continue;
      s.ended = s.bad = true;
      s.how = end_kind::aborted;
      s.at = phase::settled;
      ++settled_nodes;
      return action{action::kind::abort, sweep++, std::nullopt, false};
    }
    return std::nullopt;
  }

  void failed_late(std::uint32_t node) {
    if (state[node].bad) return;
    end(node, end_kind::failed);
    // Groups that completed on top of it stand for it no longer.
    std::vector<std::uint32_t> stack{node};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      for (const std::uint32_t d : dependents(at)) {
        if (!nodes[d].group || state[d].at != phase::settled || state[d].bad) continue;
        state[d].bad = true;
        state[d].root = node;
        stack.push_back(d);
      }
    }
  }

  void finished(std::uint32_t node, end_kind how) {
    node_state& s = state[node];
    if (s.live) {  // a server that was ready: its slot and its dependants went then
      s.live = false;
      if (how == end_kind::failed)
        failed_late(node);
      else
        s.how = how;
      return;
    }
    if (s.at != phase::running) return;
    free_slot(node);
    s.at = phase::finished;
    end(node, how);
  }

  void ready(std::uint32_t node) {
    if (state[node].at != phase::running) return;
    free_slot(node);
    state[node].live = true;
    end(node, end_kind::success);
    settle(node);
  }

  void demote(std::uint32_t node) {
    node_state& s = state[node];
    if (s.at != phase::running || s.on != lane::restore) return;
    free_slot(node);
    s.on = lane::exec;
    s.at = phase::waiting;
    sweep = std::min(sweep, node);  // a cancel may have passed it by while it ran
    if (s.pending == 0) enqueue(node);
  }
};

scheduler::scheduler(std::vector<schedule_node> nodes, unsigned concurrency, unsigned restore_workers, continue_mode mode)
    : impl_(std::make_unique<impl>(std::move(nodes), concurrency, restore_workers, mode)) {}

scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;

std::optional<action> scheduler::poll() { return impl_->poll(); }

bool scheduler::done() const noexcept { return impl_->settled_nodes == impl_->nodes.size() && impl_->active() == 0; }

std::size_t scheduler::active() const noexcept { return impl_->active(); }

void scheduler::finished(std::uint32_t node, end_kind how) { impl_->finished(node, how); }

void scheduler::settled(std::uint32_t node) {
  if (impl_->state[node].at == phase::finished) impl_->settle(node);
}

void scheduler::ready(std::uint32_t node) { impl_->ready(node); }

void scheduler::failed_late(std::uint32_t node) {
  if (impl_->state[node].live) impl_->failed_late(node);
}

void scheduler::demote(std::uint32_t node) { impl_->demote(node); }

void scheduler::cancel() { impl_->cancelled = true; }

bool scheduler::tainted(std::uint32_t node) const noexcept { return impl_->state[node].tainted; }

std::optional<end_kind> scheduler::outcome(std::uint32_t node) const noexcept {
  const node_state& s = impl_->state[node];
  return s.ended ? std::optional(s.how) : std::nullopt;
}

}  // namespace vx::graph
