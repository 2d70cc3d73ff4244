// Segment-wise matching of one pattern: the part every path is asked for. Internal to lib/glob.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "glob/glob.hpp"

namespace vx::glob::detail {

struct segment {
  enum class kind : std::uint8_t {
    globstar,  ///< any number of segments
    any,       ///< "*"
    exact,     ///< no wildcard
    ends,      ///< one star and nothing else: head*tail
    wild       ///< everything else
  };
  segment::kind is;
  std::uint32_t star = 0;  ///< ends: where the star stands
  std::string_view text;

  static segment of(std::string_view text) noexcept;
  bool match(std::string_view name) const noexcept;
};

/// Length in bytes of what '?' takes at `at`: one well-formed UTF-8 sequence, else one byte.
std::size_t unit_at(std::string_view text, std::size_t at) noexcept;

/// '*' any run, '?' one unit; both may match a leading dot.
bool wild_match(std::string_view pattern, std::string_view name) noexcept;

/// A pattern that is neither a tree nor everything. Views alias the pattern's text, which must stay where it is.
class compiled {
 public:
  explicit compiled(const pattern& p);
  std::string_view prefix() const noexcept { return prefix_; }
  bool match(std::string_view path) const noexcept { return is_within_prefix(path) && match_below(path); }
  /// `path` is known to lie within prefix().
  bool match_below(std::string_view path) const noexcept;
  /// Could something at or below `dir` match?
  bool may_match_below(std::string_view dir) const noexcept;
  /// A match of a directory is a match of everything below it.
  bool closed() const noexcept { return closed_; }

 private:
  bool is_within_prefix(std::string_view path) const noexcept;
  std::string_view prefix_;
  std::vector<segment> segments_;
  std::size_t first_ = 0, last_ = 0;  ///< first and last globstar; both size() when there is none
  bool closed_ = false;
};

}  // namespace vx::glob::detail
