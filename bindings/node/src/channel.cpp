#include "channel.hpp"

#include <chrono>
#include <utility>

namespace vx::node {
namespace {

// How long one wake-up may keep the loop from other work.
constexpr std::chrono::milliseconds k_slice{8};
// A queued message's own weight, so that many small ones are bounded as well.
constexpr std::size_t k_message_cost = 256;

}  // namespace

channel::channel(Napi::Env env) {
  const auto name = Napi::String::New(env, "vx");
  const napi_status made =
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, &channel::on_wake, &wake_);
  if (made != napi_ok) throw Napi::Error::New(env, "vx: no thread-safe function could be made");
  napi_unref_threadsafe_function(env, wake_);
}

void channel::push(std::unique_lock<std::mutex>&, entry e) {
  bytes_ += e.bytes;
  queue_.push_back(std::move(e));
  if (std::exchange(awake_, true)) return;
  napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

bool channel::send(message m) {
  std::unique_lock lock(mutex_);
  if (closed_) return false;
  push(lock, {std::move(m), 0});
  return true;
}

bool channel::send_bounded(message m, std::size_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || bytes_ < k_bound; });
  if (closed_) return false;
  push(lock, {std::move(m), bytes + k_message_cost});
  return true;
}

bool channel::wait(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || done(); });
  return done();
}

void channel::settle(const std::function<void()>& change) {
  {
    const std::lock_guard lock(mutex_);
    change();
  }
  changed_.notify_all();
}

void channel::on_wake(napi_env env, napi_value, void* context, void*) {
  if (env != nullptr) static_cast<channel*>(context)->drain(env);
}

void channel::drain(Napi::Env env) {
  const auto until = std::chrono::steady_clock::now() + k_slice;
  for (;;) {
    entry next;
    {
      std::unique_lock lock(mutex_);
      if (closed_ || queue_.empty()) {
        awake_ = false;
        return;
      }
      if (std::chrono::steady_clock::now() > until) {  // let timers and sockets have their turn
        napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
      bytes_ -= next.bytes;
    }
    if (next.bytes > 0) changed_.notify_all();
    const Napi::HandleScope scope(env);
    try {
      next.run(env);
    } catch (const Napi::Error& e) {
      napi_fatal_exception(env, e.Value());  // 'uncaughtException': what a throwing callback of any event source gets
    }
    bool pending = false;  // the environment is being terminated: JavaScript cannot be entered any more
    if (napi_is_exception_pending(env, &pending) != napi_ok || pending) {
      const std::lock_guard lock(mutex_);
      awake_ = false;
      return;
    }
  }
}

void channel::hold(Napi::Env env) {
  if (held_++ == 0) napi_ref_threadsafe_function(env, wake_);
}

void channel::release(Napi::Env env) {
  if (--held_ == 0) napi_unref_threadsafe_function(env, wake_);
}

void channel::close() {
  std::deque<entry> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(queue_);
  }
  changed_.notify_all();
}

}  // namespace vx::node
