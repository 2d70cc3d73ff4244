// The task-glob dialect (config.md 10, 11): one normaliser, one compiler, one matcher for inputs, outputs, clean, save,
// restore, --affected, watch and the overlap rules. Pure: no file system.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace vx::glob {

enum class side : std::uint8_t { input, output };

/// Validates one entry as written in a config. The message says what to write instead and names neither field nor file
/// (the caller does). List-level rules (only '!' entries, a literal that a '!' covers) are in check_list.
status check_entry(std::string_view entry, side of);
status check_list(const std::vector<std::string>& entries, side of);

/// "./src" -> "src", "a//b" -> "a/b", "!./x" -> "!x", "src/*/" -> "src/*/**", "\[id\]" -> "[id]" kept as literal text.
std::string normalize(std::string_view entry);

/// One pattern after brace expansion: no braces, no leading '!'. `literal` means no wildcard at all: the path or the tree
/// below.
struct pattern {
  std::string text;  ///< normalised and unescaped. Beyond `prefix` '*' and '?' are wildcards, in it all is literal
  bool literal = false;
  std::string prefix;  ///< static directory prefix: leading whole literal segments ("" reaches everything)
};

/// One entry taken apart: its sign and one pattern per brace alternative. Refuses what check_entry refuses for its structure.
struct parsed {
  bool negated = false;
  std::vector<pattern> patterns;
};
result<parsed> parse(std::string_view entry);
/// The pattern that owns exactly `path` and the tree below it, whatever characters it holds.
pattern literal_pattern(std::string path);
/// Does one pattern match `path`?
bool matches(const pattern& p, std::string_view path) noexcept;

/// A compiled list. match() is positive-and-not-negative; order never matters. Immutable, shareable between threads.
class matcher {
 public:
  matcher();  ///< matches nothing
  static result<matcher> compile(const std::vector<std::string>& entries);
  static matcher everything();  ///< "**"
  /// From patterns in hand, rebased ones for instance.
  static matcher from_patterns(std::vector<pattern> positives, std::vector<pattern> negatives);
  matcher(const matcher&);
  matcher(matcher&&) noexcept;
  matcher& operator=(const matcher&);
  matcher& operator=(matcher&&) noexcept;
  ~matcher();

  bool match(std::string_view path) const noexcept;     ///< a relative path, '/'-separated bytes
  bool positive(std::string_view path) const noexcept;  ///< some positive entry matches
  bool negative(std::string_view path) const noexcept;  ///< some '!' entry matches
  /// False only when nothing at or below `dir` can match (for pruning a walk); conservative.
  bool may_match_below(std::string_view dir) const noexcept;
  /// True when everything below `dir` (and `dir`) is certainly matched positively and no '!' entry can reach into it.
  bool owns_tree(std::string_view dir) const noexcept;
  bool empty() const noexcept;  ///< no positive entry
  bool has_negatives() const noexcept;
  bool is_everything() const noexcept;  ///< exactly one positive "**" and no negatives

  const std::vector<pattern>& positives() const noexcept;
  const std::vector<pattern>& negatives() const noexcept;

 private:
  struct impl;
  std::shared_ptr<const impl> impl_;
};

/// Overlap questions for graph.md 8 and 9 and keys.md 18. All patterns are in one space (rebase first).
/// Can some path match both? Conservative: true unless disproved.
bool may_meet(const pattern& a, const pattern& b) noexcept;
/// Is there provably a path both own? (equal; a literal matched by or inside the other; `P/**` against a pattern whose prefix
/// is P or below; a constructed witness path.) Never true when undecidable.
bool provably_overlap(const pattern& a, const pattern& b);
/// Everything `inner` can match is matched by `outer`. Never true when undecidable.
bool covers(const pattern& outer, const pattern& inner);
/// The pattern as seen from a directory above: dir "packages/a" + "src/**" -> "packages/a/src/**" (dir is literal text).
pattern rebase(std::string_view dir, const pattern& p);

/// Matches one segment-wise pattern with the member dialect (config.md 2.3): character classes, dot names not matched by
/// wildcards, braces expanded. Used for package lists, `projects`, filter paths.
class member_matcher {
 public:
  /// Refuses extended globs with the exact rewrite where there is one.
  static result<member_matcher> compile(const std::vector<std::string>& entries);
  /// A root-relative directory ("" the root), by the positive entries alone: `excluded` is the other half.
  bool match(std::string_view dir) const noexcept;
  const std::vector<std::string>& positives() const noexcept;  ///< normalised, brace-expanded, without '!'
  /// Excluded by a '!' entry, asked with the directory and the file name that made it a candidate ("package.json").
  bool excluded(std::string_view dir, std::string_view marker) const noexcept;
  bool may_match_below(std::string_view dir) const noexcept;

 private:
  std::vector<std::string> positives_, negatives_;
};
bool member_pattern_is_literal(std::string_view pattern) noexcept;
bool member_pattern_has_globstar(std::string_view pattern) noexcept;

}  // namespace vx::glob
