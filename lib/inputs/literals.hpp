// A literal that selects nothing although its path exists claims an input the task does not have (keys.md 15.1).
#pragma once

#include <string>
#include <vector>

#include "inputs/inputs.hpp"
#include "inputs/living_files.hpp"
#include "inputs/stamps.hpp"

namespace vx::inputs {

class literal_check {
 public:
  literal_check(const tree_context& tree, living_files& living, const selector& s, const table& project, const table* workspace)
      : tree_(tree), living_(living), s_(s), project_(project), workspace_(workspace), probe_(tree.root_fd) {}

  /// `idle`: root-relative literals that selected nothing. `stale` is set when one names a file that is newer than its listing;
  /// the facts about it are dropped then.
  status files(const std::vector<std::string>& idle, bool& stale);
  status workspace_files(const std::vector<std::string>& idle, bool& stale);

 private:
  status check(const std::string& path, std::string_view field, const table& t, bool fenced, bool& stale);
  /// Why the existing path can be no input; "" when it can and the listing is older.
  result<std::string> reason(const std::string& path, const fs::stat_info& info, bool fenced);
  result<std::string> reason_of_dir(const std::string& path);

  const tree_context& tree_;
  living_files& living_;
  const selector& s_;
  const table& project_;
  const table* workspace_;
  prober probe_;
};

}  // namespace vx::inputs
