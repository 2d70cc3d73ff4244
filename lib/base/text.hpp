// Small text routines shared by every surface: lossless escaping, quoting, guessing, numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text {

bool is_utf8(std::string_view raw) noexcept;
/// Bytes for people and JSON: valid UTF-8 as it is, every other byte as \xNN; with `controls`, control characters too.
std::string escape(std::string_view raw, bool controls = false);

/// POSIX quoting: as is when made of [A-Za-z0-9_@%+=:,./-] and not empty, else in single quotes.
std::string shell_quote(std::string_view arg);

/// Levenshtein distance, at most `cap` + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t cap = 3) noexcept;
/// The single closest candidate within `limit` edits (ties: the first bytewise); none for an exact match.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates, std::size_t limit = 2);
/// " (did you mean x?)" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);
/// "a, b, c and N more" with at most `shown` names.
std::string list_some(std::span<const std::string> names, std::size_t shown);

std::string_view trim(std::string_view s) noexcept;  ///< ASCII white space
std::vector<std::string_view> split(std::string_view s, char at);
bool has_surrounding_space(std::string_view s) noexcept;

/// 1024 powers, one decimal below 10 of a unit: "1023 B", "1.0 KB", "10 KB".
std::string format_bytes(std::uint64_t n);
/// "Nms" under a second, else "N.NNs"; rounded before the unit is chosen.
std::string format_duration_ns(std::int64_t ns);

/// Unsigned decimal without sign, space, leading '+', fraction; at most 2^53.
std::optional<std::uint64_t> parse_uint(std::string_view s) noexcept;
/// ^\d+[smhd]$ -> milliseconds.
std::optional<std::uint64_t> parse_duration_ms(std::string_view s) noexcept;
/// ^\d+([KMGT])?B?$, a bare number only with B, powers of 1024, case-blind -> bytes.
std::optional<std::uint64_t> parse_size(std::string_view s) noexcept;

/// '*' matches any characters ('/' included); everything else literal; anchored at both ends.
bool star_match(std::string_view pattern, std::string_view word) noexcept;

/// Removes terminal escape sequences (CSI, OSC, two-byte). For a whole text.
std::string strip_escapes(std::string_view raw);

}  // namespace vx::text
