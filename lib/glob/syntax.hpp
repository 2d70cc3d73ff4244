// From an entry as written to normalised patterns: negation, braces, escapes, segments. Internal to lib/glob.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "glob/glob.hpp"

namespace vx::glob::detail {

inline constexpr std::size_t k_max_expansions = 1024;

/// An entry whose structure is sound: no style rule of check_entry has been asked yet.
struct parsed_entry {
  bool negated = false;
  bool braces = false;            ///< holds an unescaped brace set
  bool lone_alternative = false;  ///< holds a set without a comma
  std::vector<pattern> patterns;
};

/// Refuses what has no meaning in any place: empty, NUL, absolute, "..", braces that do not pair, escapes of other characters.
result<parsed_entry> parse_entry(std::string_view entry);

/// Expands brace sets of raw text (escapes kept). Failure: unpaired braces or more than k_max_expansions results.
result<std::vector<std::string>> expand_braces(std::string_view raw, bool* lone_alternative);

/// "entry" in quotes with control characters and stray bytes spelled out, for messages.
std::string quoted(std::string_view entry);

/// The pattern of unescaped text whose segments are already normalised.
pattern make_pattern(std::string text);

inline bool has_wildcard(std::string_view text) noexcept { return text.find_first_of("*?") != std::string_view::npos; }

/// Cuts the first segment off `rest`. `rest` must not be empty.
inline std::string_view take_front(std::string_view& rest) noexcept {
  const std::size_t cut = rest.find('/');
  const std::string_view head = rest.substr(0, cut);
  rest = cut == std::string_view::npos ? std::string_view{} : rest.substr(cut + 1);
  return head;
}
/// Cuts the last segment off `rest`. `rest` must not be empty.
inline std::string_view take_back(std::string_view& rest) noexcept {
  const std::size_t cut = rest.rfind('/');
  if (cut == std::string_view::npos) return std::exchange(rest, std::string_view{});
  const std::string_view tail = rest.substr(cut + 1);
  rest = rest.substr(0, cut);
  return tail;
}
inline bool is_within(std::string_view path, std::string_view dir) noexcept {
  return dir.empty() || (path.size() >= dir.size() && path.compare(0, dir.size(), dir) == 0 &&
                         (path.size() == dir.size() || path[dir.size()] == '/'));
}
/// What follows `dir` in `path`, which lies within it, without the slash.
inline std::string_view below(std::string_view path, std::string_view dir) noexcept {
  if (dir.empty()) return path;
  return path.size() == dir.size() ? std::string_view{} : path.substr(dir.size() + 1);
}

}  // namespace vx::glob::detail
