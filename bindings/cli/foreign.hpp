// Flags that people bring from other runners: rewritten to ours, or refused with the way to say it here. Never dropped
// silently.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cli/verbs.hpp"

namespace vx::cli {

/// Why a command line is not taken. `message` is one line.
struct usage_error {
  std::string message;
  std::string code = "VX_E_USAGE";
};

/// The words before `--`, with other runners' spellings replaced. A flag the verb knows is left alone.
std::variant<std::vector<std::string>, usage_error> translate(const verb_spec& verb, const std::vector<std::string>& words);

}  // namespace vx::cli
