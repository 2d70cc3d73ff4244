#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "graph/dag.hpp"
#include "graph/scheduler.hpp"
#include "internal.hpp"

using vx::errc;
using vx::fail;
using vx::capi::guard;
using vx::graph::action;
using vx::graph::continue_mode;
using vx::graph::end_kind;

namespace vx::capi {

struct frozen_graph {
  graph::dag edges;
  std::vector<std::uint64_t> weights;
  std::vector<std::uint32_t> flags;
};

}  // namespace vx::capi

struct vx_graph {
  std::vector<std::vector<std::uint32_t>> deps;  ///< until it is frozen
  std::vector<std::uint64_t> weights;
  std::vector<std::uint32_t> flags;
  std::shared_ptr<const vx::capi::frozen_graph> frozen;
};

struct vx_schedule {
  std::shared_ptr<const vx::capi::frozen_graph> graph;
  vx_schedule_options options;
  std::vector<std::optional<std::int64_t>> priorities;
  std::vector<bool> restorable, running, restoring;
  std::optional<vx::graph::scheduler> machine;  ///< made at the first question
};

static_assert(offsetof(vx_schedule_options, workers) == 8 && sizeof(vx_schedule_options) == 20);
static_assert(VX_CONTINUE_DEPS_OK == static_cast<int>(continue_mode::deps_ok) &&
              VX_CONTINUE_NEVER == static_cast<int>(continue_mode::never) &&
              VX_CONTINUE_ALWAYS == static_cast<int>(continue_mode::always));
static_assert(VX_OUTCOME_SUCCESS == static_cast<int>(end_kind::success) && VX_OUTCOME_HIT == static_cast<int>(end_kind::hit) &&
              VX_OUTCOME_FAILED == static_cast<int>(end_kind::failed) &&
              VX_OUTCOME_ABORTED == static_cast<int>(end_kind::aborted));

namespace {

std::string cycle_text(const std::vector<std::uint32_t>& cycle, const char* between) {
  std::string out;
  for (const std::uint32_t n : cycle) out += (out.empty() ? "" : between) + std::to_string(n);
  return out;
}

vx::status freeze(vx_graph& g) {
  if (g.frozen) return fail(errc::INVALID, "the graph is frozen already");
  auto frozen = std::make_shared<vx::capi::frozen_graph>(vx::capi::frozen_graph{vx::graph::dag(g.deps), g.weights, g.flags});
  if (const std::vector<std::uint32_t> cycle = frozen->edges.find_cycle(); !cycle.empty()) {
    vx::failure f;
    f.code = errc::CYCLE;
    f.message = "the nodes depend on each other: " + cycle_text(cycle, " -> ");
    f.details = "{\"cycle\":[" + cycle_text(cycle, ",") + "]}";
    return fail(std::move(f));
  }
  g.frozen = std::move(frozen);
  g.deps = {};
  return {};
}

/// The frozen graph behind a question whose answer goes to an array of `count` elements.
vx::result<const vx::capi::frozen_graph*> asked(const vx_graph* g, const void* to, std::size_t count) {
  if (g == nullptr) return fail(errc::INVALID, "graph is NULL");
  if (!g->frozen) return fail(errc::INVALID, "the graph is not frozen");
  if ((to == nullptr || count < g->frozen->edges.size()) && g->frozen->edges.size() > 0)
    return fail(errc::INVALID, to == nullptr ? "the array is NULL" : "the array is too small for the graph");
  return g->frozen.get();
}

vx::status before_start(const vx_schedule* s, std::uint32_t node) {
  if (s == nullptr) return fail(errc::INVALID, "schedule is NULL");
  if (s->machine) return fail(errc::INVALID, "the schedule has started");
  if (node >= s->graph->edges.size()) return fail(errc::INVALID, "there is no node " + std::to_string(node));
  return {};
}

void start(vx_schedule& s) {
  const vx::capi::frozen_graph& g = *s.graph;
  const std::vector<bool> never(g.edges.size(), false);
  const std::vector<std::uint64_t> waiting = g.edges.remaining_weight(g.weights, never);
  const std::vector<std::uint32_t> dependents = g.edges.dependents_count();
  std::vector<vx::graph::schedule_node> nodes(g.edges.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    nodes[i].deps = g.edges.deps(i);
    nodes[i].group = (g.flags[i] & VX_NODE_GROUP) != 0;
    nodes[i].exclusive = (g.flags[i] & VX_NODE_EXCLUSIVE) != 0;
    nodes[i].restore_tier = s.restorable[i] && !nodes[i].group;
    nodes[i].rank = {s.priorities[i].has_value(), s.priorities[i].value_or(0), waiting[i], dependents[i]};
  }
  const std::uint32_t workers = std::max(1u, s.options.workers);
  const std::uint32_t restores = s.options.restore_workers != 0 ? s.options.restore_workers : 2 * workers;
  s.machine.emplace(std::move(nodes), workers, restores, static_cast<continue_mode>(s.options.continue_mode));
}

std::int32_t next(vx_schedule& s, std::uint32_t* node, std::uint32_t* blocker) {
  if (!s.machine) start(s);
  const std::optional<action> a = s.machine->poll();
  if (!a) return s.machine->done() ? VX_NEXT_DONE : VX_NEXT_IDLE;
  if (node != nullptr) *node = a->node;
  if (blocker != nullptr && a->blocker) *blocker = *a->blocker;
  switch (a->what) {
    case action::kind::start: s.running[a->node] = true; return VX_NEXT_RUN;
    case action::kind::restore: s.running[a->node] = s.restoring[a->node] = true; return VX_NEXT_RESTORE;
    case action::kind::complete: return VX_NEXT_COMPLETE;
    case action::kind::skip: return VX_NEXT_SKIP;
    case action::kind::abort: break;
  }
  return VX_NEXT_ABORT;
}

vx::status finish(vx_schedule& s, std::uint32_t node, std::int32_t outcome) {
  if (node >= s.running.size() || !s.running[node])
    return fail(errc::INVALID, "node " + std::to_string(node) + " is not running");
  const bool known = outcome == VX_OUTCOME_SUCCESS || outcome == VX_OUTCOME_HIT || outcome == VX_OUTCOME_FAILED ||
                     outcome == VX_OUTCOME_ABORTED;
  if (!known && (outcome != VX_OUTCOME_VANISHED || !s.restoring[node])) {
    return fail(errc::INVALID, outcome == VX_OUTCOME_VANISHED ? "only a restore can vanish"
                                                              : "there is no outcome " + std::to_string(outcome));
  }
  s.running[node] = s.restoring[node] = false;
  if (!known) {
    s.machine->demote(node);
    return {};
  }
  s.machine->finished(node, static_cast<end_kind>(outcome));
  s.machine->settled(node);
  return {};
}

}  // namespace

