// The scan of the owned area: one walk for listing, cleaning, proving and restoring (cache.md 5.1, 8, 9).
#pragma once

#include <string>
#include <vector>

#include "base/fs.hpp"
#include "base/result.hpp"
#include "cache/scope_space.hpp"

namespace vx::cache {

struct found {
  std::string path;
  fs::kind kind = fs::kind::none;
  bool owned = true;      ///< false: a directory passed on the way (asked for with `passed_dirs`)
  bool empty = false;     ///< directories: no entry at all
  bool unlocked = false;  ///< directories: the walk changed the mode, because its owner could not list it or write there
  fs::stat_info st;       ///< directories always; others with `stat_files`
};

struct walk_options {
  bool stat_files = false;
  bool passed_dirs = false;                             ///< also directories that were listed but are not owned
  bool unlock = false;                                  ///< make directories readable and writable for their owner on the way
  std::size_t max_dirs = static_cast<std::size_t>(-1);  ///< more: failure REFUSED
};

/// Everything owned below `base`, sorted by path. Links are never descended. What vanishes meanwhile is left out.
result<std::vector<found>> walk_owned(const scope_space& scope, int base, const walk_options& options);

}  // namespace vx::cache
