// The plan document for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

struct plan_view {
  std::string text;                  ///< what `--dry` prints
  std::string document;              ///< what `--dry=json` prints: the plan alone
  std::vector<std::string> notices;  ///< lines for standard error
  int exit_code = 0;                 ///< 1: a task would fail before its command
};

/// nullopt: not a plan document.
std::optional<plan_view> read_plan(std::string_view json);

}  // namespace vx::cli
