#include "base/threads.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "base/platform.hpp"

namespace vx {

signals_blocked::signals_blocked() noexcept {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &saved_);
}

signals_blocked::~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

unsigned usable_cpus() noexcept { return platform::usable_cpus(); }

void parallel_for(std::size_t n, unsigned threads, std::size_t min_chunk,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (n == 0) return;
  min_chunk = std::max<std::size_t>(min_chunk, 1);
  const std::size_t chunks_at_most = (n + min_chunk - 1) / min_chunk;
  const std::size_t workers = std::min<std::size_t>(std::max(threads, 1U), chunks_at_most);
  if (workers <= 1) return body(0, n);
  // Four chunks a worker even out unequal items without contending on the counter.
  const std::size_t chunk = std::max(min_chunk, n / (workers * 4));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    while (true) {
      const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= n) return;
      body(begin, std::min(begin + chunk, n));
    }
  };
  std::vector<joined_thread> helpers;
  helpers.reserve(workers - 1);
  {
    const signals_blocked shield;
    for (std::size_t i = 1; i < workers; ++i) {
      try {
        helpers.emplace_back(work);
      } catch (const std::system_error&) {
        break;  // no more threads to be had: fewer hands do the same work
      }
    }
  }
  work();
}

cancel_token::cancel_token() {
  // Without descriptors left the token still answers requested(); only waits by poll() are then not woken.
  (void)platform::make_wakeup(read_, write_);
}

cancel_token::~cancel_token() = default;

void cancel_token::request(int signal) noexcept {
  const int saved = errno;
  if (signal == SIGKILL) kill_.store(true, std::memory_order_release);
  int none = 0;
  signal_.compare_exchange_strong(none, signal, std::memory_order_acq_rel);
  const std::uint64_t one = 1;
  const int fd = write_ ? write_.get() : read_.get();
  // Non-blocking: when the buffer is full the descriptor is readable already.
  if (fd >= 0 && ::write(fd, &one, sizeof one) < 0) errno = saved;
  errno = saved;
}

}  // namespace vx
