// Help texts, made from the table of verbs.
#pragma once

#include <string>

#include "cli/verbs.hpp"

namespace vx::cli {

std::string general_help();
std::string verb_help(const verb_spec& verb);

}  // namespace vx::cli
