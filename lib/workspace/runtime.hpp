// Which configs need a JavaScript runtime, and which runtime evaluates them.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace vx::workspace {

/// VX_NODE, else `node` on PATH. Failure CONFIG names the config and the ways without a runtime.
result<std::string> find_runtime(const environment& env, std::string_view config);

/// A config that needs none: .json, .jsonc.
inline bool is_native_config(std::string_view path) noexcept { return path.ends_with(".json") || path.ends_with(".jsonc"); }

}  // namespace vx::workspace
