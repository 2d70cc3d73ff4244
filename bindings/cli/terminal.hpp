// Writing to the process's own descriptors.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/run_output.hpp"

namespace vx::cli {

/// Writes everything. A closed reader makes this and every later write to `fd` a no-op: it is not an error.
void write_all(int fd, std::string_view text);

/// Frames and rows to one descriptor, notes to standard error, in the order they were written.
class fd_sink final : public text_sink {
 public:
  explicit fd_sink(int out_fd) : out_fd_(out_fd) {}
  void out(std::string_view text) override;
  void note(std::string_view line) override;
  void flush() override;

  /// Lines that stand below the text until something is written. Empty: takes them away.
  void draw(const std::vector<std::string>& lines);

 private:
  int out_fd_;
  std::string pending_;
  std::size_t drawn_ = 0;  ///< lines of the region on the screen
};

/// Redraws the region of a run ten times a second, on a thread of its own. `lock` is held around every use of the run's output
/// and of the sink.
class region_ticker {
 public:
  region_ticker(const run_output& output, fd_sink& sink, std::mutex& lock, bool colour);
  ~region_ticker();
  region_ticker(const region_ticker&) = delete;
  region_ticker& operator=(const region_ticker&) = delete;

 private:
  void loop();

  const run_output& output_;
  fd_sink& sink_;
  std::mutex& lock_;
  palette colours_;
  std::condition_variable ended_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace vx::cli
