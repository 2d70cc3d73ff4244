// Numbers for people and from people.
#include <cstdio>
#include <limits>

#include "base/text.hpp"

namespace vx::text {
namespace {

constexpr std::uint64_t k_max_exact = std::uint64_t{1} << 53;

// Leading digits of `s`, removed from it; nullopt when there is none or it does not fit.
std::optional<std::uint64_t> take_digits(std::string_view& s) noexcept {
  std::uint64_t value = 0;
  std::size_t n = 0;
  for (; n < s.size() && s[n] >= '0' && s[n] <= '9'; ++n) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<std::uint64_t>(s[n] - '0'), &value)) return std::nullopt;
  }
  if (n == 0) return std::nullopt;
  s.remove_prefix(n);
  return value;
}

std::optional<std::uint64_t> scaled(std::uint64_t value, std::uint64_t factor) noexcept {
  if (__builtin_mul_overflow(value, factor, &value) || value > k_max_exact) return std::nullopt;
  return value;
}

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::string format_bytes(std::uint64_t n) {
  static constexpr const char* k_units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  if (n < 1024) return std::to_string(n) + " B";
  std::size_t unit = 0;
  auto scaled_value = static_cast<double>(n);
  while (unit + 1 < std::size(k_units) && scaled_value >= 1023.5) {  // 1023.5 would be shown as 1024
    scaled_value /= 1024;
    ++unit;
  }
  char out[32];
  std::snprintf(out, sizeof out, scaled_value < 9.95 ? "%.1f %s" : "%.0f %s", scaled_value, k_units[unit]);
  return out;
}

std::string format_duration_ns(std::int64_t ns) {
  if (ns < 0) ns = 0;
  const std::int64_t ms = ns / 1'000'000 + (ns % 1'000'000 >= 500'000 ? 1 : 0);
  if (ms < 1000) return std::to_string(ms) + "ms";
  const std::int64_t hundredths = ms / 10 + (ms % 10 >= 5 ? 1 : 0);
  char out[40];
  std::snprintf(out, sizeof out, "%lld.%02llds", static_cast<long long>(hundredths / 100),
                static_cast<long long>(hundredths % 100));
  return out;
}

std::optional<std::uint64_t> parse_uint(std::string_view s) noexcept {
  const auto value = take_digits(s);
  if (!value || !s.empty() || *value > k_max_exact) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_duration_ms(std::string_view s) noexcept {
  const auto value = take_digits(s);
  if (!value || s.size() != 1) return std::nullopt;
  switch (s.front()) {
    case 's': return scaled(*value, 1000);
    case 'm': return scaled(*value, 60'000);
    case 'h': return scaled(*value, 3'600'000);
    case 'd': return scaled(*value, 86'400'000);
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> parse_size(std::string_view s) noexcept {
  const auto value = take_digits(s);
  if (!value || s.empty()) return std::nullopt;
  unsigned power = 0;
  if (const std::size_t found = std::string_view("KMGT").find(upper(s.front())); found != std::string_view::npos) {
    power = static_cast<unsigned>(found) + 1;
    s.remove_prefix(1);
  }
  if (!s.empty() && upper(s.front()) == 'B') s.remove_prefix(1);
  if (!s.empty()) return std::nullopt;
  std::uint64_t out = *value;
  for (unsigned i = 0; i < power; ++i) {
    if (__builtin_mul_overflow(out, std::uint64_t{1024}, &out)) return std::nullopt;
  }
  return out;
}

}  // namespace vx::text
