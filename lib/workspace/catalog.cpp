#include "workspace/catalog.hpp"

#include <algorithm>

namespace vx::workspace {

graph::catalog_task to_catalog(const task_config& task) {
  graph::catalog_task out;
  out.name = task.name;
  out.depends_on = task.depends_on;
  out.inputs_tasks = task.input_tasks;
  out.has_exec = task.has_exec;
  out.keyed_group = task.keyed_group();
  out.implicit = task.implicit;
  out.persistent = task.persistent;
  out.cached = task.has_cache;
  return out;
}

void fill_catalog_project(const workspace& ws, std::uint32_t index, graph::catalog_project& out) {
  const project& p = ws.projects[index];
  out.name = p.name;
  out.order = ws.order[index];
  out.is_root = p.dir.empty();
  out.loaded = p.loaded && !p.config_failure;
  out.tasks.clear();
  if (!out.loaded) return;
  if (p.config != nullptr) {
    out.tasks.reserve(p.config->tasks.size() + 1);
    for (const task_config& t : p.config->tasks) out.tasks.push_back(to_catalog(t));
  }
  const task_config* build = ws.find_task(index, "build");
  if (build == nullptr || !build->implicit) return;
  const auto at = std::lower_bound(out.tasks.begin(), out.tasks.end(), build->name,
                                   [](const graph::catalog_task& t, const std::string& name) { return t.name < name; });
  out.tasks.insert(at, to_catalog(*build));
}

std::optional<std::uint32_t> named_project(const workspace& ws, std::string_view entry) {
  const auto hash = entry.find('#');
  if (hash == std::string_view::npos || hash == 0 || entry[0] == '^' || entry[0] == '!') return std::nullopt;
  const std::string_view name = entry.substr(0, hash);
  if (name == "//") return ws.root_project;
  const auto it = ws.by_name.find(name);
  return it == ws.by_name.end() ? std::nullopt : std::optional<std::uint32_t>(it->second);
}

}  // namespace vx::workspace
