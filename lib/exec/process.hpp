// Starting, watching and killing task processes (run.md 9, 10, 14). A task runs in its own session and group; it is waited for
// by pid or pidfd by the caller of run_task; only async-signal-safe code runs between clone and exec.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "exec/mask.hpp"

namespace vx::exec {

/// The shell that runs commands, resolved on the runner's PATH (never the task's); macOS prefers dash.
result<std::string> find_shell(const environment& env);

/// run.md 9.1: a plain `word args` command becomes `exec word args`.
std::string prepare_command(std::string_view command);
/// Appends forwarded arguments, quoted, at the place run.md 9.1 names (before a trailing comment, on the heredoc's opening
/// line).
std::string append_arguments(std::string_view command, const std::vector<std::string>& args);

struct spawn_spec {
  std::string shell;             ///< absolute
  std::string command;           ///< already prepared and with arguments
  std::string cwd;               ///< absolute
  std::vector<std::string> env;  ///< block
  std::uint32_t timeout_ms = 0;  ///< 0 = none; bounds this attempt
  std::uint32_t kill_grace_ms = 2000;
  bool keep_stdin_open = false;  ///< persistent: a pipe that is never written
  /// Values hidden from the output and from `note`; null or empty costs nothing. Must outlive the call (the server). What the
  /// matcher holds back is released after 25 ms of silence by the loop that reads the pipes.
  const vx::exec::mask* secrets = nullptr;
};

struct spawn_result {
  int exit_code = 0;       ///< as is; 128 + n for a signal; 127 for a spawn failure
  int signal = 0;          ///< the signal that ended it, 0 = none
  bool timed_out = false;  ///< exit_code is then 143, or 137 when SIGKILL took it
  bool cancelled = false;  ///< the run's cancel reached it while it was alive
  bool stopped = false;    ///< server::stop() reached it while it was alive
  bool spawn_failed = false;
  bool status_lost = false;  ///< the host collected its exit status; `note` says so, exit_code is 1
  bool output_cut = false;   ///< readers were cut 250 ms after its end; the output already carries the line that says so
  std::string note;          ///< why the spawn failed, or the verdict line of run.md 9.7; "" = none
  std::int64_t cpu_ns = 0;
  std::optional<std::int64_t> peak_rss_bytes;
  std::int64_t start_ns = 0, end_ns = 0;  ///< mono_ns(); end = the end of its own process, not of its pipes
};

/// Live children of one run, so that a cancel reaches them. Thread-safe. A group is listed from its start until just before its
/// leader is collected, so a listed number is never another program's.
class process_table {
 public:
  void add(pid_t pgid);
  void remove(pid_t pgid);
  std::vector<pid_t> groups() const;
  void signal_all(int sig) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::vector<pid_t> groups_;
};

/// Runs one attempt to its end on the calling thread: polls the pipes, the pidfd and `cancel`. Timeout and cancel go
/// TERM (or the cancel's signal) -> grace -> KILL to the group, and wait for the group. The call always yields an outcome.
spawn_result run_task(const spawn_spec& spec, const output_fn& output, process_table& table, const cancel_token& cancel);

/// A persistent task: started, observed by its own thread, stopped by stop(). See run.md 12. Hooks are called on that thread,
/// one at a time, possibly before start() has returned.
class server {
 public:
  struct hooks {
    output_fn output;
    std::function<void(std::int64_t ready_ns)> on_ready;                  ///< at most once; nanoseconds from its start
    std::function<void(const spawn_result&, bool before_ready)> on_exit;  ///< exactly once
    std::function<void()> on_slow;                                        ///< the notice of VX_READY_NOTICE_MS
  };
  struct options {
    spawn_spec spawn;
    std::string ready_when;  ///< "" = ready at spawn
    std::uint32_t ready_timeout_ms = 0;
    std::uint32_t notice_ms = 10000;
  };
  /// Fails without having called a hook: INVALID for the pattern, otherwise the spawn failed and the message is the reason.
  static result<std::unique_ptr<server>> start(options options, hooks hooks, process_table& table, const cancel_token& cancel);
  ~server();
  void stop();                  ///< TERM, grace, KILL; joins the thread. From a hook it only asks. May be called again.
  bool alive() const noexcept;  ///< its own process has not been seen to end

 private:
  server();
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// ECMAScript regex check for readyWhen: empty = fine, else what is unsupported or wrong (config load uses it).
std::string check_ready_pattern(std::string_view pattern);

/// Kills a group politely, then hard: sig, wait up to grace, KILL. Zombies are no members (run.md 14.1).
void kill_group(pid_t pgid, int sig, std::uint32_t grace_ms, const cancel_token* hurry) noexcept;
bool group_alive(pid_t pgid) noexcept;

/// Usable CPUs: affinity mask capped by the cgroup quota, rounded up (run.md 7).
struct cpu_info {
  unsigned count = 1;           ///< what a run uses
  unsigned cores = 1;           ///< CPUs in the affinity mask
  std::optional<double> quota;  ///< the tightest cgroup quota, in CPUs
};
cpu_info usable_cpu_info();

/// RAM capped by the cgroup limit (run.md 7).
struct memory_info {
  std::uint64_t usable = 0, total = 0;
  std::optional<std::uint64_t> cgroup_limit;
};
memory_info usable_memory_info();

}  // namespace vx::exec
