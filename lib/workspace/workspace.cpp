#include "workspace/workspace.hpp"

#include <algorithm>

#include "base/fs.hpp"
#include "base/path.hpp"

namespace vx::workspace {

namespace {

/// Ancestors before descendants: '/' sorts before every other byte, so that `foo/nested` comes before `foo-utils`.
bool tree_less(std::string_view a, std::string_view b) noexcept {
  const auto rank = [](char c) { return c == '/' ? -1 : static_cast<int>(static_cast<unsigned char>(c)); };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [&](char x, char y) { return rank(x) < rank(y); });
}

/// Looks a path and its ancestors up in a directory index.
template <class Index>
std::optional<std::uint32_t> deepest(const Index& index, std::string_view path) {
  while (true) {
    if (const auto it = index.find(path); it != index.end()) return it->second;
    if (path.empty() || path == "/") return std::nullopt;
    path = path::parent(path);
  }
}

}  // namespace

void workspace::index() {
  by_name.clear();
  by_dir_.clear();
  by_real_dir_.clear();
  root_project.reset();
  const auto n = static_cast<std::uint32_t>(projects.size());
  by_name.reserve(n);
  by_dir_.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    by_name.emplace(projects[i].name, i);
    by_dir_.emplace(projects[i].dir, i);
    if (!projects[i].real_dir.empty()) by_real_dir_.emplace(projects[i].real_dir, i);
    if (projects[i].dir.empty()) root_project = i;
  }
  implicit_build_ = implicit_build();

  std::vector<std::uint32_t> by_tree(n);
  for (std::uint32_t i = 0; i < n; ++i) by_tree[i] = i;
  std::sort(by_tree.begin(), by_tree.end(),
            [&](std::uint32_t a, std::uint32_t b) { return tree_less(projects[a].dir, projects[b].dir); });
  std::vector<std::vector<std::string>> below(n);
  std::vector<std::uint32_t> above;  // the chain of projects that hold the current one
  for (const std::uint32_t i : by_tree) {
    const std::string& dir = projects[i].dir;
    while (!above.empty() && !path::is_within(dir, projects[above.back()].dir)) above.pop_back();
    for (const std::uint32_t a : above) below[a].emplace_back(path::relative_to(dir, projects[a].dir));
    above.push_back(i);
  }
  nested_.assign(n, nullptr);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (below[i].empty()) continue;
    std::sort(below[i].begin(), below[i].end());
    nested_[i] = std::make_shared<const std::vector<std::string>>(std::move(below[i]));
  }
}

std::optional<std::uint32_t> workspace::owner_of(std::string_view path) const { return deepest(by_dir_, path); }

std::optional<std::uint32_t> workspace::linked_owner_of(std::string_view path) const {
  return by_real_dir_.empty() ? std::nullopt : deepest(by_real_dir_, path);
}

std::optional<std::uint32_t> workspace::project_at(std::string_view dir) const {
  const auto it = by_dir_.find(dir);
  return it == by_dir_.end() ? std::nullopt : std::optional<std::uint32_t>(it->second);
}

std::optional<std::uint32_t> workspace::current_project(const std::string& cwd) const {
  auto real = fs::real_path(cwd);
  const std::string here = real ? std::move(*real) : path::normalize(cwd);
  if (path::is_within(here, root)) {
    // A directory that is a project through a link counts as well as the one that holds the link's target.
    const auto inside = owner_of(path::relative_to(here, root));
    const auto linked = linked_owner_of(here);
    if (!linked) return inside;
    if (!inside) return linked;
    const std::size_t depth = root.size() + projects[*inside].dir.size();
    return projects[*linked].real_dir.size() > depth ? linked : inside;
  }
  return linked_owner_of(here);
}

std::shared_ptr<const std::vector<std::string>> workspace::nested_of(std::uint32_t project) const {
  return project < nested_.size() ? nested_[project] : nullptr;
}

std::optional<std::uint32_t> workspace::find_project(std::string_view name) const {
  if (name == "//") return root_project;
  if (const auto it = by_name.find(name); it != by_name.end()) return it->second;
  if (name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < projects.size(); ++i) {
    const std::string_view full = projects[i].name;
    if (!full.starts_with('@')) continue;
    const auto slash = full.find('/');
    if (slash == std::string_view::npos || full.substr(slash + 1) != name) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::vector<std::string> workspace::project_names() const {
  std::vector<std::string> names;
  names.reserve(projects.size());
  for (const project& p : projects) names.push_back(p.name);
  return names;
}

const task_config* workspace::find_task(std::uint32_t index, std::string_view task) const {
  if (index >= projects.size()) return nullptr;
  const project& p = projects[index];
  if (!p.loaded || p.config_failure) return nullptr;
  if (p.config != nullptr) {
    const auto& tasks = p.config->tasks;
    const auto it =
        std::lower_bound(tasks.begin(), tasks.end(), task, [](const task_config& t, std::string_view n) { return t.name < n; });
    if (it != tasks.end() && it->name == task) return &*it;
  }
  return task == "build" ? &implicit_build_ : nullptr;
}

}  // namespace vx::workspace
