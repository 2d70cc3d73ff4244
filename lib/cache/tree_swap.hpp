// The second half of a restore (cache.md 9 step 5): from staged, verified files to a tree that equals the entry.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/entry.hpp"

namespace vx::cache {

/// A file that waits in the stage directory.
struct staged_file {
  std::string name;  ///< "" for links and directories, and once it has been placed
  std::uint64_t ino = 0;
};

struct swap_request {
  const output_scope* scope = nullptr;
  const std::vector<output_row>* rows = nullptr;
  int stage = -1;                              ///< directory of the staged files
  std::vector<staged_file>* staged = nullptr;  ///< by row; names are cleared as files are placed
};

struct swap_result {
  bool folded = false;  ///< two names are one on this file system: `reason` names both
  std::string reason;
  std::vector<output_stamp> stamps;
  std::vector<std::string> touched;
};

/// Failure: the tree could not be made equal; message names path and cause. It may have changed: stamps of the entry are void.
result<swap_result> swap_tree(const swap_request& request);

}  // namespace vx::cache
