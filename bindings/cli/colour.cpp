#include "cli/colour.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace vx::cli {
namespace {

struct rgb {
  int r, g, b;
};

/// Fixed saturation and lightness, readable on dark and light grounds.
rgb from_hue(unsigned hue) {
  constexpr double saturation = 0.62;
  constexpr double lightness = 0.62;
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30.0, 12.0);
    const double a = saturation * std::min(lightness, 1 - lightness);
    return static_cast<int>(std::lround(255 * (lightness - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0})))));
  };
  return {channel(0), channel(8), channel(4)};
}

}  // namespace

unsigned hue_of(std::string_view name) {
  // FNV-1a over 128 bits, kept in four 32-bit limbs; the prime is 2^88 + 0x13B.
  std::array<std::uint32_t, 4> h{0x6295C58Du, 0x62B82175u, 0x07BB0142u, 0x6C62272Eu};  // least significant first
  for (const char c : name) {
    h[0] ^= static_cast<unsigned char>(c);
    std::array<std::uint32_t, 4> next{};
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      carry += std::uint64_t{h[i]} * 0x13B;
      if (i == 2) carry += std::uint64_t{h[0]} << 24;
      if (i == 3) carry += (std::uint64_t{h[1]} << 24) & 0xFFFFFFFFu;
      next[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    h = next;
  }
  std::uint64_t rest = 0;
  for (std::size_t i = 4; i-- > 0;) rest = ((rest << 32) | h[i]) % 360;
  return static_cast<unsigned>(rest);
}

std::string palette::paint(std::string_view code, std::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string palette::id(std::string_view id) const {
  const std::size_t hash = id.find('#');
  if (!on_ || hash == std::string_view::npos) return std::string(id);
  const rgb c = from_hue(hue_of(id.substr(0, hash)));
  return paint(fmt::format("38;2;{};{};{}", c.r, c.g, c.b), id.substr(0, hash)) + dim("#") + pink(id.substr(hash + 1));
}

bool colour_wanted(const char* no_color, const char* force_color, bool stdout_is_tty) {
  if (no_color != nullptr && *no_color != '\0') return false;
  if (force_color != nullptr) {
    const std::string_view value(force_color);
    return value != "0" && value != "false";
  }
  return stdout_is_tty;
}

}  // namespace vx::cli
