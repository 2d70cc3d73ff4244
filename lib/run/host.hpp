// What a workspace handle knows: fixed at open, shared read-only by everything started from it.
#pragma once

#include <string>

#include "base/environment.hpp"

namespace vx::run {

struct host {
  std::string root;       ///< absolute, real
  std::string cwd;        ///< absolute; decides the current project and relative paths
  std::string platform;   ///< "<os>-<arch>", folded into keys
  environment env;        ///< the snapshot every run of this handle uses
};

inline constexpr const char* k_vx_version = "0.1.0";

}  // namespace vx::run
