// One step of UTF-8 validation, shared by escaping and JSON.
#pragma once

#include <cstddef>
#include <string_view>

namespace vx::text {

/// Length of the well-formed UTF-8 sequence at `i`, or 0 (no overlong forms, no surrogates, at most U+10FFFF).
inline std::size_t utf8_length(std::string_view raw, std::size_t i) noexcept {
  const auto at = [&](std::size_t k) { return i + k < raw.size() ? static_cast<unsigned char>(raw[i + k]) : 0U; };
  const auto tail = [&](std::size_t k) { return (at(k) & 0xc0U) == 0x80U; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80, high = lead == 0xed ? 0x9f : 0xbf;
    return at(1) >= low && at(1) <= high && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xf4 ? 0x8f : 0xbf;
    return at(1) >= low && at(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace vx::text
