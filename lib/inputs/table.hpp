// The files of a workspace as one sorted table, and what is known about each. Tables are immutable values that are replaced;
// the content facts they point to live as long as the pool.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "git/arena.hpp"

namespace vx::inputs {

/// What hashing told about one file. Written once under the hasher's lock, then only read; a fact that dies gets a new slot.
struct slot {
  enum class state : std::uint8_t {
    unknown,
    known,       ///< `text` is its identity
    unstable,    ///< known, but it changed while it was read: the last hash
    absent,      ///< gone, or no file and no link any more
    unreadable,  ///< `error` says why
  };
  std::atomic<state> is{state::unknown};
  std::uint8_t length = 0;
  int error = 0;
  std::int64_t date_ns = 0;  ///< wall clock just before its lstat
  char text[72];             ///< "100755:" and 64 digits at most

  std::string_view identity() const noexcept { return {text, length}; }
};

struct file {
  std::string_view path;      ///< root-relative
  std::string_view identity;  ///< from the index, when trusted
  slot* content = nullptr;    ///< null: trusted
  bool tracked = false;
  bool clean = false;  ///< the index's recorded stat agrees, whatever the trust
};

using file_range = std::pair<std::size_t, std::size_t>;

/// "a/b" stands before "a/b/": where the names below a directory begin and end in bytewise order.
struct below_bounds {
  std::string_view dir;
  bool before_begin(std::string_view path) const noexcept {  // path < dir + "/"
    const int head = path.substr(0, dir.size()).compare(dir);
    if (head != 0) return head < 0;
    return path.size() == dir.size() || static_cast<unsigned char>(path[dir.size()]) < '/';
  }
  bool before_end(std::string_view path) const noexcept {  // path < dir + "0", the byte after '/'
    const int head = path.substr(0, dir.size()).compare(dir);
    if (head != 0) return head < 0;
    return path.size() == dir.size() || static_cast<unsigned char>(path[dir.size()]) <= '/';
  }
};

/// The range of the names strictly below `dir` ("" = all) in a sorted sequence.
template <class It, class Path>
std::pair<It, It> names_below(It begin, It end, std::string_view dir, Path path) {
  if (dir.empty()) return {begin, end};
  const below_bounds bounds{dir};
  const It first = std::partition_point(begin, end, [&](const auto& f) { return bounds.before_begin(path(f)); });
  const It last = std::partition_point(first, end, [&](const auto& f) { return bounds.before_end(path(f)); });
  return {first, last};
}

class table {
 public:
  std::vector<file> files;  ///< sorted by path, each once; not changed any more once a reader has asked

  /// Remembered by directory: each task of a project asks again.
  file_range below(std::string_view dir) const {
    if (dir.empty()) return {0, files.size()};
    const std::lock_guard lock(mutex_);
    if (const auto at = ranges_.find(dir); at != ranges_.end()) return at->second;
    const auto [a, b] = names_below(files.begin(), files.end(), dir, [](const file& f) { return f.path; });
    const file_range range{static_cast<std::size_t>(a - files.begin()), static_cast<std::size_t>(b - files.begin())};
    ranges_.emplace(dir, range);
    return range;
  }
  /// Position of the first file not before `path`.
  std::size_t lower(std::string_view path) const {
    return static_cast<std::size_t>(
        std::partition_point(files.begin(), files.end(), [&](const file& f) { return f.path < path; }) - files.begin());
  }
  const file* find(std::string_view path) const { return find_in({0, files.size()}, path); }
  const file* find_in(file_range range, std::string_view path) const {
    const auto end = files.begin() + static_cast<std::ptrdiff_t>(range.second);
    const auto at = std::partition_point(files.begin() + static_cast<std::ptrdiff_t>(range.first), end,
                                         [&](const file& f) { return f.path < path; });
    return at != end && at->path == path ? &*at : nullptr;
  }

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
  };
  mutable std::mutex mutex_;  // guards ranges_
  mutable std::unordered_map<std::string, file_range, text_hash, std::equal_to<>> ranges_;
};
using table_ptr = std::shared_ptr<const table>;

/// Owns the bytes behind paths and identities, and the slots.
class pool {
 public:
  std::string_view copy(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return texts_.copy(text);
  }
  char* take(std::size_t n) {
    const std::lock_guard lock(mutex_);
    return texts_.take(n);
  }
  slot* new_slot() {
    const std::lock_guard lock(mutex_);
    return &slots_.emplace_back();
  }
  void keep(std::shared_ptr<const void> what) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(what));
  }

 private:
  std::mutex mutex_;
  git::arena texts_;
  std::deque<slot> slots_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace vx::inputs
