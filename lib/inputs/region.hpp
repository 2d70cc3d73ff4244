// Listing of one directory after the run began, and of nested repositories at any time: names only, hashed by content (keys.md
// 13, 16).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "git/git.hpp"
#include "inputs/walk.hpp"

namespace vx::inputs {

/// Where a listing happens.
struct tree_context {
  std::string root;  ///< absolute, real
  int root_fd = -1;
  const git::program* git = nullptr;  ///< null: the walk
  const git::repository* repo = nullptr;
  const cancel_token* cancel = nullptr;
};

struct region_listing {
  struct item {
    std::string path;  ///< root-relative; exists as a file or link when listed
    bool tracked = false;
  };
  std::vector<item> files;          ///< sorted, each once; dropped names left out
  std::vector<std::string> absent;  ///< tracked, not on disk
  std::vector<std::string> nested;  ///< directories of nested repositories inside
};

/// What the directory holds by git's word (its own git, for a nested repository), else by the walk.
result<region_listing> list_region(const tree_context& tree, const std::string& dir);

/// What lies in a gitlink or an untracked repository at `dir`: its own git's listing, recursively; a walk where there is no
/// repository; nothing for a linked worktree of the same repository.
void list_nested(const tree_context& tree, const std::string& dir, region_listing& into);

/// The walk alone; `.gitignore` files above `base` do not count.
region_listing walk_region(const tree_context& tree, const std::string& dir, const std::string& base);

/// Does git ignore the path, asked with its rules and its index?
result<bool> git_ignores(const tree_context& tree, const std::string& path);

}  // namespace vx::inputs
