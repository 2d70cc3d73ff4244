// Who watches a run, and the thread that tells them: records in order, never two at once, never under a lock (run.md 19).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace vx::run {

class observer {
 public:
  virtual ~observer() = default;
  virtual void event(std::string_view json) = 0;
  virtual void output(std::uint32_t task, int stream, std::string_view bytes, bool replayed) = 0;
  /// True: no task records for groups and for hits whose tree was already current and that print nothing.
  virtual bool skips_current() const noexcept { return false; }
};

/// Queues records and delivers them on its own thread. Producers wait while more than 16 MiB are queued: a slow observer slows
/// the run instead of growing it. Without an observer nothing is queued and no thread runs.
class dispatcher {
 public:
  explicit dispatcher(std::unique_ptr<observer> who);
  ~dispatcher();  ///< delivers what is queued, then joins and drops the observer
  dispatcher(const dispatcher&) = delete;
  dispatcher& operator=(const dispatcher&) = delete;

  bool active() const noexcept { return who_ != nullptr; }
  bool skips_current() const noexcept { return skips_current_; }
  void event(std::string json);
  void output(std::uint32_t task, int stream, std::string bytes, bool replayed);
  /// Blocks until everything queued so far has been delivered. Not from a callback.
  void drain();
  bool on_callback_thread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  struct record {
    bool is_output = false;
    std::uint32_t task = 0;
    int stream = 0;
    bool replayed = false;
    std::string bytes;
  };
  void push(record r);
  void loop();

  std::unique_ptr<observer> who_;
  bool skips_current_ = false;
  std::mutex mutex_;
  std::condition_variable arrived_, moved_;
  std::deque<record> queue_;
  std::size_t queued_bytes_ = 0;
  bool delivering_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace vx::run
