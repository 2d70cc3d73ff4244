// A list of filters turned into a set of projects (graph.md 13).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "workspace/changed.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

/// Change sets by reference, each computed once for a selection.
class change_cache {
 public:
  change_cache(loader& l, const environment& env) : loader_(l), env_(env) {}
  result<const change_set*> since(const std::string& ref);
  result<const git_view*> git();

 private:
  loader& loader_;
  const environment& env_;
  std::optional<git_view> git_;
  std::unordered_map<std::string, std::unique_ptr<change_set>> sets_;
};

struct filter_outcome {
  std::vector<bool> chosen;  ///< includes united, excludes removed
  std::vector<bool> excluded;
  bool by_diff = false;           ///< an include names a [ref]
  std::vector<std::string> refs;  ///< of the includes
};

/// `more_includes`: another include stands beside the filters (--affected), so "only excludes" does not mean "every project",
/// and a selection that comes out empty is not refused here.
result<filter_outcome> select_filters(loader& l, change_cache& changes, const std::vector<std::string>& filters,
                                      bool more_includes, std::vector<std::string>& notices);

/// What is reachable over `edges` by one step or more.
std::vector<bool> reachable(const std::vector<bool>& from, const std::vector<std::vector<std::uint32_t>>& edges);
std::vector<std::vector<std::uint32_t>> reversed(const std::vector<std::vector<std::uint32_t>>& edges);

}  // namespace vx::workspace
