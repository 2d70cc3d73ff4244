#include "base/unique_fd.hpp"

#include <unistd.h>

#include <cerrno>

namespace vx {

void unique_fd::reset(int fd) noexcept {
  if (fd_ >= 0) {
    const int saved = errno;
    ::close(fd_);  // not retried on EINTR: the descriptor is gone on every system we run on
    errno = saved;
  }
  fd_ = fd;
}

}  // namespace vx
