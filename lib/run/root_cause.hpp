// Moved dependencies, followed to the tasks whose own inputs moved (cli.md 15, cache.md 16). Pure: the differences come from a
// callback.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "key/diff.hpp"

namespace vx::run {

struct root_cause {
  std::vector<std::string> chain;              ///< task ids, from the asked one to the one that moved
  std::vector<key::component_change> entries;  ///< what moved there; empty: its inputs are not recorded
};

/// The difference between two keys, in hex; nullopt: one of them has no recorded components.
using key_diff_fn = std::function<std::optional<key::component_diff>(const std::string& before, const std::string& after)>;

/// Each moved task once, by the shortest chain. Looks at `most` tasks at the most.
std::vector<root_cause> find_root_causes(const std::string& task, const key::component_diff& own, const key_diff_fn& diff,
                                         std::size_t most = 10'000);

}  // namespace vx::run
