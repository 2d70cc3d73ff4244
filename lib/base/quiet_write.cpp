#include "base/quiet_write.hpp"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

namespace vx {
namespace {

bool pipe_signal_pending() noexcept {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

ssize_t quiet_write(int fd, std::string_view data) noexcept {
  sigset_t pipe_only, old;
  sigemptyset(&pipe_only);  // the sig...set names are macros on macOS: no "::"
  sigaddset(&pipe_only, SIGPIPE);
  const bool was_pending = pipe_signal_pending();
  ::pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
  const ssize_t n = ::write(fd, data.data(), data.size());
  const int saved = errno;
  int taken = 0;
  if (n < 0 && saved == EPIPE && !was_pending && pipe_signal_pending()) ::sigwait(&pipe_only, &taken);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = saved;
  return n;
}

}  // namespace vx
