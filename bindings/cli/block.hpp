// What one task printed, kept until its block is shown: in memory up to a bound, beyond it in an unlinked temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

class output_block {
 public:
  explicit output_block(std::size_t memory_limit = std::size_t{16} * 1024 * 1024) : limit_(memory_limit) {}
  ~output_block();
  output_block(output_block&& other) noexcept;
  output_block& operator=(output_block&&) = delete;
  output_block(const output_block&) = delete;
  output_block& operator=(const output_block&) = delete;

  void append(int stream, std::string_view bytes);
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  bool spilled() const noexcept { return fd_ >= 0; }

  /// The chunks in the order they came, neighbours of one stream joined.
  void each(const std::function<void(int stream, std::string_view bytes)>& visit) const;

 private:
  struct run {
    int stream;
    std::size_t size;
  };
  bool spill();

  std::size_t limit_;
  std::size_t size_ = 0;
  std::size_t on_disk_ = 0;  ///< the file's length; memory_ holds what follows
  std::string memory_;
  std::vector<run> runs_;
  int fd_ = -1;
  bool no_file_ = false;  ///< no temporary file can be made: everything stays in memory
};

}  // namespace vx::cli
