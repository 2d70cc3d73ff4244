// What a run knows at its start: the table of files, gathered on threads, and the facts about trust that need no database.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/threads.hpp"
#include "base/unique_fd.hpp"
#include "cache/index.hpp"
#include "git/git.hpp"
#include "git/index_file.hpp"
#include "git/settings.hpp"
#include "inputs/region.hpp"
#include "inputs/stamps.hpp"
#include "inputs/table.hpp"

namespace vx::inputs {

struct untracked_memo;

struct start_listing {
  // Filled in any case.
  std::vector<file> files;                     ///< sorted, each once, dropped names left out
  std::string notice;                          ///< why there is no git; "" with git
  std::optional<failure> trouble;              ///< refuses the run
  std::int64_t started_ns = 0, listed_ns = 0;  ///< wall clock at the start and just before the index was opened

  // With git.
  bool from_git = false;
  std::optional<git::program> program;
  std::optional<git::repository> repo;
  git::settings settings;
  git::index_snapshot index;
  std::vector<prober::dir_stamp> dirs;          ///< that hold or enclose tracked files; sorted, each once
  std::int64_t dirs_ns = 0;                     ///< wall clock before the first of them was looked at
  std::vector<std::string_view> sparse_absent;  ///< skip-worktree and not on disk
  std::vector<std::string_view> absent;         ///< tracked and not on disk, else
  std::vector<std::string> nested;              ///< directories of nested repositories
  bool has_untracked = false;
  std::shared_ptr<const std::string> untracked;      ///< git's answer, NUL-separated
  std::int64_t asked_ns = 0;                         ///< wall clock before git was asked for it; 0: remembered, not asked
  std::shared_ptr<const untracked_memo> remembered;  ///< what this run found remembered, if it answers the same question
};

/// Gathers everything on the calling thread and helpers. Never fails: what can't be learned from git is walked. `memo` gives
/// the checkout's memos when they are open, or null; it may block until that is known.
void gather(const std::string& root, int root_fd, const environment& env, const cancel_token* cancel,
            const std::function<cache::index*()>& memo, pool& bytes, start_listing& out);

/// Takes the index ids away from files whose attributes convert or whose blobs have another size (keys.md 10, 11). `memo` may
/// be null.
status settle_trust(const tree_context& tree, start_listing& listing, cache::index* memo, pool& bytes);

}  // namespace vx::inputs
