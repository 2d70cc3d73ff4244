#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
  struct open_how how {};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  while (true) {
    unique_fd fd(static_cast<int>(::syscall(SYS_openat2, base, rel.c_str(), &how, sizeof how)));
    if (fd) return fd;
    if (errno == EINTR || errno == EAGAIN) continue;  // EAGAIN: a rename raced the lookup
    // The kernel, or a filter in front of it, has no openat2.
    if (errno == ENOSYS || errno == EPERM) return open_by_components(base, rel, flags);
    return fail_sys(errno, "cannot open", rel);
  }
}

result<unique_fd> open_anchor(const std::string& path) { return fs::open_at(fs::k_cwd, path, O_PATH | O_DIRECTORY); }

status chmod_no_follow(int dir, const std::string& name, unsigned mode) {
  const unique_fd fd(::openat(dir, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_sys(errno, "cannot change the mode of", name);
  struct ::stat st;
  if (::fstat(fd.get(), &st) != 0) return fail_sys(errno, "cannot change the mode of", name);
  if (S_ISLNK(st.st_mode)) return fail_sys(ELOOP, "cannot change the mode of", name);
  const std::string through = "/proc/self/fd/" + std::to_string(fd.get());
  if (::chmod(through.c_str(), static_cast<mode_t>(mode)) == 0) return {};
  // Without /proc the name itself must do; it was no link a moment ago.
  if (errno == ENOENT && ::fchmodat(dir, name.c_str(), static_cast<mode_t>(mode), 0) == 0) return {};
  return fail_sys(errno, "cannot change the mode of", name);
}

}  // namespace vx::cache
