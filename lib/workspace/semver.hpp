// npm's semantic versions and ranges, as far as linking a workspace package needs them (config.md 3). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::workspace::semver {

/// A parsed version; build metadata is dropped, a leading 'v' or '=' tolerated.
struct version {
  std::array<std::uint64_t, 3> number{};
  std::vector<std::string> pre;  ///< pre-release identifiers, empty for a release
};
std::optional<version> parse_version(std::string_view text);
/// Negative, zero or positive; a pre-release sorts before its release.
int compare(const version& a, const version& b) noexcept;

/// An npm range: alternatives of comparator sets.
class range {
 public:
  /// nullopt: not a range (a dist-tag, a URL, a path).
  static std::optional<range> parse(std::string_view text);
  /// npm's rule: a pre-release satisfies a set only when a comparator of it names a pre-release of the same triple.
  bool contains(const version& v) const noexcept;

 private:
  enum class op : std::uint8_t { lt, le, gt, ge, eq };
  struct comparator {
    op how;
    version bound;
  };
  using set = std::vector<comparator>;
  friend struct range_parser;
  std::vector<set> any_of_;
};

}  // namespace vx::workspace::semver
