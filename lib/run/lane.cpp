#include "run/lane.hpp"

#include <utility>

namespace vx::run {

lane::~lane() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  arrived_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void lane::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (queue_.size() > waiting_ && threads_.size() < width_) threads_.emplace_back([this] { loop(); });
  }
  arrived_.notify_one();
}

void lane::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && busy_ == 0; });
}

void lane::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++waiting_;
    arrived_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    --waiting_;
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    --busy_;
    if (queue_.empty() && busy_ == 0) idle_.notify_all();
  }
}

}  // namespace vx::run
