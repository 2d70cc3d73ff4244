// Where this system keeps caches. One file per system.
#pragma once

#include <string>

#include "base/environment.hpp"

namespace vx::cache {

/// HOME, else the passwd entry; "" when there is neither.
std::string home_dir(const environment& env);
/// The directory that would hold `vx/<repo-id>`; "" when there is none.
std::string user_cache_base(const environment& env);

}  // namespace vx::cache
