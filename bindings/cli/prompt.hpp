// Asking the user on a terminal.
#pragma once

#include <variant>
#include <vector>

#include "cli/errors.hpp"
#include "cli/picker.hpp"

namespace vx::cli {

/// Shows the menu on standard error and reads standard input until a number fits. The end of input is a refusal.
std::variant<choice, refusal> pick(const std::vector<choice>& choices);

}  // namespace vx::cli
