#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace vx::cli {
namespace {

constexpr char k_esc = '\x1b';

/// Length of the valid UTF-8 sequence at `at`, or 0. Overlong forms, surrogates and values above U+10FFFF are not valid.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;
  if (lead == 0xED && second > 0x9F) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  return length;
}

}  // namespace

std::string duration_text(double ms) {
  if (!(ms > 0)) ms = 0;
  if (const double whole = std::round(ms); whole < 1000) return fmt::format("{}ms", static_cast<std::uint64_t>(whole));
  const auto hundredths = static_cast<std::uint64_t>(std::round(ms / 10));
  return fmt::format("{}.{:02}s", hundredths / 100, hundredths % 100);
}

std::string long_duration_text(double ms) {
  const auto seconds = static_cast<std::uint64_t>(std::round(std::max(ms, 0.0) / 1000));
  if (seconds < 60) return duration_text(ms);
  if (seconds < 3600) return fmt::format("{}m {}s", seconds / 60, seconds % 60);
  return fmt::format("{}h {}m", seconds / 3600, seconds / 60 % 60);
}

std::string iso_text(std::int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms >= 0 ? ms / 1000 : (ms - 999) / 1000);
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return "?";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec, ms - static_cast<std::int64_t>(seconds) * 1000);
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> units{"B", "KB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::round(value) >= 1024) {
    value /= 1024;
    ++unit;
  }
  if (unit > 0 && std::round(value * 10) < 100) return fmt::format("{:.1f} {}", value, units[unit]);
  return fmt::format("{:.0f} {}", value, units[unit]);
}

std::size_t display_width(std::string_view text) {
  std::string plain;
  escape_stripper().feed(text, plain);
  std::size_t width = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const auto c = static_cast<unsigned char>(plain[i]);
    if ((c & 0xC0) == 0x80) continue;
    // U+FE0E and U+FE0F choose a glyph's form and take no column.
    if (c == 0xEF && plain.compare(i, 2, "\xEF\xB8") == 0 && i + 2 < plain.size() &&
        (static_cast<unsigned char>(plain[i + 2]) & 0xFE) == 0x8E) {
      continue;
    }
    ++width;
  }
  return width;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  std::string out(text);
  if (have < width) out.append(width - have, ' ');
  return out;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  std::string out(have < width ? width - have : 0, ' ');
  out.append(text);
  return out;
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = utf8_length(bytes, i);
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (length == 0 || c < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", c);
      ++i;
      continue;
    }
    out.append(bytes.substr(i, length));
    i += length;
  }
  return out;
}

std::string_view key8(std::string_view hash) { return hash.substr(0, std::min<std::size_t>(8, hash.size())); }

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::string count_text(std::uint64_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t cap) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > cap) return cap + 1;
  std::vector<std::size_t> row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    std::size_t diagonal = row[0];
    row[0] = j;
    std::size_t best = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const std::size_t swap_cost = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({row[i] + 1, row[i - 1] + 1, swap_cost});
      best = std::min(best, row[i]);
    }
    if (best > cap) return cap + 1;
  }
  return std::min(row[a.size()], cap + 1);
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates, std::size_t limit) {
  std::size_t best = limit + 1;
  std::string found;
  bool tie = false;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate, limit);
    if (distance == 0) return {};
    if (distance < best) {
      best = distance;
      found = candidate;
      tie = false;
    } else if (distance == best && distance <= limit && candidate != found) {
      tie = true;
    }
  }
  // A one-letter word is within two edits of everything short: it says nothing.
  if (best > limit || tie || best >= word.size()) return {};
  return found;
}

void escape_stripper::feed(std::string_view chunk, std::string& out) {
  for (const char c : chunk) {
    const auto byte = static_cast<unsigned char>(c);
    switch (state_) {
      case state::text:
        if (c == k_esc) {
          state_ = state::escape;
        } else {
          out += c;
        }
        break;
      case state::escape:
        if (c == '[') {
          state_ = state::csi;
        } else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X') {
          state_ = state::string;
        } else if (byte < 0x20 || byte > 0x2F) {
          state_ = state::text;  // 0x20..0x2F are intermediates of a longer two-byte form
        }
        break;
      case state::csi:
        if (byte >= 0x40 && byte <= 0x7E) state_ = state::text;
        break;
      case state::string:
        if (c == '\a') {
          state_ = state::text;
        } else if (c == k_esc) {
          state_ = state::string_escape;
        }
        break;
      case state::string_escape: state_ = c == '\\' ? state::text : c == k_esc ? state::string_escape : state::string; break;
    }
  }
}

}  // namespace vx::cli
