// Configs as the graph builder wants them.
#pragma once

#include "graph/task_graph.hpp"
#include "workspace/task_config.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

graph::catalog_task to_catalog(const task_config& task);
/// Tasks (sorted, with the implicit build where no `build` is declared), ORDER and the loaded flag of one project.
void fill_catalog_project(const workspace& ws, std::uint32_t project, graph::catalog_project& out);

/// The project a `pkg#task` entry of dependsOn names, exactly; nullopt for every other form and for unknown names.
std::optional<std::uint32_t> named_project(const workspace& ws, std::string_view entry);

}  // namespace vx::workspace
