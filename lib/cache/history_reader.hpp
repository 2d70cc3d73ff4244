// Questions about recorded runs that only reading verbs ask (cli.md 12, 14 to 16), on a connection of their own that can change
// nothing. Every one is bounded by the 30 days that history keeps. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/index.hpp"

namespace vx::cache {

/// What the runs of a period did.
struct run_counts {
  std::uint64_t tasks = 0, hits = 0, restored = 0;
};

/// A task of which one key both passed and failed.
struct flaky_task {
  std::string project, task;
  std::uint64_t keys = 0, passes = 0, failures = 0;  ///< of executions; attempts that a retried pass lost are failures
};

class history_reader {
 public:
  /// Over <root>/.vx/index-1.db. A database that is absent or damaged reads as empty.
  explicit history_reader(const std::string& root);
  ~history_reader();
  history_reader(const history_reader&) = delete;
  history_reader& operator=(const history_reader&) = delete;

  std::optional<std::string> policy_of(const run_id& run);  ///< cache axes of an invocation
  /// What the key of an unsaved result of that run was made of (decode_unsaved_inputs); "" = not recorded.
  std::string unsaved_inputs(const run_id& run, const digest128& key);
  bool has_run(const std::string& project, const std::string& task);
  std::vector<std::pair<std::string, std::string>> recorded_tasks(
      std::size_t invocations);                                ///< (project, task) of the newest, sorted
  std::optional<std::string> fixed_in(const run_row& failed);  ///< the first later run in which its task passed
  run_counts counts_since(std::int64_t from_ns);
  std::vector<std::pair<digest128, std::uint64_t>> hit_keys_since(std::int64_t from_ns);  ///< keys of hits and how often
  std::vector<flaky_task> flaky_tasks(std::int64_t from_ns);                              ///< by project, then task

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::cache
