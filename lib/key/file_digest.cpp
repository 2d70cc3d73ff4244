#include "key/file_digest.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fs.hpp"
#include "base/text.hpp"
#include "key/digest.hpp"

namespace vx::key {

result<digest128> file_digest(const std::string& path) {
  VX_TRY_LET(const unique_fd fd, fs::open_at(fs::k_cwd, path, O_RDONLY | O_NONBLOCK));
  VX_TRY_LET(const fs::stat_info before, fs::fstat_fd(fd.get()));
  if (before.kind != fs::kind::file) return fail(errc::IO, "not a regular file: " + text::escape(path, true));
  xxh3_stream hash;
  std::string buffer(std::size_t{64} << 10, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_sys(errno, "cannot read", path);
    if (n == 0) break;
    hash.update({buffer.data(), static_cast<std::size_t>(n)});
  }
  VX_TRY_LET(const fs::stat_info after, fs::fstat_fd(fd.get()));
  const bool steady = before.size == after.size && before.mtime == after.mtime && before.ctime == after.ctime;
  if (!steady) return fail(errc::CORRUPT, text::escape(path, true) + " changed while it was hashed");
  return hash.finish();
}

}  // namespace vx::key
