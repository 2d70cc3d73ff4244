// What git said about untracked files (question 2 of keys.md 8), remembered with everything the answer hangs on. git walks
// every directory for it, which takes as long as all the rest of a run in which nothing changed. A directory can't gain, lose
// or swap an entry without moving its ctime, so an answer still holds when no directory git looks into has moved, no ignore
// rule and no setting changed, and the same paths are tracked. Where only few directories moved, git is asked about those.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/index.hpp"
#include "inputs/listing.hpp"
#include "key/digest.hpp"

namespace vx::inputs {

struct untracked_memo {
  struct stamp {
    std::string_view path;  ///< directories: root-relative, "" = the root. Rules: root-relative or absolute
    std::uint64_t ino = 0;  ///< 0: equal to nothing on disk, for a directory; absent, for a rule
    std::int64_t ctime_ns = 0;
  };
  digest128 question;                        ///< tracked paths, git, its settings: what else decides the answer
  std::vector<stamp> dirs;                   ///< every directory git looks into; sorted
  std::vector<stamp> rules;                  ///< every file ignore rules come from, or would if it were there; sorted
  std::string_view answer;                   ///< of `git ls-files --others -z`
  std::shared_ptr<const std::string> bytes;  ///< owns what the views show

  /// The bytes `decode` reads; views alias nothing of this object.
  std::string encode() const;
  /// nullopt: another version, or damage.
  static std::optional<untracked_memo> decode(std::shared_ptr<const std::string> bytes);
  static std::optional<untracked_memo> load(cache::index& memo);
};

/// What is left to ask. After stat_tracked: `listing.dirs` are looked at.
struct untracked_question {
  bool whole = true;
  std::vector<std::string> dirs;  ///< not whole: only below these; empty = nothing at all
};
untracked_question still_unknown(const untracked_memo& memo, const tree_context& tree, const start_listing& listing);

/// The remembered answer without what lies below `dirs`, and `fresh` in its place.
std::string splice_answer(std::string_view remembered, const std::vector<std::string>& dirs, std::string_view fresh);

/// Queues a memo of `listing.untracked` if this run asked git and the answer can be believed again. Reads the directories that
/// moved.
void remember_untracked(const tree_context& tree, const start_listing& listing, cache::index& memo);

}  // namespace vx::inputs
