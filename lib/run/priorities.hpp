// Ranks for the scheduler (run.md 6.3): critical path over recorded durations, else the exact dependant count.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/scheduler.hpp"
#include "run/prepare.hpp"

namespace vx::run {

/// Recorded medians by task id, nanoseconds.
using duration_table = std::unordered_map<std::string, std::int64_t, text_hash, std::equal_to<>>;
duration_table recorded_durations(prepared& p);

/// By node. `tier[node]` marks confirmed hits: they end chains and cost nothing.
std::vector<graph::priority> rank_tasks(prepared& p, const std::vector<std::uint8_t>& tier);

}  // namespace vx::run
