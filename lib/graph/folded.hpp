// Which dependencies' keys a task folds. Internal to lib/graph.
#pragma once

#include "graph/task_graph.hpp"

namespace vx::graph::detail {

/// Fills g.folded from inputs.tasks; refuses a pattern that reaches only members of a group the task depends on.
status select_folded(const catalog& c, task_graph& g);

}  // namespace vx::graph::detail
