#include "graph/task_graph.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "base/json.hpp"
#include "base/text.hpp"
#include "graph/entry.hpp"
#include "graph/folded.hpp"
#include "graph/frontier.hpp"

namespace vx::graph {

using detail::entry_view;
using detail::quoted;
using form = entry::form;

const catalog_task* catalog_project::find(std::string_view task) const noexcept {
  const auto at = std::lower_bound(tasks.begin(), tasks.end(), task,
                                   [](const catalog_task& t, std::string_view wanted) { return t.name < wanted; });
  return at != tasks.end() && at->name == task ? &*at : nullptr;
}

namespace {

constexpr std::uint32_t k_no_node = 0xFFFFFFFFU;

/// A task of the catalog.
struct target {
  std::uint32_t project, task;
  friend bool operator==(const target&, const target&) = default;
};

/// Names a person may have meant; the implicit build is left out.
std::vector<std::string> task_names(const catalog_project& p) {
  std::vector<std::string> out;
  for (const catalog_task& t : p.tasks) {
    if (!t.implicit) out.push_back(t.name);
  }
  return out;
}

std::vector<std::string> all_task_names(const catalog& c) {
  std::vector<std::string> out;
  for (const catalog_project& p : c.projects) {
    for (const catalog_task& t : p.tasks) {
      if (!t.implicit) out.push_back(t.name);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> project_names(const catalog& c) {
  std::vector<std::string> out;
  for (const catalog_project& p : c.projects) out.push_back(p.name);
  return out;
}

class builder {
 public:
  builder(const catalog& c, const build_options& o) : c_(c), o_(o) {
    first_slot_.reserve(c.projects.size() + 1);
    std::uint32_t slot = 0;
    for (const catalog_project& p : c.projects) {
      first_slot_.push_back(slot);
      slot += static_cast<std::uint32_t>(p.tasks.size());
    }
    node_of_.assign(slot, k_no_node);
    rank_projects();
  }

  result<task_graph> run(const std::vector<request>& requests) {
    VX_TRY(request_all(requests));
    for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(nodes_.size()); i < n; ++i) VX_TRY(grow_from(i));
    VX_TRY(check_undeclared());
    task_graph g;
    g.edges = dag::keeping_order(numbered_deps());
    g.nodes = std::move(nodes_);
    g.by_id.reserve(g.nodes.size());
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) g.by_id.emplace(g.nodes[i].id, i);
    VX_TRY(check_cycle(g));
    VX_TRY(detail::select_folded(c_, g));
    mark_surfaced(g);
    return g;
  }

 private:
  /// Ids sort as "<project>#<task>": within a project by task index, across projects by this rank.
  void rank_projects() {
    const auto less = [this](std::uint32_t a, std::uint32_t b) {
      const std::string& x = c_.projects[a].name;
      const std::string& y = c_.projects[b].name;
      const std::size_t n = std::min(x.size(), y.size());
      const int head = x.compare(0, n, y, 0, n);
      if (head != 0) return head < 0;
      if (x.size() == y.size()) return false;
      return x.size() < y.size() ? '#' < static_cast<unsigned char>(y[n]) : static_cast<unsigned char>(x[n]) < '#';
    };
    std::vector<std::uint32_t> by_name(c_.projects.size());
    std::iota(by_name.begin(), by_name.end(), 0U);
    if (!std::is_sorted(by_name.begin(), by_name.end(), less)) std::sort(by_name.begin(), by_name.end(), less);
    rank_.resize(by_name.size());
    for (std::uint32_t i = 0; i < by_name.size(); ++i) rank_[by_name[i]] = i;
  }

  const catalog_task& task(const target& t) const { return c_.projects[t.project].tasks[t.task]; }

  std::uint32_t intern(const target& t) {
    std::uint32_t& node = node_of_[first_slot_[t.project] + t.task];
    if (node == k_no_node) {
      node = static_cast<std::uint32_t>(nodes_.size());
      const std::string& project = c_.projects[t.project].name;
      const std::string& name = task(t).name;
      std::string id;
      id.reserve(project.size() + 1 + name.size());
      id.append(project).append("#").append(name);
      nodes_.push_back({t.project, t.task, std::move(id), false, false});
      deps_.emplace_back();
      expanded_.push_back(false);
    }
    return node;
  }

  status request_all(const std::vector<request>& requests) {
    for (const request& r : requests) {
      const catalog_project& p = c_.projects[r.project];
      const catalog_task* t = p.find(r.task);
      if (t == nullptr) {
        return fail(errc::UNKNOWN_TASK,
                    "no task " + quoted(r.task) + " in project " + quoted(p.name) + text::did_you_mean(r.task, task_names(p)));
      }
      nodes_[intern({r.project, static_cast<std::uint32_t>(t - p.tasks.data())})].requested = true;
    }
    return {};
  }

  /// Depth-first from one node; a node gets its number when the walk first comes to it.
  status grow_from(std::uint32_t start) {
    struct frame {
      std::uint32_t node, next;
    };
    std::vector<frame> stack;
    const auto push = [&](std::uint32_t node) -> status {
      if (expanded_[node]) return {};
      expanded_[node] = true;
      VX_TRY(expand(node));
      stack.push_back({node, 0});
      return {};
    };
    VX_TRY(push(start));
    while (!stack.empty()) {
      frame& top = stack.back();
      if (top.next == deps_[top.node].size()) {
        stack.pop_back();
        continue;
      }
      const target to = deps_[top.node][top.next++];
      VX_TRY(push(intern(to)));
    }
    return {};
  }

  status expand(std::uint32_t node) {
    const target self{nodes_[node].project, nodes_[node].task};
    std::vector<target> out;
    for (const std::string& raw : task(self).depends_on) {
      const auto e = detail::parse_view(raw, entry_place::depends_on);
      if (!e) return detail::refuse(nodes_[node].id, entry_place::depends_on, e.error().message);
      VX_TRY(add_targets(node, self, *e, raw, out));
    }
    std::sort(out.begin(), out.end(), [this](const target& a, const target& b) {
      return a.project == b.project ? a.task < b.task : rank_[a.project] < rank_[b.project];
    });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    deps_[node] = std::move(out);
    return {};
  }

  status add_targets(std::uint32_t node, const target& self, const entry_view& e, const std::string& raw,
                     std::vector<target>& out) {
    const catalog_project& own = c_.projects[self.project];
    if (e.kind == form::same && e.pattern) {
      for (std::uint32_t i = 0; i < own.tasks.size(); ++i) {
        if (i != self.task && text::star_match(e.name, own.tasks[i].name)) out.push_back({self.project, i});
      }
      return {};
    }
    if (e.kind == form::same) return add_named(node, self.project, e.name, raw, out);
    if (e.kind == form::project) {
      VX_TRY_LET(const std::uint32_t project, find_project(node, e, raw));
      return add_named(node, project, e.name, raw, out);
    }
    detail::frontier& f = frontier_of(e);
    const std::vector<std::uint32_t> holders = f.holders(self.project);
    for (const std::uint32_t p : holders) add_held(f, e, p, out);
    if (holders.empty() && !e.pattern && !f.declared_anywhere()) undeclared_.try_emplace(f.name(), undeclared{node, raw});
    return {};
  }

  void add_held(const detail::frontier& f, const entry_view& e, std::uint32_t project, std::vector<target>& out) const {
    if (e.pattern) {
      f.tasks_of(project, [&](std::uint32_t t) { out.push_back({project, t}); });
      return;
    }
    const catalog_project& p = c_.projects[project];
    out.push_back({project, static_cast<std::uint32_t>(p.find(e.name) - p.tasks.data())});
  }

  status add_named(std::uint32_t node, std::uint32_t project, std::string_view name, const std::string& raw,
                   std::vector<target>& out) const {
    const catalog_project& p = c_.projects[project];
    const catalog_task* t = p.find(name);
    if (t == nullptr) {
      return detail::refuse(
          nodes_[node].id, entry_place::depends_on,
          quoted(raw) + " names no task of project " + quoted(p.name) + text::did_you_mean(name, task_names(p)));
    }
    out.push_back({project, static_cast<std::uint32_t>(t - p.tasks.data())});
    return {};
  }

  result<std::uint32_t> find_project(std::uint32_t node, const entry_view& e, const std::string& raw) const {
    if (e.project == "//") {
      if (c_.root) return *c_.root;
      return detail::refuse(nodes_[node].id, entry_place::depends_on,
                            quoted(raw) + " names the root project, and the workspace root is none");
    }
    const auto at = c_.by_name.find(e.project);
    if (at != c_.by_name.end()) return at->second;
    return detail::refuse(
        nodes_[node].id, entry_place::depends_on,
        quoted(raw) + " names no project of the workspace" + text::did_you_mean(e.project, project_names(c_)));
  }

  detail::frontier& frontier_of(const entry_view& e) {
    auto at = frontiers_.find(e.name);
    if (at == frontiers_.end()) {
      at =
          frontiers_.emplace(std::string(e.name), std::make_unique<detail::frontier>(c_, std::string(e.name), e.pattern)).first;
    }
    return *at->second;
  }

  /// Asked last: the answer may need configs that were not loaded, and loading them may move the catalog's tasks.
  status check_undeclared() {
    std::vector<std::pair<std::string, undeclared>> asked(undeclared_.begin(), undeclared_.end());
    std::sort(asked.begin(), asked.end(), [](const auto& a, const auto& b) { return a.second.node < b.second.node; });
    for (const auto& [name, at] : asked) {
      bool somewhere = false;
      if (o_.declared_anywhere) {
        VX_TRY_LET(somewhere, o_.declared_anywhere(name));
      }
      if (somewhere) continue;
      return detail::refuse(nodes_[at.node].id, entry_place::depends_on,
                            quoted(at.raw) + " finds nothing: no project declares " + quoted(name) +
                                text::did_you_mean(name, all_task_names(c_)));
    }
    return {};
  }

  std::vector<std::vector<std::uint32_t>> numbered_deps() const {
    std::vector<std::vector<std::uint32_t>> out(deps_.size());
    for (std::size_t i = 0; i < deps_.size(); ++i) {
      out[i].reserve(deps_[i].size());
      for (const target& t : deps_[i]) out[i].push_back(node_of_[first_slot_[t.project] + t.task]);
    }
    return out;
  }

  static status check_cycle(const task_graph& g) {
    std::vector<std::uint32_t> cycle = g.edges.find_cycle();
    if (cycle.empty()) return {};
    cycle.pop_back();
    const auto least = std::min_element(cycle.begin(), cycle.end(),
                                        [&](std::uint32_t a, std::uint32_t b) { return g.nodes[a].id < g.nodes[b].id; });
    std::rotate(cycle.begin(), least, cycle.end());
    cycle.push_back(cycle.front());
    constexpr std::size_t k_shown = 40;
    std::string path;
    json::array ids;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::string& id = g.nodes[cycle[i]].id;
      ids.emplace_back(id);
      if (cycle.size() > k_shown && i == k_shown / 2) path += " -> ... " + std::to_string(cycle.size() - k_shown) + " more ...";
      if (cycle.size() > k_shown && i >= k_shown / 2 && i < cycle.size() - k_shown / 2) continue;
      if (i != 0) path += " -> ";
      path += text::escape(id, true);
    }
    json::object details;
    details.set("cycle", std::move(ids));
    failure f;
    f.code = errc::CYCLE;
    f.message = "tasks depend on each other in a cycle: " + path + "; remove one of these dependencies";
    f.details = json::write(json::value(std::move(details)));
    return fail(std::move(f));
  }

  /// The real tasks a requested group stands for: through nested groups of the same project, never past a real task.
  void mark_surfaced(task_graph& g) const {
    std::vector<bool> seen(g.nodes.size(), false);
    std::vector<std::uint32_t> stack;
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) {
      if (g.nodes[i].requested && !is_real(g.nodes[i])) stack.push_back(i);
    }
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      for (const std::uint32_t d : g.edges.deps(at)) {
        if (g.nodes[d].project != g.nodes[at].project) continue;
        if (is_real(g.nodes[d]))
          g.nodes[d].surfaced = true;
        else
          stack.push_back(d);
      }
    }
  }
  bool is_real(const task_node& n) const { return c_.projects[n.project].tasks[n.task].has_exec; }

  struct undeclared {
    std::uint32_t node;
    std::string raw;
  };

  const catalog& c_;
  const build_options& o_;
  std::vector<std::uint32_t> first_slot_;  ///< by project: where its tasks begin in node_of_
  std::vector<std::uint32_t> node_of_;
  std::vector<std::uint32_t> rank_;
  std::vector<task_node> nodes_;
  std::vector<std::vector<target>> deps_;
  std::vector<bool> expanded_;
  std::map<std::string, std::unique_ptr<detail::frontier>, std::less<>> frontiers_;
  std::map<std::string, undeclared> undeclared_;
};

}  // namespace

result<task_graph> build_task_graph(const catalog& c, const std::vector<request>& requests, const build_options& options) {
  return builder(c, options).run(requests);
}

}  // namespace vx::graph
