#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "workspace/evaluator_host.hpp"

namespace vx::workspace {

int make_pipe(unique_fd& read_end, unique_fd& write_end) noexcept {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return errno;
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  return 0;
}

}  // namespace vx::workspace
