// Which tasks a request means (graph.md 12 to 16).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "graph/task_graph.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

struct selection_request {
  std::string cwd;                 ///< absolute; decides the current project
  std::vector<std::string> names;  ///< task, pkg#task, //#task
  bool all = false;
  std::vector<std::string> filters;
  bool affected = false;
  std::string affected_base;  ///< "" = computed
};

struct selection {
  std::vector<graph::request> requests;  ///< without duplicates, in request order
  std::vector<std::uint32_t> scope;      ///< projects the bare names were asked of
  bool broad = false;                    ///< a selection flag was given: the broad flow
  bool none_affected = false;            ///< a git-diff scope left nothing: ok, exit 0
  std::vector<std::string> notices;
  std::vector<std::uint32_t> affected_kept;  ///< reserved for --dry's `affected` rows
};

/// Resolves the scope, loads the configs it needs through `l`, resolves every name. Every refusal of graph.md 12 and 13.
/// Unknown names are errc::UNKNOWN_TASK / UNKNOWN_PROJECT with did-you-mean.
result<selection> select(loader& l, const environment& env, const selection_request& request);

/// Projects a filter list selects (also `show --filter`).
result<std::vector<std::uint32_t>> filter_projects(loader& l, const environment& env, const std::vector<std::string>& filters,
                                                   std::vector<std::string>& notices);

}  // namespace vx::workspace
