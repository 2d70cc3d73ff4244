// One line that says why a command most likely ended as it did (run.md 9.7).
#pragma once

#include <string>

#include "exec/process.hpp"

namespace vx::exec {

/// "" when there is nothing to add. Looks at the file system; not for timeouts, cancels or failed spawns.
std::string verdict_line(const spawn_spec& spec, int exit_code, int signal);

/// "SIGKILL" for 9; "" for an unknown number.
std::string_view signal_name(int signal) noexcept;

}  // namespace vx::exec
