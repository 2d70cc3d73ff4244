#include "base/bytes.hpp"

namespace vx {
namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(bytes_view raw) {
  static constexpr char k_digits[] = "0123456789abcdef";
  std::string out(raw.size() * 2, '\0');
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto b = std::to_integer<unsigned>(raw[i]);
    out[2 * i] = k_digits[b >> 4];
    out[2 * i + 1] = k_digits[b & 15];
  }
  return out;
}

bool from_hex(std::string_view text, std::span<std::byte> out) noexcept {
  if (text.size() != out.size() * 2) return false;
  for (const char c : text) {
    if (hex_value(c) < 0) return false;  // before the first write: the output stays whole on failure
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
  }
  return true;
}

}  // namespace vx
