#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "workspace/evaluator_host.hpp"

namespace vx::workspace {

// There is no pipe2 here; our own children close every descriptor they were not given.
int make_pipe(unique_fd& read_end, unique_fd& write_end) noexcept {
  int fds[2];
  if (::pipe(fds) != 0) return errno;
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  ::fcntl(fds[0], F_SETFD, FD_CLOEXEC);
  ::fcntl(fds[1], F_SETFD, FD_CLOEXEC);
  return 0;
}

}  // namespace vx::workspace