extern "C" {

vx_status vx_graph_new(vx_graph** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (out == nullptr) return fail(errc::INVALID, "out is NULL");
    *out = new vx_graph();
    return {};
  });
}

void vx_graph_free(vx_graph* graph) { delete graph; }

vx_status vx_graph_add_node(vx_graph* graph, uint64_t weight, uint32_t flags, uint32_t* id, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (graph == nullptr || graph->frozen)
      return fail(errc::INVALID, graph == nullptr ? "graph is NULL" : "the graph is frozen");
    if ((flags & ~(VX_NODE_GROUP | VX_NODE_EXCLUSIVE)) != 0)
      return fail(errc::UNSUPPORTED, "flags has a bit this library does not know");
    if (graph->deps.size() >= std::numeric_limits<std::uint32_t>::max()) return fail(errc::INVALID, "the graph is full");
    const auto n = static_cast<std::uint32_t>(graph->deps.size());
    graph->weights.push_back(weight);
    graph->flags.push_back(flags);
    graph->deps.emplace_back();
    if (id != nullptr) *id = n;
    return {};
  });
}

vx_status vx_graph_add_edge(vx_graph* graph, uint32_t from, uint32_t to, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (graph == nullptr || graph->frozen)
      return fail(errc::INVALID, graph == nullptr ? "graph is NULL" : "the graph is frozen");
    if (std::max(from, to) >= graph->deps.size())
      return fail(errc::INVALID, "there is no node " + std::to_string(std::max(from, to)));
    graph->deps[from].push_back(to);
    return {};
  });
}

vx_status vx_graph_freeze(vx_graph* graph, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (graph == nullptr) return fail(errc::INVALID, "graph is NULL");
    return freeze(*graph);
  });
}

uint32_t vx_graph_size(const vx_graph* graph) { return graph == nullptr ? 0 : static_cast<uint32_t>(graph->flags.size()); }

vx_status vx_graph_order(const vx_graph* graph, uint32_t* order, size_t count, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    VX_TRY_LET(const vx::capi::frozen_graph* const g, asked(graph, order, count));
    const std::vector<std::uint32_t> nodes = g->edges.topological_order();
    std::copy(nodes.begin(), nodes.end(), order);
    return {};
  });
}

vx_status vx_graph_dependents_count(const vx_graph* graph, uint32_t* counts, size_t count, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    VX_TRY_LET(const vx::capi::frozen_graph* const g, asked(graph, counts, count));
    const std::vector<std::uint32_t> all = g->edges.dependents_count();
    std::copy(all.begin(), all.end(), counts);
    return {};
  });
}

