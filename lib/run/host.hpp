// What a workspace handle knows: fixed at open, shared read-only by everything started from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace vx::run {

/// What an embedding program adds to the runs of a handle. Called on the thread that prepares a run or a plan, one call at a
/// time.
struct host_seams {
  using pairs = std::vector<std::pair<std::string, std::string>>;
  /// Name/value pairs for the key of one task (keys.md 3.11). A failure refuses the run.
  std::function<status(const std::string& task_id, pairs& add)> key_material;
  /// Higher starts first; nullopt: vx ranks the task, behind those with a priority.
  std::function<std::optional<std::int64_t>(const std::string& task_id)> priority;
};

struct host {
  std::string root;      ///< absolute, real
  std::string cwd;       ///< absolute; decides the current project and relative paths
  std::string platform;  ///< "<os>-<arch>", folded into keys
  environment env;       ///< the snapshot every run of this handle uses
  host_seams seams;
};

inline constexpr const char* k_vx_version = "0.1.0";

}  // namespace vx::run
