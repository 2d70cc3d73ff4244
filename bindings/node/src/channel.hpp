// The way from any thread to the JavaScript thread of one environment: a bounded queue of our own in front of a thread-safe
// function that only wakes. The bound lies here because a thread-safe function must not be touched once its environment goes
// away, and blocked callers must be sure of when that is: close() runs before the environment takes the function down.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include "napi.h"

namespace vx::node {

class channel {
 public:
  /// Runs on the JavaScript thread, in a handle scope of its own.
  using message = std::function<void(Napi::Env)>;

  explicit channel(Napi::Env env);
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// Any thread, never blocks: completions. False when closed; the message is dropped.
  bool send(message m);
  /// Any thread but the JavaScript one: waits while more than k_bound bytes are queued. False when closed.
  bool send_bounded(message m, std::size_t bytes);
  /// Waits on a thread that is not the JavaScript one until `done`, which is only written inside settle(). False when closed.
  bool wait(const std::function<bool()>& done);
  /// Changes what wait() asks for.
  void settle(const std::function<void()>& change);

  /// JavaScript thread: the environment stays alive while something is held.
  void hold(Napi::Env env);
  void release(Napi::Env env);
  /// JavaScript thread, once, before the environment ends: wakes everyone; nothing is delivered afterwards.
  void close();

  static constexpr std::size_t k_bound = std::size_t{4} << 20;

 private:
  struct entry {
    message run;
    std::size_t bytes;
  };
  static void on_wake(napi_env env, napi_value, void* context, void*);
  void drain(Napi::Env env);
  void push(std::unique_lock<std::mutex>& lock, entry e);

  napi_threadsafe_function wake_ = nullptr;
  std::size_t held_ = 0;  ///< JavaScript thread only

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<entry> queue_;
  std::size_t bytes_ = 0;  ///< of the queue
  bool awake_ = false;     ///< a wake-up is on its way
  bool closed_ = false;
};

}  // namespace vx::node
