// Stats relative to the root: one system call a file, no allocation, links among the parents noticed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.hpp"
#include "base/unique_fd.hpp"

namespace vx::inputs {

/// lstat relative to `dir`. False: not there, or not to be reached; `info.kind` is none then. `error` gets errno (0 for
/// absence).
bool lstat_view(int dir, std::string_view path, fs::stat_info& info, int* error = nullptr);

/// lstats paths in sorted order and, once each, the directories that hold them: a path below a link counts as absent.
class prober {
 public:
  struct dir_stamp {
    std::string_view path;  ///< aliases the paths given
    fs::stat_info info;
  };
  /// `dirs`, when given, receives every directory looked at.
  explicit prober(int root, std::vector<dir_stamp>* dirs = nullptr) : root_(root), dirs_(dirs) {}
  /// The bytes of `path` must stay until the next call.
  bool probe(std::string_view path, fs::stat_info& info);
  /// True when the directory and all above it are directories.
  bool is_real_dir(std::string_view dir);

 private:
  struct level {
    std::size_t length;  ///< of the directory's path
    bool real;
  };
  int root_;
  std::vector<dir_stamp>* dirs_;
  std::string last_;  ///< the directory the levels describe
  std::vector<level> levels_;
  bool real_ = true;
};

/// The clock the kernel stamps files of local file systems with. It stands still for a tick, so that a file written now or
/// later has this stamp or a later one.
std::int64_t stamp_clock_ns() noexcept;

/// The clock for comparisons with a file's ctime: the file system's own where it is not this machine's (keys.md 12.3).
class file_clock {
 public:
  /// `root_fd` must stay open. On a network file system a probe file below `<root>/.vx` is rewritten for each reading.
  explicit file_clock(int root_fd);
  std::int64_t now_ns() const;

 private:
  int root_;
  bool network_;
};

}  // namespace vx::inputs
