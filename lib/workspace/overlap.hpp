// One path, one task; keys known before the run (graph.md 8, 9; keys.md 15.5). Indexed by path prefix, never all pairs.
#pragma once

#include "base/result.hpp"
#include "graph/task_graph.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

/// rules.exclusiveOutputs and rules.upfrontKeys over the tasks of a graph. The message names both tasks, both globs and the
/// fixes.
status check_overlaps(const workspace& ws, const graph::task_graph& g, const graph::catalog& c);

}  // namespace vx::workspace
