#include "workers.hpp"

#include <signal.h>

#include <utility>

namespace vx::node {

std::thread quiet_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct restore {
    sigset_t* mask;
    ~restore() { pthread_sigmask(SIG_SETMASK, mask, nullptr); }
  } const restore{&before};
  return std::thread(std::move(body));
}

void workers::grow() {
  if (idle_ == 0 && threads_.size() - waiting_ < k_most) threads_.push_back(quiet_thread([this] { loop(); }));
}

void workers::submit(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  jobs_.push_back(std::move(job));
  grow();
  changed_.notify_one();
}

void workers::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (stopping_) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    if (!jobs_.empty()) grow();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

void workers::stop() {
  std::vector<std::thread> threads;
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(jobs_);
  }
  changed_.notify_all();
  for (std::thread& t : threads) t.join();
}

workers::waiting::waiting(workers& of) : of_(of) {
  const std::lock_guard lock(of_.mutex_);
  ++of_.waiting_;
  if (!of_.stopping_ && !of_.jobs_.empty()) of_.grow();
}

workers::waiting::~waiting() {
  const std::lock_guard lock(of_.mutex_);
  --of_.waiting_;
}

}  // namespace vx::node
