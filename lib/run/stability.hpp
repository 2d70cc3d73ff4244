// Which keys may be taken before anything has run (keys.md 18), and which confirmed hits need no ordering (keys.md 19).
// When unsure, unstable: the lazy path is always right.
#pragma once

#include <cstdint>
#include <vector>

#include "run/prepare.hpp"

namespace vx::run {

struct stability {
  std::vector<bool> stable;        ///< by node; groups too (a stable group's roll-up is used by stable tasks)
  std::vector<bool> tier_allowed;  ///< a confirmed hit may be restored ahead of its dependencies
  /// rules.exclusiveOutputs is off and the task's outputs may meet those of one that it neither depends on nor is depended on
  /// by: it runs every time and is not stored, because neither its clean nor its restore could be told apart from the other's.
  std::vector<bool> shares_outputs;
  /// By node: the dependencies whose outputs it adds to (cache.md 11); and by dependency, who adds to it.
  std::vector<std::vector<std::uint32_t>> adds_to, added_by;
  /// A dependency may write what the task's probes read: they are answered after it, for this task alone.
  std::vector<bool> late_probes;
};

stability judge_stability(const prepared& p);

}  // namespace vx::run
