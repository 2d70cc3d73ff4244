// Threads that do not outlive their owner, a parallel loop, and the cancel token.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

#include "base/unique_fd.hpp"

namespace vx {

/// Blocks every signal for the calling thread while it lives. Threads of the library are started inside one, so that
/// the host's handlers run on the host's threads only.
class signals_blocked {
 public:
  signals_blocked() noexcept;
  ~signals_blocked();
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t saved_;
};

/// A thread that is joined when its owner ends: std::jthread without its stop token, which Apple's C++ library lacks.
class joined_thread {
 public:
  joined_thread() = default;
  template <class Work>
  explicit joined_thread(Work work) : thread_(std::move(work)) {}
  ~joined_thread() { join(); }
  joined_thread(joined_thread&&) noexcept = default;
  joined_thread& operator=(joined_thread&& o) noexcept {
    join();
    thread_ = std::move(o.thread_);
    return *this;
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

/// CPUs in the affinity mask, at least 1.
unsigned usable_cpus() noexcept;

/// Runs body(begin, end) over [0, n) in chunks on up to `threads` threads, the caller's included. Returns when all
/// is done. `body` must not throw. With one thread or a small n everything runs on the caller's thread.
void parallel_for(std::size_t n, unsigned threads, std::size_t min_chunk,
                  const std::function<void(std::size_t, std::size_t)>& body);

/// A stop request that any thread or signal handler may raise. Async-signal-safe: it stores and wakes.
/// The descriptor becomes readable at the first request and stays readable.
class cancel_token {
 public:
  cancel_token();
  ~cancel_token();
  cancel_token(const cancel_token&) = delete;
  cancel_token& operator=(const cancel_token&) = delete;

  void request(int signal) noexcept;  ///< SIGINT, SIGTERM or SIGKILL; SIGKILL outranks an earlier one
  bool requested() const noexcept { return signal_.load(std::memory_order_acquire) != 0; }
  int signal() const noexcept { return signal_.load(std::memory_order_acquire); }  ///< the FIRST signal asked
  bool kill_requested() const noexcept { return kill_.load(std::memory_order_acquire); }
  int fd() const noexcept { return read_.get(); }  ///< for poll(); readable once requested

 private:
  std::atomic<int> signal_{0};
  std::atomic<bool> kill_{false};
  unique_fd read_, write_;  // an eventfd on Linux (both ends the same object), a pipe elsewhere
};

}  // namespace vx
