// The banner at the end of a run. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/colour.hpp"
#include "cli/events.hpp"

namespace vx::cli {

inline constexpr std::size_t k_bar_cells = 50;

/// How many of `cells` each bucket gets: by largest remainder, at least one where the bucket is not empty. The result sums to
/// `cells`, or to 0 when every bucket is empty.
std::vector<std::size_t> share_cells(const std::vector<std::uint64_t>& buckets, std::size_t cells = k_bar_cells);

/// VX_TIMING: a line a stage, milliseconds first. Stages that overlap are each counted whole.
std::vector<std::string> timing_rows(const run_summary& summary);

/// The footer, its last line ended.
std::string footer_text(const run_start& start, const run_summary& summary, const std::string& version, const palette& colours);

}  // namespace vx::cli
