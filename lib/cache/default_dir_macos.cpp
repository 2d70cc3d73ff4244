#include "base/path.hpp"
#include "cache/default_dir.hpp"

namespace vx::cache {

std::string user_cache_base(const environment& env) {
  const std::string home = home_dir(env);
  return home.empty() ? home : path::join(home, "Library/Caches");
}

}  // namespace vx::cache
