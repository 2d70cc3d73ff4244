// Digests: XXH3-128 for keys, git blob ids for identities, SHA-256 for repo ids and remote names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/fs.hpp"
#include "base/result.hpp"

namespace vx::key {

digest128 xxh3_128(std::string_view data) noexcept;  ///< seed 0, canonical bytes
std::uint64_t xxh3_64(std::string_view data) noexcept;

/// Streaming XXH3-128.
class xxh3_stream {
 public:
  xxh3_stream();
  ~xxh3_stream();
  xxh3_stream(const xxh3_stream&) = delete;
  xxh3_stream& operator=(const xxh3_stream&) = delete;
  void update(std::string_view data) noexcept;
  digest128 finish() const noexcept;
  void reset() noexcept;

 private:
  void* state_;
};

enum class object_format : std::uint8_t { sha1, sha256 };

/// A raw git object id: 20 or 32 bytes, held inline.
struct oid {
  std::array<std::byte, 32> raw{};
  std::uint8_t size = 0;  ///< 20, 32; 0 = none
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(raw.data()), size}; }
  std::string hex() const { return to_hex({raw.data(), size}); }
  static oid from_raw(std::string_view bytes) noexcept;
  static bool parse(std::string_view hex, oid& out) noexcept;
  friend bool operator==(const oid&, const oid&) = default;
};

/// H("blob " + decimal length + NUL + bytes).
oid git_blob_id(std::string_view content, object_format format) noexcept;

/// Hashes an open file as a blob by streaming; `size` is the length promised to the header. Failure CORRUPT when the file
/// yields another number of bytes.
result<oid> git_blob_id_fd(int fd, std::uint64_t size, object_format format);

std::string sha256_hex(std::string_view data);

}  // namespace vx::key
