// What stands below the written text while a run goes on, on a terminal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/colour.hpp"

namespace vx::cli {

struct region_state {
  struct worker {
    std::string id;      ///< empty: idle
    double seconds = 0;  ///< how long its task has run
  };
  std::vector<std::string> servers;  ///< ready and running
  std::vector<worker> workers;       ///< a task keeps its row for life
  std::uint64_t more = 0;            ///< running tasks without a row
  std::uint64_t failed = 0, success = 0, skipped = 0, total = 0;
};

/// Lines of at most `columns` columns, each ended. The first is empty.
std::vector<std::string> region_lines(const region_state& state, std::size_t columns, const palette& colours);

/// At most `columns` columns of a text without escapes.
std::string clipped(std::string_view text, std::size_t columns);

}  // namespace vx::cli
