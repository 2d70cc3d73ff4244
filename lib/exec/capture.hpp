// Bounded capture of a task's output (run.md 9.5, cache.md 4.3): first 8 MiB and last 8 MiB, records in arrival order, neither
// cut inside a UTF-8 sequence.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace vx::exec {

struct captured {
  int stream;  ///< 1, 2; 0 = `dropped` bytes are missing here
  std::string bytes;
  std::uint64_t dropped = 0;
};

class capture {
 public:
  explicit capture(std::size_t head = std::size_t{8} << 20, std::size_t tail = std::size_t{8} << 20)
      : head_max_(head), tail_max_(tail) {}
  void add(int stream, std::string_view bytes);
  std::vector<captured> take();
  bool empty() const noexcept { return total_ == 0; }
  std::uint64_t total() const noexcept { return total_; }

 private:
  std::size_t head_max_, tail_max_;
  std::uint64_t total_ = 0, dropped_ = 0;
  std::size_t head_bytes_ = 0, tail_bytes_ = 0;
  std::vector<captured> head_;
  std::deque<captured> tail_;
};

}  // namespace vx::exec
