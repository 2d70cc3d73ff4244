// The per-checkout index: <root>/.vx/index-1.db (cache.md 2.3, 3.3). Stamps, memos, config evaluations, history. Thread-safe.
// Reads may be asked at any time; writes of a run are collected and land in few transactions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "cache/entry.hpp"
#include "key/digest.hpp"

namespace vx::cache {

/// A row of file_hashes; used only when all four stamps are equal.
struct file_memo {
  std::string path;  ///< root-relative
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  std::uint64_t ino = 0;
  key::oid id;
};

struct invocation_row {
  run_id run{};
  std::string command, requested, policy;  ///< requested: JSON array text
  std::int64_t concurrency = 0;
  std::string flow;  ///< "" = NULL
  std::int64_t started_ns = 0, ended_ns = 0, duration_ns = 0;
  std::int64_t task_count = 0, failed_count = 0, hit_count = 0, hit_local = 0, hit_remote = 0;
  std::int64_t up_to_date = 0, restored_local = 0, restored_remote = 0;
  bool exit_ok = false;
  std::optional<std::string> commit_sha, branch;
  std::optional<bool> dirty;
  bool ci = false;
  std::optional<std::string> ci_provider, host;
  std::string os, arch, vx_version, tags = "{}";
};

struct run_row {
  std::int64_t id = 0;  ///< assigned by the database
  run_id run{};
  std::optional<digest128> key;
  std::string project, task, status;  ///< success, failed, cache-hit, cache-hit-remote, skipped
  std::int64_t exit_code = 0, duration_ns = 0;
  std::optional<std::int64_t> cpu_ns, rss_bytes;
  std::int64_t started_ns = 0, ended_ns = 0;
  std::optional<std::int64_t> mono_start_ns, mono_end_ns;
  std::int64_t attempts = 1;
  bool cached = false;           ///< has a cache block that this run could use
  std::optional<bool> restored;  ///< hits: false = up-to-date
  bool saved = false;
  std::string withheld;    ///< cache.md 6.5, "" = NULL
  std::string blocked_by;  ///< "" = NULL
  bool timed_out = false;
  std::string not_ready;  ///< "" = NULL
  std::string forward;    ///< salted digest, "" = NULL
  std::string inputs;     ///< what an unsaved result's key was made of (unsaved_inputs), "" = NULL; only written here
};

/// Median durations of executed successes over the last 50 invocations, per task id.
struct duration_stat {
  std::string id;  ///< "<project>#<task>"
  std::int64_t p50_ns = 0;
};

class index {
 public:
  struct open_options {
    bool create = true;  ///< false: reading verbs; absent reads as empty
    std::function<void(const std::string&)> notice;
  };
  /// An unusable .vx gives an in-memory index and one line. Fails only for misuse.
  static result<std::unique_ptr<index>> open(const std::string& root, const open_options& options);
  ~index();
  index(const index&) = delete;
  index& operator=(const index&) = delete;
  bool persistent() const noexcept;  ///< false: in memory

  // Output stamps and directory snapshots, by key.
  struct current_state {
    std::vector<output_stamp> stamps;
    std::string dirs;  ///< raw output_dirs blob, "" = none
  };
  std::vector<std::optional<current_state>> current_many(const std::vector<digest128>& keys);
  void put_stamps(const digest128& key, const std::vector<output_stamp>& stamps);  ///< queued; also drops the dirs row
  void put_dirs(const digest128& key, std::string blob);                           ///< queued
  void drop_stamps(const digest128& key);                                          ///< queued

  // Memos (keys.md 12, 11, 10).
  std::vector<file_memo> file_memos(const std::vector<std::string>& paths);  ///< rows that exist, any order
  /// Every row at once, for runs that will want most of them (a tree with many dirty or untracked files).
  std::size_t file_memo_count();
  void put_file_memos(std::vector<file_memo> rows);  ///< queued
  std::vector<std::pair<key::oid, std::uint64_t>> blob_sizes(const std::vector<key::oid>& ids);
  void put_blob_sizes(const std::vector<std::pair<key::oid, std::uint64_t>>& rows);  ///< queued
  std::optional<std::string> verdict(const digest128& digest);                       ///< NUL-separated paths
  void put_verdict(const digest128& digest, std::string paths);                      ///< queued

  // Config evaluations (config.md 5.4). The trace and the JSON are the workspace layer's bytes.
  struct config_eval {
    std::string path, trace, json;
  };
  std::vector<config_eval> config_evals(const std::vector<std::string>& paths);  ///< rows that exist
  void put_config_evals(std::vector<config_eval> rows);                          ///< queued

  /// Free-form blobs of this checkout in `meta` (the manifest memo of the workspace layer).
  std::optional<std::string> meta(std::string_view name);
  void put_meta(std::string name, std::string value);  ///< queued

  /// Writes everything queued in one transaction. False: skipped (busy, full); the queue is dropped.
  bool flush();

  // History (cache.md 15).
  status record(const invocation_row& inv, const std::vector<run_row>& rows);  ///< one transaction, with the queue
  std::vector<duration_stat> recent_durations(std::size_t invocations = 50);
  std::vector<invocation_row> invocations(std::size_t newest, bool failed_only = false);
  std::vector<std::string> find_runs(std::string_view id_prefix);  ///< formatted run ids
  std::vector<run_row> runs_of(const run_id& run);
  std::vector<run_row> recent_runs_of(const std::string& project, const std::string& task, std::size_t invocations);
  bool key_failed_before(const digest128& key);

 private:
  index();
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::cache
