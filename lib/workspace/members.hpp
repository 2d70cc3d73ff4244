// Member globs (config.md 2.3) turned into candidate directories.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "glob/glob.hpp"

namespace vx::workspace {

/// A list as written, and where it stands (for messages).
struct member_list {
  std::string file, field;
  std::vector<std::string> entries;
};

/// A checked list. The root itself is kept apart: no pattern stands for it.
struct member_globs {
  std::string file, field;
  glob::member_matcher matcher;
  bool any = false;                         ///< some positive entry, the root included
  bool root_listed = false;                 ///< "." is an entry and "!." is not
  std::vector<std::string> literals;        ///< positive entries without wildcards, normalised; "" is the root
  std::vector<std::string> excluded_trees;  ///< `!` entries without wildcards: not walked

  /// Whether the list means `dir` (root-relative, not the root), whose candidacy rests on the file `marker`.
  bool lists(std::string_view dir, std::string_view marker) const noexcept;
};

/// Refuses by entry and field: extended globs, members outside `root`, empty entries.
result<member_globs> compile_members(const member_list& list, std::string_view root);

struct candidate {
  std::string dir;
  bool below_star = false;  ///< found by `<dir>/*` alone: an unsearchable one is skipped, not refused
  bool via_link = false;    ///< a component before the last is, or may be, a symbolic link
};

/// Directories the positive entries reach, sorted by path, each once. `!` entries are not applied: they need the marker file.
/// `root` is absolute, `root_fd` an open descriptor of it.
result<std::vector<candidate>> expand_members(const std::string& root, int root_fd, const member_globs& globs);

}  // namespace vx::workspace
