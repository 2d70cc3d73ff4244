// One task from its key to its outcome (run.md 8.2), on a worker thread. Saving is handed back as a job for the save lane.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "exec/capture.hpp"
#include "run/additive.hpp"
#include "run/state.hpp"

namespace vx::run {

/// A success that will be stored: packed and written off the slot, after which dependants may start.
struct save_job {
  std::uint32_t node = 0;
  cache::save_request request;
  std::vector<cache::output_row> listing;  ///< what the command had left when it ended
};

struct ended_task {
  task_outcome outcome;
  std::optional<save_job> save;
};

class task_runner {
 public:
  explicit task_runner(run_state& s) : s_(s) {}

  /// Looks up, restores or executes. `tainted`: it runs behind a failure, so nothing it makes may be stored.
  ended_task execute(std::uint32_t node, bool tainted);
  /// The restore tier. nullopt: the artifact has vanished, the node goes back to the schedule.
  std::optional<task_outcome> restore_hit(std::uint32_t node);
  /// A tier hit that is already in place: no work, only the outcome.
  task_outcome current_hit(std::uint32_t node);
  /// On the save lane: stores, then updates the outcome (saved, withheld).
  void save(save_job job);

  /// Derives the key if nothing has; false when the task fails at key time (the outcome is filled in).
  bool ensure_key(std::uint32_t node, task_outcome& out);
  void say(std::uint32_t node, level l, std::string line);
  /// Fails a task whose command does not run: says why and keeps that in the place of its output.
  void fail_unrun(std::uint32_t node, task_outcome& out, const std::string& why);

 private:
  struct attempt_log;
  std::optional<task_outcome> try_hit(std::uint32_t node);
  std::optional<task_outcome> finish_restore(std::uint32_t node, const cache::lookup_result& hit, bool current);
  void replay(std::uint32_t node, const cache::lookup_result& hit, task_outcome& out);
  ended_task miss(std::uint32_t node, bool tainted);
  bool clean(std::uint32_t node, task_outcome& out);
  exec::spawn_result attempts(std::uint32_t node, bool cleans, attempt_log& log, task_outcome& out);
  void after_success(std::uint32_t node, bool tainted, const std::optional<inputs::facts::description>& described,
                     const additive_task::found* found, attempt_log& log, ended_task& end);
  bool owns_what_it_added(std::uint32_t node, const additive_task::found& found, const cache::stamped_outputs& left,
                          std::vector<cache::output_row>& rows, task_outcome& out);
  std::string_view reason_not_to_save(std::uint32_t node, bool tainted,
                                      const std::optional<inputs::facts::description>& described);
  void keep_inputs(std::uint32_t node, const std::optional<inputs::facts::description>& described);
  void keep_inputs(std::uint32_t node, std::vector<key::component> components);
  void after_uncached(std::uint32_t node);
  void watch_fingerprint(std::uint32_t node);
  void forget_outputs(std::uint32_t node, const result<std::vector<cache::output_row>>& rows);
  void mark_outputs(std::uint32_t node, const std::vector<cache::output_row>& rows);
  void warn_unmatched_outputs(std::uint32_t node);

  run_state& s_;
};

/// The small copy of a task's output that is kept when it fails: first 8 KiB, last 56 KiB.
exec::capture make_failure_capture();
std::string failure_text(exec::capture& kept);

/// The spawn of a task: shell, prepared command, directory, environment, limits.
exec::spawn_spec make_spawn(const run_state& s, std::uint32_t node);
/// exec.timeout, then the run's; 0 = none.
std::uint32_t timeout_of(const run_state& s, std::uint32_t node);

}  // namespace vx::run
