#include "graph/folded.hpp"

#include <algorithm>

#include "graph/entry.hpp"

namespace vx::graph::detail {

namespace {

const catalog_task& task_of(const catalog& c, const task_node& n) { return c.projects[n.project].tasks[n.task]; }

bool reaches_node(const entry_view& e, const catalog& c, const task_node& own, const task_node& n) {
  return reaches(e, c, own.project, n.project, task_of(c, n).name);
}

/// A member, below the groups `node` depends on, that the entry would match; nullptr when there is none.
struct hidden_member {
  const task_node* group = nullptr;
  const task_node* member = nullptr;
};
hidden_member find_hidden(const catalog& c, const task_graph& g, std::uint32_t node, const entry_view& e) {
  std::vector<bool> seen(g.nodes.size(), false);
  for (const std::uint32_t group : g.edges.deps(node)) {
    if (task_of(c, g.nodes[group]).has_exec) continue;
    std::vector<std::uint32_t> stack{group};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      for (const std::uint32_t m : g.edges.deps(at)) {
        if (reaches_node(e, c, g.nodes[node], g.nodes[m])) return {&g.nodes[group], &g.nodes[m]};
        if (!task_of(c, g.nodes[m]).has_exec) stack.push_back(m);
      }
    }
  }
  return {};
}

status select_for(const catalog& c, const task_graph& g, std::uint32_t node, const std::vector<std::string>& filter,
                  std::vector<std::uint32_t>& out) {
  const task_node& own = g.nodes[node];
  const auto deps = g.edges.deps(node);
  std::vector<bool> in(deps.size(), false);
  for (const std::string& raw : filter) {
    const auto e = parse_view(raw, entry_place::inputs_tasks);
    if (!e) return refuse(own.id, entry_place::inputs_tasks, e.error().message);
    bool matched = false;
    for (std::size_t i = 0; i < deps.size(); ++i) {
      if (!reaches_node(*e, c, own, g.nodes[deps[i]])) continue;
      matched = true;
      in[i] = !e->negated;
    }
    const bool blanket = e->kind == entry::form::all_same || e->kind == entry::form::all_frontier;
    if (matched || e->negated || blanket) continue;
    if (!e->pattern) {
      // `^build` of a package without dependencies folds nothing by right; a project named and not depended on is a mistake.
      if (e->kind != entry::form::project) continue;
      return refuse(own.id, entry_place::inputs_tasks,
                    quoted(raw) + " is no dependency of the task, so it would fold nothing: depend on it, or remove the entry");
    }
    const hidden_member hidden = find_hidden(c, g, node, *e);
    if (hidden.member == nullptr) continue;
    return refuse(own.id, entry_place::inputs_tasks,
                  quoted(raw) + " matches no dependency of the task, only " + hidden.member->id + " inside the group " +
                      hidden.group->id + ": name the group, or depend on the member");
  }
  for (std::size_t i = 0; i < deps.size(); ++i) {
    if (in[i]) out.push_back(deps[i]);
  }
  return {};
}

}  // namespace

status select_folded(const catalog& c, task_graph& g) {
  g.folded.resize(g.nodes.size());
  for (std::uint32_t i = 0; i < g.nodes.size(); ++i) {
    const catalog_task& t = task_of(c, g.nodes[i]);
    if (t.inputs_tasks) {
      VX_TRY(select_for(c, g, i, *t.inputs_tasks, g.folded[i]));
    } else {
      const auto deps = g.edges.deps(i);
      g.folded[i].assign(deps.begin(), deps.end());
    }
    std::sort(g.folded[i].begin(), g.folded[i].end());
  }
  return {};
}

}  // namespace vx::graph::detail
