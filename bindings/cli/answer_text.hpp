// The answers of the explaining verbs for people (cli.md 12, 14, 15, 16). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/colour.hpp"

namespace vx::cli {

struct answer_view;

// Each takes the whole answer of its query; nullopt: it is none.
std::optional<answer_view> read_why(std::string_view json, const palette& colours);
std::optional<answer_view> read_last(std::string_view json, const palette& colours);
std::optional<answer_view> read_info(std::string_view json, std::string_view home);
std::optional<answer_view> read_cache_stats(std::string_view json, std::string_view home);
std::optional<answer_view> read_prune(std::string_view json);

/// `~/x` for a path below the home directory.
std::string short_path(std::string_view path, std::string_view home);

}  // namespace vx::cli
