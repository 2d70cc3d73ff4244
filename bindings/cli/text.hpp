// Small text pieces every surface shares: durations, sizes, escapes, near words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

/// "999ms" below one second, else "1.37s". Rounds before it chooses the unit: 999.6 is "1.00s".
std::string duration_text(double ms);

/// The same below a minute, then "2m 5s", "3h 7m".
std::string long_duration_text(double ms);

/// 2026-11-02T10:11:12.131Z, from milliseconds since 1970.
std::string iso_text(std::int64_t ms);

/// Powers of 1024, one decimal below ten of a unit: "1023 B", "1.0 KB", "10 KB".
std::string bytes_text(std::uint64_t bytes);

/// Columns a terminal uses: code points, without escape sequences and variation selectors.
std::size_t display_width(std::string_view text);

/// `text` and the spaces that make it `width` columns wide.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

/// Bytes that are not UTF-8 become `\xNN`; control characters too, so a name cannot steer a terminal.
std::string printable(std::string_view bytes);

/// The first eight characters of a key.
std::string_view key8(std::string_view hash);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// "1 task", "4 tasks".
std::string count_text(std::uint64_t n, std::string_view noun);

/// Edit distance, never more than `cap + 1`: the search stops there.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t cap);

/// The single closest candidate within `limit` edits. Nothing when two are equally near, or when one is exact.
std::string closest(std::string_view word, const std::vector<std::string>& candidates, std::size_t limit = 2);

/// Takes terminal escapes (CSI, OSC, two-byte) out of a stream; a sequence may be split across chunks.
class escape_stripper {
 public:
  void feed(std::string_view chunk, std::string& out);

 private:
  enum class state : std::uint8_t { text, escape, csi, string, string_escape };
  state state_ = state::text;
};

}  // namespace vx::cli