vx_status vx_graph_closure(const vx_graph* graph, const uint32_t* seeds, size_t seed_count, uint8_t* bits, size_t bytes,
                           vx_error** err) {
  return guard(err, [&]() -> vx::status {
    VX_TRY_LET(const vx::capi::frozen_graph* const g, asked(graph, bits, bytes <= SIZE_MAX / 8 ? bytes * 8 : SIZE_MAX));
    if (seeds == nullptr && seed_count > 0) return fail(errc::INVALID, "seeds is NULL");
    for (std::size_t i = 0; i < seed_count; ++i)
      if (seeds[i] >= g->edges.size()) return fail(errc::INVALID, "there is no node " + std::to_string(seeds[i]));
    const std::vector<bool> inside = g->edges.closure({seeds, seed_count});
    std::fill_n(bits, bits == nullptr ? 0 : bytes, std::uint8_t{0});
    for (std::size_t n = 0; n < inside.size(); ++n)
      if (inside[n]) bits[n / 8] = static_cast<std::uint8_t>(bits[n / 8] | 1u << n % 8);
    return {};
  });
}

vx_status vx_graph_critical_path(const vx_graph* graph, uint32_t* nodes, size_t count, size_t* length, vx_error** err) {
  if (length != nullptr) *length = 0;
  return guard(err, [&]() -> vx::status {
    VX_TRY_LET(const vx::capi::frozen_graph* const g, asked(graph, nodes, count));
    if (length == nullptr) return fail(errc::INVALID, "length is NULL");
    const std::vector<std::uint32_t> path = g->edges.critical_path(g->weights);
    std::copy(path.begin(), path.end(), nodes);
    *length = path.size();
    return {};
  });
}

vx_status vx_schedule_new(const vx_graph* graph, const vx_schedule_options* options, vx_schedule** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (graph == nullptr || out == nullptr) return fail(errc::INVALID, graph == nullptr ? "graph is NULL" : "out is NULL");
    if (!graph->frozen) return fail(errc::INVALID, "the graph is not frozen");
    VX_TRY_LET(const vx_schedule_options o, vx::capi::read_options(options, "vx_schedule_options"));
    VX_TRY(vx::capi::no_flags(o.flags, "vx_schedule_options"));
    if (o.continue_mode < VX_CONTINUE_DEPS_OK || o.continue_mode > VX_CONTINUE_ALWAYS)
      return fail(errc::INVALID, "there is no continue mode " + std::to_string(o.continue_mode));
    if (o.workers > 1u << 20 || o.restore_workers > 1u << 20)
      return fail(errc::INVALID, "vx_schedule_options has more than 1,048,576 workers");
    auto s = std::make_unique<vx_schedule>();
    const std::size_t n = graph->frozen->edges.size();
    s->graph = graph->frozen;
    s->options = o;
    s->priorities.resize(n);
    s->restorable.resize(n);
    s->running.resize(n);
    s->restoring.resize(n);
    *out = s.release();
    return {};
  });
}

void vx_schedule_free(vx_schedule* schedule) { delete schedule; }

vx_status vx_schedule_set_priority(vx_schedule* schedule, uint32_t node, int64_t priority, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    VX_TRY(before_start(schedule, node));
    schedule->priorities[node] = priority;
    return {};
  });
}

vx_status vx_schedule_mark_restorable(vx_schedule* schedule, uint32_t node, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    VX_TRY(before_start(schedule, node));
    schedule->restorable[node] = true;
    return {};
  });
}

int32_t vx_schedule_next(vx_schedule* schedule, uint32_t* node, uint32_t* blocker) {
  if (node != nullptr) *node = UINT32_MAX;
  if (blocker != nullptr) *blocker = UINT32_MAX;
  int32_t what = VX_NEXT_DONE;
  if (schedule == nullptr) return what;
  // Without memory nothing can be started: idle, and asking again is fine.
  const vx_status s = guard(nullptr, [&]() -> vx::status {
    what = next(*schedule, node, blocker);
    return {};
  });
  return s == VX_OK ? what : VX_NEXT_IDLE;
}

int32_t vx_schedule_tainted(const vx_schedule* schedule, uint32_t node) {
  return schedule != nullptr && schedule->machine && node < schedule->running.size() && schedule->machine->tainted(node) ? 1
                                                                                                                         : 0;
}

vx_status vx_schedule_finish(vx_schedule* schedule, uint32_t node, int32_t outcome, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (schedule == nullptr) return fail(errc::INVALID, "schedule is NULL");
    return finish(*schedule, node, outcome);
  });
}

void vx_schedule_stop(vx_schedule* schedule) {
  if (schedule == nullptr) return;
  (void)guard(nullptr, [&]() -> vx::status {
    if (!schedule->machine) start(*schedule);
    schedule->machine->cancel();
    return {};
  });
}

}  // extern "C"
