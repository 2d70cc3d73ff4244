// The inside of the index: index.cpp has its memos and their queue, history.cpp its runs.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/database.hpp"
#include "cache/index.hpp"

namespace vx::cache {

struct index::impl {
  std::string root, dir;
  open_options options;
  std::mutex mutex;  ///< guards everything below
  database db;
  std::uint64_t db_ino = 0;
  bool persistent = false, writable = false, damaged = false, told = false;

  // What waits for the next transaction. An empty optional deletes the row.
  std::unordered_map<digest128, std::optional<std::string>, digest128_hash> stamps, dirs;
  std::vector<file_memo> files;
  std::vector<std::pair<key::oid, std::uint64_t>> sizes;
  std::unordered_map<digest128, std::string, digest128_hash> verdicts;
  std::map<std::string, config_eval> evals;
  std::map<std::string, std::string> metas;
  // Rows that were read and not seen for a day: they are in use.
  std::vector<digest128> seen_keys;
  std::vector<std::string> seen_files, seen_evals;

  void open();
  void open_in_memory();
  std::string other_schema() const;
  database_request db_request();
  void note(const std::string& line);
  /// Locks, replaces a database found damaged, and lands queued rows a reader may ask for.
  std::unique_lock<std::mutex> use(bool land_queue = true);
  void failed() noexcept { damaged = damaged || db.is_damage(); }
  bool queue_empty() const noexcept;
  void clear_queue();
  bool write_queue(std::int64_t now);  ///< inside a transaction
  bool write_outputs(std::int64_t now);
  bool write_memos(std::int64_t now);
  bool touch_seen(std::int64_t now);
  bool flush_locked();
  status write_run(const invocation_row& inv, const std::vector<run_row>& rows, std::int64_t now);
  bool sweep(std::int64_t now);  ///< daily, inside a transaction
};

}  // namespace vx::cache
