// One space of an outputs declaration, ready to answer "is this path mine": globs, walls (.git, .vx), the node_modules rule and
// the fence of nested projects in one place, so that listing, cleaning, saving, restoring and adopting can't differ
// (cache.md 5.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cache/entry.hpp"

namespace vx::cache {

/// `.git` or `.vx` in any letter case, as any component.
bool is_walled(std::string_view path) noexcept;
/// cache.md 10: a path that may name an output. Says why not, or nullptr.
const char* bad_output_path(std::string_view path) noexcept;

class scope_space {
 public:
  scope_space(const output_scope& scope, cache::space which);

  cache::space which() const noexcept { return which_; }
  bool declares_any() const noexcept { return !declared_->empty(); }
  /// Absolute path of the directory the paths are relative to.
  std::string base_path() const;
  /// `path` as seen from the workspace root.
  std::string from_root(std::string_view path) const;

  bool owns(std::string_view path) const noexcept;
  /// May something owned lie at or below `dir`? For pruning walks.
  bool enters(std::string_view dir) const noexcept;

  /// Where a scan starts: a literal path, or the directory a wildcard is rooted at. No root lies below another.
  struct root {
    std::string path;  ///< "" = the base itself
    bool literal = false;
    bool subtree = false;  ///< P of `P/**`
  };
  const std::vector<root>& roots() const noexcept { return roots_; }
  /// A dependant of the task put it there: it is no stray.
  bool tolerates(const std::string& path) const noexcept;
  /// P of a declared `P/**`: kept by the clean.
  bool is_wildcard_root(std::string_view path) const noexcept;
  /// Only literals and `P/**` with a real P: a directory snapshot can prove the set.
  bool snapshot_shape() const noexcept;
  const glob::matcher& match() const noexcept { return *match_; }

 private:
  bool fenced(std::string_view path) const noexcept;
  const output_scope& scope_;
  cache::space which_;
  const glob::matcher* match_;
  const std::vector<std::string>* declared_;
  std::vector<root> roots_;
};

/// "P/**" with a wildcard-free P: P, else nullptr-like false.
bool is_subtree(const glob::pattern& p) noexcept;

/// cache.md 5.2 for one link: relative, short, never above the root at any step, never into .git or .vx. Says why not, or
/// nullptr. `link` is root-relative.
const char* bad_link_target(std::string_view link, std::string_view target);

}  // namespace vx::cache
