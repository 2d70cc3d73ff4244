// Several guesses at what was meant, for verbs that look among recorded names (cli.md 2.5).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text {

/// Up to three candidates like `word`: within two edits, nearest first, then those that hold it or are held by it, whatever the
/// case.
std::vector<std::string> near_names(std::string_view word, std::span<const std::string> candidates);
/// " (did you mean a, b or c?)" of near_names(), or "".
std::string did_you_mean_some(std::string_view word, std::span<const std::string> candidates);

}  // namespace vx::text
