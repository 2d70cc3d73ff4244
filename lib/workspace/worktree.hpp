// Is a directory a linked worktree of the repository the root lies in? Such a tree repeats every package.
#pragma once

#include <optional>
#include <string>

namespace vx::workspace {

class worktree_check {
 public:
  /// `dir` is root-relative and holds a `.git` file. A submodule is no linked worktree.
  bool is_linked(const std::string& root, const std::string& dir);

 private:
  std::optional<std::string> common_;  ///< common git directory of the root, "" = none; found at first use
};

}  // namespace vx::workspace
