// Listing without git: regular files and links, honouring .gitignore files from a directory down (keys.md 14).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "glob/gitignore.hpp"

namespace vx::inputs {

/// The `.gitignore` files at and below `base`, read when they are first asked for. Not thread-safe.
class ignore_rules {
 public:
  /// `base` root-relative; "" is the root. Rules above it do not count.
  ignore_rules(int root_fd, std::string base) : root_(root_fd), base_(std::move(base)) {}
  /// Is the path ignored, by itself or through a directory above it (below `base`)?
  bool ignored(std::string_view path, bool is_dir);
  /// Is it ignored by a rule about itself, given that nothing above it is?
  bool ignored_itself(std::string_view path, bool is_dir);
  /// Rules were rewritten.
  void forget() { files_.clear(); }

 private:
  const glob::ignore_file* rules_of(std::string_view dir);
  int root_;
  std::string base_;
  std::map<std::string, std::unique_ptr<glob::ignore_file>, std::less<>> files_;  // by directory; null: none there
};

/// Root-relative paths below `dir`, sorted. Skips node_modules, .git and .vx at any depth; unreadable directories hold nothing.
std::vector<std::string> walk_tree(int root_fd, std::string_view dir, ignore_rules& rules);

}  // namespace vx::inputs
