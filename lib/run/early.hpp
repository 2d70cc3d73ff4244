// Ahead of the schedule (run.md 5): keys of stable tasks, one batched lookup, and the proof that hits are already in place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cache/store.hpp"

namespace vx::run {

struct run_state;

enum class probe : std::uint8_t { none, miss, hit };

/// By node. A probe is used verbatim later: nothing asks the local store for the same key twice.
struct early_pass {
  std::vector<probe> probed;
  std::vector<std::optional<cache::lookup_result>> hits;
  std::vector<std::uint8_t> current;       ///< the tree already equals the entry
  std::vector<std::uint8_t> has_snapshot;  ///< proved with a directory snapshot: none needs to be taken again
  std::vector<std::uint8_t> tier;          ///< in the restore tier
};

/// Fills state.keys (stable nodes) and state.early. Trouble leaves nodes unprobed: the plain schedule.
void run_early_pass(run_state& state);

}  // namespace vx::run
