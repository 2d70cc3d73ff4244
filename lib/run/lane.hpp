// A bounded set of threads that take work in order. Threads start when work arrives and none is idle.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vx::run {

class lane {
 public:
  explicit lane(unsigned width) : width_(width) {}
  ~lane();  ///< finishes what was posted, then joins
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  void post(std::function<void()> work);
  void drain();  ///< blocks until nothing is queued or running

 private:
  void loop();

  unsigned width_;
  std::mutex mutex_;
  std::condition_variable arrived_, idle_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  unsigned waiting_ = 0, busy_ = 0;
  bool closing_ = false;
};

}  // namespace vx::run
