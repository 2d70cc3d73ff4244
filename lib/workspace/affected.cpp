#include "workspace/affected.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/path.hpp"
#include "base/text.hpp"
#include "glob/glob.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;

/// Compiled lists by their text: presets repeat them over a thousand projects.
class glob_pool {
 public:
  result<const glob::matcher*> of(const std::vector<std::string>& entries) {
    std::string key;
    for (const std::string& e : entries) key.append(e).push_back('\0');
    const auto [it, fresh] = pool_.try_emplace(std::move(key));
    if (fresh) {
      VX_TRY_LET(it->second, glob::matcher::compile(entries));
    }
    return &it->second;
  }

 private:
  std::unordered_map<std::string, glob::matcher> pool_;
};

class seeds {
 public:
  seeds(loader& l, const change_set& changes)
      : ws_(l.ws()), changes_(changes), whole_(changes.whole), own_(ws_.projects.size()) {}

  status prepare() {
    for (const std::string& p : changes_.paths) {
      if (const auto owner = owner_of_change(ws_, p)) own_[*owner].push_back(within(*owner, p));
    }
    for (id i = 0; i < ws_.projects.size(); ++i) {
      if (!own_[i].empty() && !whole_[i]) {
        VX_TRY_LET(const bool reached, reached_whole(i));
        whole_[i] = reached;
      }
    }
    return {};
  }

  /// Whether a change reaches this task by itself.
  result<bool> is_seed(const graph::task_node& node, const graph::catalog& c) {
    if (changes_.everything) return true;
    const task_config* t = ws_.find_task(node.project, c.projects[node.project].tasks[node.task].name);
    if (t == nullptr) return true;
    if (passes_changed(node.project, *t)) return true;
    if (t->is_group() && !t->keyed_group()) return false;
    if (whole_[node.project]) return true;
    if (!t->has_cache) return !own_[node.project].empty();
    return declares_change(node.project, *t);
  }

 private:
  /// The path as the project sees it; a path behind a link is given by its real directory.
  std::string within(id project, const std::string& p) const {
    const vx::workspace::project& owner = ws_.projects[project];
    if (path::is_within(p, owner.dir)) return std::string(path::relative_to(p, owner.dir));
    return std::string(path::relative_to(path::join(ws_.root, p), owner.real_dir));
  }

  result<bool> declares_change(id project, const task_config& t) {
    if (!own_[project].empty()) {
      VX_TRY_LET(const glob::matcher* files, globs_.of(t.input_files));
      for (const std::string& p : own_[project]) {
        if (files->match(p)) return true;
      }
    }
    if (t.input_workspace_files.empty()) return false;
    VX_TRY_LET(const glob::matcher* files, globs_.of(t.input_workspace_files));
    return std::any_of(changes_.paths.begin(), changes_.paths.end(), [&](const std::string& p) { return files->match(p); });
  }

  result<bool> reached_whole(id index) {
    const project& p = ws_.projects[index];
    const std::string_view config = path::base_name(p.config_path);
    std::vector<const glob::matcher*> declared;
    if (p.config != nullptr) {
      for (const task_config& t : p.config->tasks) {
        if (!t.has_cache) continue;
        VX_TRY_LET(const glob::matcher* files, globs_.of(t.input_files));
        declared.push_back(files);
      }
    }
    for (const std::string& file : own_[index]) {
      if (file == "package.json" || (!config.empty() && file == config)) return true;
      const bool known = std::any_of(declared.begin(), declared.end(), [&](const glob::matcher* m) { return m->match(file); });
      if (!known) return true;
    }
    return false;
  }

  bool holds(id project, std::string_view name, bool pattern) const {
    if (!pattern) return ws_.find_task(project, name) != nullptr;
    const auto& config = ws_.projects[project].config;
    if (text::star_match(name, "build")) return true;  // declared or implicit
    return config != nullptr && std::any_of(config->tasks.begin(), config->tasks.end(),
                                            [&](const task_config& t) { return text::star_match(name, t.name); });
  }

  /// A `^name` that walks through a package without the task: any change in that package counts.
  bool passes_changed(id project, const task_config& t) {
    for (const std::string& entry : t.depends_on) {
      if (!entry.starts_with('^')) continue;
      const std::string_view name = std::string_view(entry).substr(1);
      const bool pattern = name.find('*') != std::string_view::npos;
      auto& known = passed_[std::string(name)];
      if (known.empty()) known.assign(ws_.projects.size(), unknown);
      if (bridged(project, name, pattern, known)) return true;
    }
    return false;
  }

  enum verdict : std::uint8_t { unknown, quiet, changed };

  bool bridged(id project, std::string_view name, bool pattern, std::vector<verdict>& known) {
    if (known[project] != unknown) return known[project] == changed;
    std::vector<bool> seen(ws_.projects.size());
    std::vector<id> stack(ws_.order[project].begin(), ws_.order[project].end());
    seen[project] = true;
    bool found = false;
    while (!stack.empty() && !found) {
      const id at = stack.back();
      stack.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      if (holds(at, name, pattern)) continue;
      found = whole_[at] || !own_[at].empty();
      stack.insert(stack.end(), ws_.order[at].begin(), ws_.order[at].end());
    }
    known[project] = found ? changed : quiet;
    return found;
  }

  const workspace& ws_;
  const change_set& changes_;
  std::vector<bool> whole_;
  std::vector<std::vector<std::string>> own_;  ///< changed paths by owner, project-relative
  glob_pool globs_;
  std::unordered_map<std::string, std::vector<verdict>> passed_;
};

}  // namespace

result<std::vector<graph::request>> keep_affected(loader& l, const change_set& changes,
                                                  const std::vector<graph::request>& requests) {
  if (requests.empty() || changes.everything) return requests;
  const graph::catalog& c = l.catalog();
  graph::build_options options;
  options.declared_anywhere = [&](std::string_view task) -> result<bool> {
    return std::any_of(c.projects.begin(), c.projects.end(),
                       [&](const graph::catalog_project& p) { return p.find(task) != nullptr; });
  };
  VX_TRY_LET(const graph::task_graph g, graph::build_task_graph(c, requests, options));
  seeds s(l, changes);
  VX_TRY(s.prepare());
  std::vector<bool> reached(g.nodes.size());
  for (const id n : g.edges.topological_order()) {
    const auto deps = g.edges.deps(n);
    reached[n] = std::any_of(deps.begin(), deps.end(), [&](id d) { return reached[d]; });
    if (reached[n]) continue;
    VX_TRY_LET(const bool seed, s.is_seed(g.nodes[n], c));
    reached[n] = seed;
  }
  std::vector<graph::request> kept;
  for (const graph::request& r : requests) {
    const auto it = g.by_id.find(c.projects[r.project].name + "#" + r.task);
    if (it == g.by_id.end() || reached[it->second]) kept.push_back(r);
  }
  return kept;
}

}  // namespace vx::workspace
