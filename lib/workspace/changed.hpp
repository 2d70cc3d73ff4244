// What a git reference says has changed, in terms of projects (graph.md 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "git/git.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

/// Git and the repository the root lies in, or the one-line refusal.
struct git_view {
  git::program program;
  git::repository repo;
  static result<git_view> open(const environment& env, const std::string& root);

  /// The commit a checked reference is compared from: the merge base with HEAD, or the reference itself.
  result<std::string> base_commit(std::string_view ref) const;
  /// The bytes of root-relative files in a commit; nullopt: it was not there. One process.
  result<std::vector<std::optional<std::string>>> files_at(const std::string& commit,
                                                           const std::vector<std::string>& paths) const;
};

struct change_set {
  std::string base;                ///< commit
  std::vector<std::string> paths;  ///< root-relative, sorted
  bool everything = false;         ///< a root file that every key depends on changed
  std::string because;             ///< that file
  std::vector<bool> contained;     ///< per project: a changed path lies in it (deepest project only)
  std::vector<bool> whole;         ///< per project: reached whatever its tasks declare
  std::vector<bool> declared;      ///< per project: a task's workspaceFiles name a changed path that no member owns
  /// A task may declare a changed path of a project it does not depend on: then no project is ruled out by edges alone.
  bool asks_every_project = false;
  bool any() const noexcept { return everything || !paths.empty(); }
  /// contained, whole or declared.
  std::vector<bool> projects() const;
};

/// Every config must be loaded. `ref` is validated before git sees it.
result<change_set> changes_since(loader& l, const git_view& git, std::string_view ref);

/// Projects that own a changed path; members behind a link at their real path too.
std::optional<std::uint32_t> owner_of_change(const workspace& ws, const std::string& path);

}  // namespace vx::workspace
