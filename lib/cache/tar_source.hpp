// Tar bytes out of exactly one zstd frame, from memory or streamed from a file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cache/codec.hpp"

namespace vx::cache {

class tar_source {
 public:
  virtual ~tar_source() = default;
  /// The next bytes; empty at a clean end. Views live until the next call.
  virtual result<std::string_view> next() = 0;
};

class memory_source final : public tar_source {
 public:
  explicit memory_source(std::string_view tar) noexcept : rest_(tar) {}
  result<std::string_view> next() override { return std::exchange(rest_, std::string_view{}); }

 private:
  std::string_view rest_;
};

/// Compressed bytes in pieces.
class body_bytes {
 public:
  virtual ~body_bytes() = default;
  virtual result<std::string_view> next() = 0;  ///< empty at the end
};

class view_bytes final : public body_bytes {
 public:
  explicit view_bytes(std::string_view all) noexcept : rest_(all) {}
  result<std::string_view> next() override { return std::exchange(rest_, std::string_view{}); }

 private:
  std::string_view rest_;
};

/// Reads with pread from offset 0, so that a descriptor can be scanned again.
class file_bytes final : public body_bytes {
 public:
  file_bytes(int fd, std::uint64_t size) noexcept : fd_(fd), size_(size) {}
  result<std::string_view> next() override;

 private:
  int fd_;
  std::uint64_t size_, at_ = 0;
  std::string buffer_;
};

/// Streaming decoder: one frame, a running limit, nothing after the frame.
class frame_source final : public tar_source {
 public:
  frame_source(body_bytes& in, ZSTD_DCtx* d, std::uint64_t limit) : in_(in), d_(d), limit_(limit) {}
  result<std::string_view> next() override;

 private:
  body_bytes& in_;
  ZSTD_DCtx* d_;
  std::uint64_t limit_, total_ = 0;
  std::string out_;
  std::string_view pending_;
  bool started_ = false, frame_done_ = false;
};

/// The frame our writer makes: zstd's magic number, a checksum, no dictionary, no skippable frame.
status check_frame_header(std::string_view bytes);
/// pread from offset 0; a short file is CORRUPT.
status read_exactly(int fd, char* to, std::size_t n);

}  // namespace vx::cache
