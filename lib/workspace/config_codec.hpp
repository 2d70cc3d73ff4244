// The compact binary form of a validated project config, as kept in the evaluation cache. Internal to workspace/.
#pragma once

#include <string>
#include <string_view>

#include "workspace/task_config.hpp"

namespace vx::workspace {

/// Part of every cached row's host digest: raise it with any change of the codec, the schema or what a trace records.
inline constexpr std::uint32_t k_evaluator_number = 2;

std::string encode_project(const project_config& p);
/// False when the bytes are not what encode_project wrote; `out` is then unusable.
bool decode_project(std::string_view raw, project_config& out);

}  // namespace vx::workspace
