#include "run/observer.hpp"

#include <utility>

namespace vx::run {
namespace {
constexpr std::size_t k_queue_max = std::size_t{16} << 20;
constexpr std::size_t k_record_cost = 96;  // bookkeeping of an empty record
}  // namespace

dispatcher::dispatcher(std::unique_ptr<observer> who) : who_(std::move(who)) {
  if (who_ == nullptr) return;
  skips_current_ = who_->skips_current();
  thread_ = std::thread([this] { loop(); });
}

dispatcher::~dispatcher() {
  if (who_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

void dispatcher::event(std::string json) {
  if (who_ != nullptr) push({false, 0, 0, false, std::move(json)});
}

void dispatcher::output(std::uint32_t task, int stream, std::string bytes, bool replayed) {
  if (who_ != nullptr && !bytes.empty()) push({true, task, stream, replayed, std::move(bytes)});
}

void dispatcher::push(record r) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return queued_bytes_ < k_queue_max; });
  queued_bytes_ += r.bytes.size() + k_record_cost;
  const bool was_empty = queue_.empty();
  queue_.push_back(std::move(r));
  lock.unlock();
  if (was_empty) arrived_.notify_one();
}

void dispatcher::drain() {
  if (who_ == nullptr) return;
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return queue_.empty() && !delivering_; });
}

void dispatcher::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::deque<record> batch;
    batch.swap(queue_);
    delivering_ = true;
    lock.unlock();
    std::size_t delivered = 0;
    for (record& r : batch) {
      if (r.is_output)
        who_->output(r.task, r.stream, r.bytes, r.replayed);
      else
        who_->event(r.bytes);
      delivered += r.bytes.size() + k_record_cost;
      std::string().swap(r.bytes);
      if (delivered < k_queue_max / 16) continue;
      const std::lock_guard relock(mutex_);
      queued_bytes_ -= std::exchange(delivered, 0);
      moved_.notify_all();
    }
    lock.lock();
    queued_bytes_ -= delivered;
    delivering_ = false;
    moved_.notify_all();
  }
}

}  // namespace vx::run
