// --exclude-dependencies: what runs and in which order, over a graph whose keys stay as they are.
#include <algorithm>

#include "base/text.hpp"
#include "graph/entry.hpp"
#include "graph/task_graph.hpp"

namespace vx::graph {

namespace {

const catalog_task& task_of(const catalog& c, const task_node& n) { return c.projects[n.project].tasks[n.task]; }

class exclusion {
 public:
  exclusion(const catalog& c, const task_graph& g, const exclude_option& o) : c_(c), g_(g), o_(o) {}

  schedule_view run() {
    schedule_view v;
    schedule(v.scheduled);
    const std::vector<std::uint32_t>& order = g_.edges.topological_order();
    bridge(order, v);
    mark_folds(order, v);
    return v;
  }

 private:
  bool dropped(std::uint32_t from, std::uint32_t to) const {
    if (o_.all) return task_of(c_, g_.nodes[from]).has_exec;
    const std::string& name = task_of(c_, g_.nodes[to]).name;
    return std::find(o_.names.begin(), o_.names.end(), name) != o_.names.end();
  }

  void schedule(std::vector<bool>& in) const {
    in.assign(g_.nodes.size(), false);
    std::vector<std::uint32_t> stack;
    const auto add = [&](std::uint32_t n) {
      if (in[n]) return;
      in[n] = true;
      stack.push_back(n);
    };
    for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
      if (g_.nodes[i].requested) add(i);
    }
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      for (const std::uint32_t d : g_.edges.deps(at)) {
        if (!dropped(at, d)) add(d);
      }
    }
  }

  /// An unscheduled node hands on the scheduled ones below it, so that order survives without the nodes in between.
  void bridge(const std::vector<std::uint32_t>& order, schedule_view& v) const {
    v.order.resize(g_.nodes.size());
    std::vector<std::uint32_t> stamp(g_.nodes.size(), 0);
    std::uint32_t epoch = 0;
    for (const std::uint32_t node : order) {
      ++epoch;
      std::vector<std::uint32_t>& out = v.order[node];
      const auto add = [&](std::uint32_t n) {
        if (stamp[n] == epoch) return;
        stamp[n] = epoch;
        out.push_back(n);
      };
      for (const std::uint32_t d : g_.edges.deps(node)) {
        if (v.scheduled[d])
          add(d);
        else
          std::for_each(v.order[d].begin(), v.order[d].end(), add);
      }
    }
    for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
      if (!v.scheduled[i]) v.order[i] = {};
    }
  }

  void mark_folds(const std::vector<std::uint32_t>& order, schedule_view& v) const {
    v.folds_dropped.assign(g_.nodes.size(), false);
    for (const std::uint32_t node : order) {
      const auto& folded = g_.folded[node];
      v.folds_dropped[node] =
          std::any_of(folded.begin(), folded.end(), [&](std::uint32_t d) { return !v.scheduled[d] || v.folds_dropped[d]; });
    }
  }

  const catalog& c_;
  const task_graph& g_;
  const exclude_option& o_;
};

}  // namespace

status check_exclusions(const catalog& c, const exclude_option& option) {
  for (const std::string& name : option.names) {
    if (name.empty())
      return fail(errc::USAGE,
                  "--exclude-dependencies= lacks a task name: write one, or drop the \"=\" to exclude every dependency");
    const bool declared =
        std::any_of(c.projects.begin(), c.projects.end(), [&](const catalog_project& p) { return p.find(name) != nullptr; });
    if (declared) continue;
    std::vector<std::string> known;
    for (const catalog_project& p : c.projects) {
      for (const catalog_task& t : p.tasks) {
        if (!t.implicit) known.push_back(t.name);
      }
    }
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return fail(errc::UNKNOWN_TASK,
                "--exclude-dependencies: no project declares " + detail::quoted(name) + text::did_you_mean(name, known));
  }
  return {};
}

schedule_view apply_exclusions(const catalog& c, const task_graph& g, const exclude_option& option) {
  return exclusion(c, g, option).run();
}

}  // namespace vx::graph
