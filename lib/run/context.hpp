// What a run says about its surroundings: commit, branch, CI, machine (run.md 19.4). Nothing here ever fails a run.
#pragma once

#include <optional>
#include <string>

#include "run/prepare.hpp"

namespace vx::run {

struct run_context {
  std::optional<std::string> commit, branch;
  std::optional<bool> dirty;
  bool ci = false;
  std::optional<std::string> ci_provider;
  std::optional<std::string> host_name;
  std::string os, arch;
};

run_context read_context(const prepared& p);

}  // namespace vx::run
