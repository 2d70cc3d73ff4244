// "Would git ignore this path?" for paths that appear during a run: one `git check-ignore` answers them all (keys.md 15.1,
// 16, 17.2).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/subprocess.hpp"
#include "inputs/region.hpp"
#include "inputs/walk.hpp"

namespace vx::inputs {

/// Not thread-safe: the owner serialises.
class ignore_query {
 public:
  explicit ignore_query(const tree_context& tree) : tree_(tree), walked_(tree.root_fd, "") {}
  ~ignore_query();
  ignore_query(const ignore_query&) = delete;
  ignore_query& operator=(const ignore_query&) = delete;

  /// For existing root-relative paths: does an ignore rule cover each, itself or through a directory? Tracked state does not
  /// count. Failure: git gave no answer (a path inside a nested repository, behind a link).
  result<std::vector<bool>> ask(const std::vector<std::string>& paths);
  result<bool> ask_dir(const std::string& dir);
  /// The same as ask(), one question a path: nothing is learned about the directories above. With git only.
  result<std::vector<bool>> ask_each(const std::vector<std::string>& paths) { return ask_git(paths); }
  /// True when a directory above the path is known to be ignored: needs no question.
  bool known_ignored(std::string_view path) const;
  /// Rules at or below `dir` may have been rewritten.
  void forget_rules(std::string_view dir);

 private:
  void use_rules_for(std::string_view path);
  /// Asks about directories nothing is known of yet.
  status learn(std::vector<std::string> dirs);
  result<std::vector<bool>> ask_git(const std::vector<std::string>& paths);
  result<std::vector<bool>> ask_chunk(const std::vector<std::string>& paths, std::size_t begin, std::size_t end);
  void stop();

  const tree_context& tree_;
  ignore_rules walked_;  // without git
  std::optional<subprocess> process_;
  std::string unread_;                             // of its output
  std::map<std::string, bool, std::less<>> dirs_;  // what was answered about directories
  std::set<std::string, std::less<>> unsure_;      // directories whose rules may be newer than the process
};

}  // namespace vx::inputs
