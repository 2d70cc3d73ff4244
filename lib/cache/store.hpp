// The shared store: store-1.db and the artifacts beside it (cache.md 2, 3, 4, 6, 7, 9, 12, 14). Thread-safe; safe beside
// other processes. Every failure of the store is a value the caller can turn into "miss, and one line".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "cache/entry.hpp"
#include "cache/index.hpp"

namespace vx::cache {

enum class store_source : std::uint8_t { flag, config, env, shared, workspace };
enum class store_mode : std::uint8_t { read_write, read_only, none };

struct store_location {
  std::string dir;  ///< absolute
  store_source source = store_source::shared;
};
struct location_request {
  std::string root;                       ///< absolute workspace root
  std::string cwd;                        ///< for a relative --cache-dir
  std::optional<std::string> flag;        ///< --cache-dir
  std::string flag_name = "--cache-dir";  ///< what refusals call it
  std::optional<std::string> config;      ///< cacheDir of vx.workspace.*
  const environment* env = nullptr;
  std::string repo_id;  ///< "" = none: the fallback <root>/.vx/cache
};
/// cache.md 2.1. Refuses a named directory that is blank, holds a manifest or contains the workspace.
result<store_location> locate_store(const location_request& request);

/// Lines for the user, collected by the caller ("cache: ... "). One per class of trouble.
using notice_fn = std::function<void(const std::string& line)>;

struct open_options {
  bool create = true;       ///< false: a reading verb; absent reads as empty, nothing is written
  bool private_dir = true;  ///< the shared default store: 0700/0600
  notice_fn notice;
};

struct lookup_result {
  cache::entry entry;
  std::vector<output_row> outputs;
};

struct save_request {
  digest128 key;
  std::string project, task;
  std::string command;  ///< masked; "" = NULL
  const output_scope* scope = nullptr;
  std::string log;  ///< encode_log()
  exec_stats stats;
  std::vector<key::component> components;  ///< entry_inputs rows
  /// What list_outputs() gave when the command had just ended; null: listed again here.
  const std::vector<output_row>* listing = nullptr;
};
/// What became of a save. A refusal is not a failure of the store: the task stays green and `reason` is printed.
struct save_result {
  enum class outcome : std::uint8_t { saved, unstorable_output, output_changing, too_large, store_error } how = outcome::saved;
  std::string reason;  ///< also when saved: advice about a very large artifact, else ""
  std::uint64_t artifact_bytes = 0;
  std::vector<output_row> outputs;   ///< when saved
  std::vector<output_stamp> stamps;  ///< same order
};

struct restore_result {
  enum class outcome : std::uint8_t {
    restored,   ///< the tree now equals the entry
    missing,    ///< artifact gone, damaged or unreadable: a miss with one line
    refused,    ///< the declaration and the tree disagree (links): the task fails, the tree is untouched
    tree_error  ///< the tree could not be written: the task fails
  } how = outcome::restored;
  std::string reason;
  std::vector<output_stamp> stamps;  ///< restored: in row order
  std::vector<std::string> touched;  ///< root-relative paths written or removed, for the run's facts
};

class store {
 public:
  /// Never fails for an unusable directory: the mode tells, and `notice` got one line. Fails only for misuse.
  static result<std::unique_ptr<store>> open(const store_location& where, const open_options& options);
  ~store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;

  store_mode mode() const noexcept;
  const std::string& dir() const noexcept;
  bool empty();                            ///< no entry rows and no artifacts: the short-circuit is skipped
  const digest128& salt() const noexcept;  ///< 16 random bytes drawn once per store

  /// Batched: one result per key, in order; rows checked against the artifact's file and size. With `outputs` false the rows
  /// are left out (plans). An orphan artifact (file, no row) is NOT adopted here: see adopt(). Never throws, never fails:
  /// trouble is a miss and one notice.
  std::vector<std::optional<lookup_result>> lookup_many(const std::vector<digest128>& keys, bool outputs);
  std::optional<lookup_result> lookup(const digest128& key);
  /// Artifact without a row: scan, verify against the declaration, index. nullopt: no such file, or refused.
  std::optional<lookup_result> adopt(const digest128& key, const std::string& project, const std::string& task,
                                     const output_scope& scope);
  bool artifact_present(const digest128& key);  ///< a stat of <key>.tar.zst

  /// cache.md 6.3. Thread-safe; called on the save lane.
  save_result save(const save_request& request);

  /// cache.md 9: stage, verify, swap. `stage_dir` is <root>/.vx/stage. Thread-safe.
  restore_result restore(const lookup_result& hit, const output_scope& scope, const std::string& stage_dir);

  /// The artifact as it lies in the store, to a descriptor. NOT_FOUND: there is none.
  status export_artifact(const digest128& key, int fd);
  /// An artifact from a descriptor: bounded while it is read, verified against the declaration, then placed and indexed as a
  /// save is. CORRUPT: it is not an artifact of this key, and nothing was placed.
  status import_artifact(const digest128& key, int fd, const std::string& project, const std::string& task,
                         const output_scope& scope);

  /// An empty file without a name in the store's directory, for an artifact on its way.
  result<unique_fd> scratch_file();

  result<std::string> read_log(const entry& e);  ///< encoded log, from entry_logs or the artifact
  result<std::vector<key::component>> read_components(const entry& e);
  /// The newest entry of a task, for live miss reasons and `why`.
  std::optional<entry> newest_of(const std::string& project, const std::string& task);

  void touch_used(const std::vector<digest128>& keys,
                  std::int64_t now_ns);  ///< one transaction; skips rows that are fresh enough
  void drop(const digest128& key);       ///< a damaged entry, unless read-only

  struct retention {
    std::optional<std::int64_t> older_than_ns = std::int64_t{30} * 24 * 3600 * 1'000'000'000;
    std::optional<std::uint64_t> max_bytes = std::uint64_t{10} << 30;
  };
  struct prune_report {
    std::uint64_t evicted = 0, bytes_freed = 0, orphans = 0, orphan_bytes = 0;
  };
  result<prune_report> prune(const retention& policy, bool dry_run, bool explicit_request);

  struct statistics {
    std::uint64_t entries = 0, bytes = 0, orphan_artifacts = 0, orphan_bytes = 0;
    std::optional<std::int64_t> oldest_use_ns;
    std::vector<std::pair<std::string, std::pair<std::uint64_t, std::uint64_t>>> projects;  ///< name -> entries, bytes
    std::vector<std::string> bad_files;
  };
  result<statistics> stats();

 private:
  store();
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Removes what killed processes left below `stage_dir`. For the holder of the run lock: nobody else stages there then.
void remove_dead_stages(const std::string& stage_dir);

}  // namespace vx::cache
