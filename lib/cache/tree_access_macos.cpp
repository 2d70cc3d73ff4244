#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/tree_access.hpp"

namespace vx::cache {

result<unique_fd> open_beneath(int base, const std::string& rel, int flags) {
  if (const int e = fs::fault("open", rel.c_str())) return fail_sys(e, "cannot open", rel);
  if (rel.empty()) {
    unique_fd fd(::openat(base, ".", flags | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return fail_sys(errno, "cannot open", ".");
    return fd;
  }
  return open_by_components(base, rel, flags);
}

result<unique_fd> open_anchor(const std::string& path) { return fs::open_dir_at(fs::k_cwd, path); }

status chmod_no_follow(int dir, const std::string& name, unsigned mode) {
  if (::fchmodat(dir, name.c_str(), static_cast<mode_t>(mode), AT_SYMLINK_NOFOLLOW) == 0) return {};
  return fail_sys(errno, "cannot change the mode of", name);
}

}  // namespace vx::cache
