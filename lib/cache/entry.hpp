// What the store keeps about one finished task, as values (cache.md 3.4, 4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fs.hpp"
#include "glob/glob.hpp"
#include "key/fold.hpp"

namespace vx::cache {

enum class space : std::uint8_t { project = 0, workspace = 1 };

/// One recorded output. Sorted by (space, path) everywhere.
struct output_row {
  cache::space space = cache::space::project;
  char kind = 'f';  ///< 'f' file, 'l' link, 'd' directory (empty, or mode other than 0755)
  std::uint16_t mode = 0644;
  fs::timestamp mtime;  ///< files only
  std::uint64_t size = 0;
  std::string path;    ///< relative to the project directory or the root
  std::string target;  ///< link text
};

/// inode and ctime as seen in this checkout; (0, 0) = none.
struct output_stamp {
  std::uint64_t ino = 0;
  std::int64_t ctime_ns = 0;
};

/// One record of the captured log, in arrival order.
struct log_record {
  std::uint8_t stream = 1;  ///< 1 stdout, 2 stderr, 0 = dropped: `dropped` bytes of the middle are missing here
  std::string bytes;
  std::uint64_t dropped = 0;
};
std::string encode_log(const std::vector<log_record>& log);
result<std::vector<log_record>> decode_log(std::string_view raw);

struct exec_stats {
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> cpu_ns, peak_rss_bytes;
};

/// A row of `entries`, without outputs.
struct entry {
  std::int64_t id = 0;
  digest128 key;
  std::string project, task;
  bool from_remote = false;
  std::uint64_t artifact_bytes = 0, output_bytes = 0, output_count = 0, log_bytes = 0;
  exec_stats stats;
  std::int64_t created_ns = 0, used_ns = 0;
};

/// A task's outputs declaration in executable form: what it owns in its project and in the workspace, and the walls of both
/// scans.
struct output_scope {
  std::string root;                                 ///< absolute workspace root
  std::string project_dir;                          ///< root-relative, "" for the root project
  std::vector<std::string> files, workspace_files;  ///< as declared
  glob::matcher files_match, workspace_match;
  /// Project-relative directories of other projects strictly below this one: never reached by `files`.
  std::shared_ptr<const std::vector<std::string>> nested;  ///< sorted; may be null
  /// The task adds to what a dependency left (cache.md 11): it owns its recorded rows and nothing that its globs match besides.
  bool additive = false;
  /// Rows that a dependant added in this checkout: no strays. Sorted; may be null.
  std::shared_ptr<const std::vector<std::pair<cache::space, std::string>>> tolerated;
  bool declares_any() const noexcept { return !files.empty() || !workspace_files.empty(); }
};

}  // namespace vx::cache
