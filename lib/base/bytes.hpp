// Byte views, little-endian writing and bounds-checked reading, hexadecimal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace vx {

using bytes_view = std::span<const std::byte>;

inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(bytes_view raw) noexcept { return {reinterpret_cast<const char*>(raw.data()), raw.size()}; }

/// Appends little-endian integers and counted byte strings to a growing buffer.
class byte_writer {
 public:
  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u16(std::uint16_t v) { put(&v, sizeof v); }
  void u32(std::uint32_t v) { put(&v, sizeof v); }
  void u64(std::uint64_t v) { put(&v, sizeof v); }
  void i64(std::int64_t v) { put(&v, sizeof v); }
  void raw(std::string_view v) { out_.append(v); }
  /// u32 length, then the bytes.
  void text32(std::string_view v) {
    u32(static_cast<std::uint32_t>(v.size()));
    raw(v);
  }
  const std::string& str() const noexcept { return out_; }
  std::string take() noexcept { return std::move(out_); }
  void reserve(std::size_t n) { out_.reserve(n); }
  std::size_t size() const noexcept { return out_.size(); }

 private:
  void put(const void* v, std::size_t n) { out_.append(static_cast<const char*>(v), n); }  // little-endian hosts only
  std::string out_;
};

/// Reads what byte_writer wrote. Reading past the end sets a sticky error and yields zeros and empty views:
/// check `ok()` once at the end. The views alias the input.
class byte_reader {
 public:
  explicit byte_reader(std::string_view in) noexcept : in_(in) {}
  std::uint8_t u8() noexcept { return get<std::uint8_t>(); }
  std::uint16_t u16() noexcept { return get<std::uint16_t>(); }
  std::uint32_t u32() noexcept { return get<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return get<std::uint64_t>(); }
  std::int64_t i64() noexcept { return get<std::int64_t>(); }
  std::string_view raw(std::size_t n) noexcept {
    if (n > in_.size() - at_) {
      ok_ = false;
      return {};
    }
    std::string_view v = in_.substr(at_, n);
    at_ += n;
    return v;
  }
  std::string_view text32() noexcept { return raw(u32()); }
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return at_ == in_.size(); }
  std::size_t position() const noexcept { return at_; }
  std::size_t remaining() const noexcept { return in_.size() - at_; }

 private:
  template <class T>
  T get() noexcept {
    T v{};
    if (sizeof(T) > in_.size() - at_) {
      ok_ = false;
      at_ = in_.size();
      return v;
    }
    std::memcpy(&v, in_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }
  std::string_view in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// Lower-case hexadecimal.
std::string to_hex(bytes_view raw);
/// False when `text` is not exactly 2 x out.size() lower- or upper-case hexadecimal digits.
bool from_hex(std::string_view text, std::span<std::byte> out) noexcept;

/// A 128-bit digest or key: 16 canonical bytes (XXH3-128: high 64 bits first, big-endian).
struct digest128 {
  std::array<std::byte, 16> raw{};
  friend bool operator==(const digest128&, const digest128&) = default;
  friend auto operator<=>(const digest128& a, const digest128& b) noexcept {
    return std::memcmp(a.raw.data(), b.raw.data(), 16) <=> 0;
  }
  std::string hex() const { return to_hex(raw); }
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(raw.data()), raw.size()}; }
  static bool parse(std::string_view hex, digest128& out) noexcept { return from_hex(hex, out.raw); }
};

struct digest128_hash {
  std::size_t operator()(const digest128& d) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, d.raw.data(), sizeof h);
    return h;
  }
};

/// Transparent hash for unordered containers keyed by std::string and asked with std::string_view.
struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view v) const noexcept { return std::hash<std::string_view>{}(v); }
};

}  // namespace vx
