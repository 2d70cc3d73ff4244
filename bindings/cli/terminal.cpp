#include "cli/terminal.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace vx::cli {
namespace {
constexpr std::size_t k_flush_at = 64 * 1024;
}

void write_all(int fd, std::string_view text) {
  // Set once the reader of standard output or standard error has gone.
  static bool closed[3] = {false, false, false};
  if (fd < 0 || fd > 2 || closed[fd]) return;
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{fd, POLLOUT, 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return;
    } else if (errno != EINTR) {
      closed[fd] = true;
      return;
    }
  }
}

void fd_sink::out(std::string_view text) {
  pending_.append(text);
  if (pending_.size() >= k_flush_at) flush();
}

void fd_sink::note(std::string_view line) {
  flush();
  std::string whole(line);
  whole += '\n';
  write_all(STDERR_FILENO, whole);
}

void fd_sink::flush() {
  write_all(out_fd_, pending_);
  pending_.clear();
}

}  // namespace vx::cli
