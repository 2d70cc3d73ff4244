// Edges and boundaries that differ at the base of a comparison (graph.md 14): a package that was deleted, renamed or
// re-versioned.
#pragma once

#include "workspace/changed.hpp"

namespace vx::workspace {

/// Marks as `whole`: projects whose manifest edges differ from those of the base, tasks' projects that name a removed project,
/// and the project above a nested one that is new.
status mark_moved_edges(loader& l, const git_view& git, change_set& changes);

}  // namespace vx::workspace
