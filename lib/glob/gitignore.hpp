// .gitignore rules for the walk without git (keys.md 14): last match wins, '!' re-includes, a directory pattern ends the
// descent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vx::glob {

/// The rules of one .gitignore file, relative to the directory that holds it.
class ignore_file {
 public:
  static ignore_file parse(std::string_view text);
  enum class verdict : unsigned char { none, ignored, included };
  /// `path` relative to the file's directory.
  verdict check(std::string_view path, bool is_dir) const noexcept;
  bool empty() const noexcept { return rules_.empty(); }

 private:
  struct rule {
    std::string pattern;
    bool negated, dir_only, anchored;
  };
  std::vector<rule> rules_;
};

}  // namespace vx::glob
