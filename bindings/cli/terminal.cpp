#include "cli/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace vx::cli {
namespace {

constexpr std::size_t k_flush_at = 64 * 1024;

std::size_t terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Up over the region, then clear to the end of the screen.
std::string erase(std::size_t lines) { return lines == 0 ? std::string() : "\x1b[" + std::to_string(lines) + "A\x1b[J"; }

}  // namespace

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
  draw({});
  std::string whole(line);
  whole += '\n';
  write_all(STDERR_FILENO, whole);
}

void fd_sink::flush() {
  if (pending_.empty()) return;
  if (drawn_ > 0) pending_.insert(0, erase(std::exchange(drawn_, 0)));
  write_all(out_fd_, pending_);
  pending_.clear();
}

void fd_sink::draw(const std::vector<std::string>& lines) {
  std::string text = erase(std::exchange(drawn_, lines.size()));
  for (const std::string& line : lines) text += line;
  if (!text.empty()) write_all(out_fd_, text);
}

region_ticker::region_ticker(const run_output& output, fd_sink& sink, std::mutex& lock, bool colour)
    : output_(output), sink_(sink), lock_(lock), colours_(colour), thread_([this] { loop(); }) {}

region_ticker::~region_ticker() {
  {
    const std::lock_guard held(lock_);
    stop_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void region_ticker::loop() {
  std::unique_lock held(lock_);
  while (!ended_.wait_for(held, std::chrono::milliseconds(100), [this] { return stop_; })) {
    region_state state;
    if (output_.region(state)) {
      sink_.draw(region_lines(state, terminal_columns(STDOUT_FILENO), colours_));
    } else {
      sink_.draw({});
    }
  }
  sink_.draw({});
}

}  // namespace vx::cli
