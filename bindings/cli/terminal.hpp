// Writing to the process's own descriptors.
#pragma once

#include <string>
#include <string_view>

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

 private:
  int out_fd_;
  std::string pending_;
};

}  // namespace vx::cli
