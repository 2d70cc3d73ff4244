#include "run/wakeup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace vx::run {

result<wakeup> wakeup::make() {
  int ends[2];
  if (::pipe(ends) != 0) return fail_sys(errno, "pipe", "");
  wakeup w;
  w.read_.reset(ends[0]);
  w.write_.reset(ends[1]);
  for (const int fd : ends) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return w;
}

void wakeup::raise() noexcept {
  const char one = 1;
  // A full pipe means the sleeper is being woken already.
  while (::write(write_.get(), &one, 1) < 0 && errno == EINTR) {
  }
}

void wakeup::clear() noexcept {
  char sink[64];
  while (::read(read_.get(), sink, sizeof sink) > 0 || errno == EINTR) {
  }
}

}  // namespace vx::run
