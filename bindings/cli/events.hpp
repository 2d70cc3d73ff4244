// What a run tells (the records of vx_observer::event) as plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::cli {

enum class task_status : std::uint8_t { success, hit_local, hit_remote, failed, skipped, aborted, unknown };

/// task.start: what the task is.
struct task_start {
  std::string id;
  std::string command;      ///< as executed and masked; empty: none
  std::uint32_t index = 0;  ///< names the task in output calls
  bool group = false;
  bool requested = false;  ///< named by the caller
  bool surfaced = false;   ///< a real task that a requested group stands for
  bool persistent = false;
};

/// task.end: what became of it.
struct task_end {
  std::string id;
  task_status status = task_status::unknown;
  int exit_code = 0;
  double duration_ms = 0;
  bool group = false;
  bool no_cache = false;
  bool restored = true;  ///< false on a hit whose outputs were already in place
  bool timed_out = false;
  bool log = false;      ///< a hit whose stored output was replayed
  bool started = false;  ///< it ran, if only for a while (tells `aborted` from `not run`)
  std::string hash;
  std::string not_ready;  ///< "timeout", "exited", "spawn"
  std::string blocked_by;
  std::uint32_t attempts = 1;
  std::uint32_t violations = 0;
  std::vector<std::string> violation_lines;
  struct flaky_counts {
    std::uint32_t passes = 0, failures = 0;
  };
  std::optional<flaky_counts> flaky;
};

struct run_start {
  std::uint32_t concurrency = 0;
  std::uint32_t total = 0;      ///< real tasks in the run
  std::uint32_t requested = 0;  ///< real tasks named or surfaced
  std::uint32_t projects_in_run = 0;
  std::uint32_t projects_total = 0;
  std::string cache_policy;  ///< "lR,lW,rR,rW": the axes that are on
};

/// run.summary: counts over real tasks. Groups are in none of them, tasks a stop ended only in the last two.
struct run_summary {
  double total_ms = 0;
  double saved_ms = 0;
  std::uint64_t total = 0, failed = 0, skipped = 0;
  std::uint64_t miss = 0, no_cache = 0, up_to_date = 0, local = 0, remote = 0;
  std::uint64_t executed = 0;
  double max_ms = 0, avg_ms = 0, min_ms = 0;  ///< over executed tasks
  std::uint64_t aborted = 0, not_run = 0;
  std::vector<std::pair<std::string, double>> stages;  ///< name, milliseconds

  std::uint64_t hits() const noexcept { return up_to_date + local + remote; }
  std::uint64_t success() const noexcept { return total - failed - skipped; }
};

struct run_end {
  bool ok = false;
  int exit_code = 0;
  std::vector<std::string> holding;  ///< servers that still run
};

struct status_line {
  bool warning = false;
  std::string line;
};

/// A server got ready.
struct task_ready {
  std::string id;
  double duration_ms = 0;
};

/// A server ended after it was ready.
struct task_exit {
  std::string id;
  int exit_code = 0;
  bool during_run = false;
};

enum class event_kind : std::uint8_t {
  run_start,
  task_start,
  task_ready,
  task_end,
  task_exit,
  status,
  summary,
  run_end,
  other
};

/// The kind of a record without parsing the rest of it.
event_kind kind_of(std::string_view json);

/// Parses records one after another, reusing its memory. Fields of another type than documented count as absent.
class event_reader {
 public:
  event_reader();
  ~event_reader();
  event_reader(const event_reader&) = delete;
  event_reader& operator=(const event_reader&) = delete;

  bool parse(std::string_view json);  ///< false: not a JSON object
  event_kind kind() const;
  cli::run_start run_start() const;
  cli::task_start task_start() const;
  cli::task_end task_end() const;
  cli::task_ready task_ready() const;
  cli::task_exit task_exit() const;
  cli::status_line status() const;
  cli::run_summary summary() const;
  cli::run_end run_end() const;

 private:
  struct document;
  std::unique_ptr<document> document_;
};

}  // namespace vx::cli
