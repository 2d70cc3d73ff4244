// The answers of the show query for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

struct show_view {
  std::string text;
  std::string document;  ///< "result" alone
  std::vector<std::string> notices;
};

/// nullopt: not a show answer.
std::optional<show_view> read_show(std::string_view json);

}  // namespace vx::cli
