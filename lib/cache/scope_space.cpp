#include "cache/scope_space.hpp"

#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "cache/limits.hpp"

namespace vx::cache {
namespace {

bool equals_folded(std::string_view word, std::string_view lower) noexcept {
  if (word.size() != lower.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i] >= 'A' && word[i] <= 'Z' ? static_cast<char>(word[i] + ('a' - 'A')) : word[i];
    if (c != lower[i]) return false;
  }
  return true;
}

/// Calls f(component) until it returns true.
template <class F>
bool any_component(std::string_view path, F&& f) noexcept {
  while (true) {
    const std::size_t slash = path.find('/');
    if (f(path.substr(0, slash))) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

bool has_node_modules(std::string_view path) noexcept {
  return !mutated("node-modules-outputs") && path.find("node_modules") != std::string_view::npos &&
         any_component(path, [](std::string_view c) { return c == "node_modules"; });
}

}  // namespace

bool is_walled(std::string_view path) noexcept {
  // The dot is rare enough to make this cheap for most paths.
  if (path.find('.') == std::string_view::npos) return false;
  return any_component(
      path, [](std::string_view c) { return c.size() <= 4 && (equals_folded(c, ".git") || equals_folded(c, ".vx")); });
}

const char* bad_output_path(std::string_view path) noexcept {
  if (!is_rel_path(path)) return "not a plain relative path";
  if (path.size() > k_path_limit) return "too long";
  if (any_component(path, [](std::string_view c) { return c.size() > k_component_limit; })) return "a component is too long";
  if (is_walled(path)) return "inside .git or .vx";
  return nullptr;
}

bool is_subtree(const glob::pattern& p) noexcept {
  return !p.literal && p.text.size() == p.prefix.size() + 3 && p.text.ends_with("/**") && p.text.starts_with(p.prefix);
}

scope_space::scope_space(const output_scope& scope, cache::space which)
    : scope_(scope),
      which_(which),
      match_(which == space::project ? &scope.files_match : &scope.workspace_match),
      declared_(which == space::project ? &scope.files : &scope.workspace_files) {
  std::vector<root> all;
  for (const glob::pattern& p : match_->positives()) all.push_back({p.literal ? p.text : p.prefix, p.literal, is_subtree(p)});
  std::sort(all.begin(), all.end(), [](const root& a, const root& b) { return a.path < b.path; });
  for (root& r : all) {
    // "a" sorts before "a/b", though not always next to it.
    const auto holder =
        std::find_if(roots_.begin(), roots_.end(), [&](const root& k) { return path::is_within(r.path, k.path); });
    if (holder == roots_.end()) {
      roots_.push_back(std::move(r));
    } else if (holder->path == r.path) {
      holder->subtree = holder->subtree || r.subtree;
      holder->literal = holder->literal && r.literal;
    }
  }
}

std::string scope_space::base_path() const {
  return which_ == space::project ? path::join(scope_.root, scope_.project_dir) : scope_.root;
}

std::string scope_space::from_root(std::string_view path) const {
  if (which_ == space::workspace || scope_.project_dir.empty()) return std::string(path);
  return path.empty() ? scope_.project_dir : path::join(scope_.project_dir, path);
}

bool scope_space::fenced(std::string_view path) const noexcept {
  if (which_ != space::project || !scope_.nested) return false;
  // A set lookup per ancestor: a sibling `foo-utils` of `foo` must not confuse an ordered neighbour test.
  const std::vector<std::string>& nested = *scope_.nested;
  for (std::string_view dir = path; !dir.empty(); dir = path::parent(dir)) {
    if (std::binary_search(nested.begin(), nested.end(), dir, std::less<std::string_view>{})) return true;
  }
  return false;
}

bool scope_space::owns(std::string_view path) const noexcept {
  if (path.empty() || is_walled(path) || fenced(path) || (match_->negative(path) && !mutated("no-output-negation")))
    return false;
  if (has_node_modules(path)) {
    return std::any_of(match_->positives().begin(), match_->positives().end(),
                       [&](const glob::pattern& p) { return has_node_modules(p.text) && glob::matches(p, path); });
  }
  if (match_->positive(path)) return true;
  return is_wildcard_root(path);
}

bool scope_space::enters(std::string_view dir) const noexcept {
  if (dir.empty()) return true;
  if (is_walled(dir) || fenced(dir)) return false;
  if (has_node_modules(dir) && std::none_of(match_->positives().begin(), match_->positives().end(),
                                            [](const glob::pattern& p) { return has_node_modules(p.text); })) {
    return false;
  }
  return match_->may_match_below(dir);
}

bool scope_space::tolerates(const std::string& path) const noexcept {
  if (scope_.tolerated == nullptr) return false;
  const auto& all = *scope_.tolerated;
  const auto at = std::lower_bound(all.begin(), all.end(), path, [&](const auto& row, const std::string& p) {
    return row.first != which_ ? row.first < which_ : row.second < p;
  });
  return at != all.end() && at->first == which_ && at->second == path;
}

bool scope_space::is_wildcard_root(std::string_view path) const noexcept {
  return std::any_of(match_->positives().begin(), match_->positives().end(),
                     [&](const glob::pattern& p) { return p.prefix == path && is_subtree(p); });
}

bool scope_space::snapshot_shape() const noexcept {
  return std::all_of(match_->positives().begin(), match_->positives().end(),
                     [](const glob::pattern& p) { return p.literal || (is_subtree(p) && !p.prefix.empty()); });
}

const char* bad_link_target(std::string_view link, std::string_view target) {
  if (target.empty()) return "is empty";
  if (target.front() == '/') return "is absolute";
  if (target.size() > k_target_limit) return "is too long";
  if (target.find('\0') != std::string_view::npos) return "holds NUL";
  std::vector<std::string_view> at;
  for (std::string_view dir = path::parent(link); !dir.empty(); dir = path::parent(dir)) at.push_back(path::base_name(dir));
  std::reverse(at.begin(), at.end());
  std::string_view rest = target;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part == "..") {
      if (at.empty()) return "rises above the workspace";
      at.pop_back();
    } else if (!part.empty() && part != ".") {
      if (is_walled(part)) return "enters .git or .vx";
      at.push_back(part);
    }
    if (slash == std::string_view::npos) return nullptr;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace vx::cache
