// The tables of a project config (config.md 6) and of a workspace config (config.md 7). Internal to workspace/.
#pragma once

#include "workspace/schema.hpp"

namespace vx::workspace::schema {

extern const level k_project_level;
extern const level k_workspace_level;

/// The rules of config.md 11 that look at several lists of one task: sources under own outputs, manifests covered by outputs.
bool check_task_globs(checker& c, const json::value& task);
/// One list of globs: shape, every entry, the list as a whole.
bool is_input_globs(checker& c, const json::value& v, const field& f);
bool is_output_globs(checker& c, const json::value& v, const field& f);
/// `cache.inputs.tasks` on its own; its entries against dependsOn are checked with the task.
bool is_task_filter(checker& c, const json::value& v, const field& f);
bool check_task_filter(checker& c, const json::value& task);

std::string task_name_fault(std::string_view name);

}  // namespace vx::workspace::schema
