// Matching with character classes, shared by the member dialect and .gitignore. Internal to lib/glob.
#pragma once

#include <string_view>

namespace vx::glob::detail {

/// Where the two dialects differ.
struct class_rules {
  bool characters;       ///< '?' and classes take a UTF-8 character; else a byte
  bool open_is_literal;  ///< a '[' that nothing closes is itself; else the pattern matches nothing
  bool wild_dots;        ///< wildcards match a leading dot
  bool last_takes_one;   ///< a final "**" needs one segment at least
};
inline constexpr class_rules k_member_rules{true, true, false, false};
inline constexpr class_rules k_ignore_rules{false, false, true, true};

/// One segment: '*', '?', '[...]', backslash escapes anything.
bool class_match(std::string_view pattern, std::string_view name, const class_rules& rules) noexcept;

/// Cuts the first segment off a pattern; a slash within a class does not end it.
std::string_view take_pattern_segment(std::string_view& pattern, const class_rules& rules) noexcept;

/// Segment by segment; a segment of two or more stars takes any number of segments.
bool class_path_match(std::string_view pattern, std::string_view path, const class_rules& rules) noexcept;

/// Could a path at or below `dir` match?
bool class_may_match_below(std::string_view pattern, std::string_view dir, const class_rules& rules) noexcept;

}  // namespace vx::glob::detail
