// Threads for calls that may take long, one set an environment: libuv's pool belongs to the host's own file and name look-ups.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vx::node {

/// A thread on which every signal is blocked: the host's handlers run on the host's threads.
std::thread quiet_thread(std::function<void()> body);

class workers {
 public:
  ~workers() { stop(); }
  /// Any thread. Jobs that have not begun at stop() are dropped.
  void submit(std::function<void()> job);
  /// Joins; jobs that have begun end first.
  void stop();

  /// While one stands, its thread waits for JavaScript and does not count: another takes its place.
  class waiting {
   public:
    explicit waiting(workers& of);
    ~waiting();
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;

   private:
    workers& of_;
  };

  static constexpr std::size_t k_most = 4;

 private:
  void loop();
  void grow();  ///< with the mutex held

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0, waiting_ = 0;
  bool stopping_ = false;
};

}  // namespace vx::node
