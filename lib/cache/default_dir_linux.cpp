#include "base/path.hpp"
#include "cache/default_dir.hpp"

namespace vx::cache {

std::string user_cache_base(const environment& env) {
  const std::string xdg = env.get("XDG_CACHE_HOME");
  if (xdg.starts_with('/')) return path::normalize(xdg);  // a relative one is ignored
  const std::string home = home_dir(env);
  return home.empty() ? home : path::join(home, ".cache");
}

}  // namespace vx::cache
