// --affected: which of the requested tasks a change reaches (graph.md 15).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "graph/task_graph.hpp"
#include "workspace/changed.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

/// Keeps the requests whose dependsOn closure holds a seed. Every config must be loaded.
result<std::vector<graph::request>> keep_affected(loader& l, const change_set& changes,
                                                  const std::vector<graph::request>& requests);

}  // namespace vx::workspace
