// The scheduler: a pure state machine (run.md 6). Events in, actions out; no clock, no store, no process, no threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace vx::graph {

enum class continue_mode : std::uint8_t { deps_ok, never, always };

/// How a node ended, as the scheduler needs to know it.
enum class end_kind : std::uint8_t { success, hit, failed, skipped, aborted };

struct priority {
  bool has_host_weight = false;
  std::int64_t host_weight = 0;
  std::uint64_t strategy = 0;
  std::uint32_t dependents = 0;
  friend auto operator<=>(const priority&, const priority&) = default;
};

struct schedule_node {
  std::span<const std::uint32_t> deps;  ///< must outlive the scheduler
  bool group = false;                   ///< completes at once, takes no slot
  bool restore_tier = false;            ///< a confirmed hit: no dependency gate, restore lane
  bool exclusive = false;               ///< interactive on a terminal: runs alone
  graph::priority rank;
};

struct action {
  enum class kind : std::uint8_t {
    start,     ///< execute (or look up) on the exec lane
    restore,   ///< restore on the restore lane
    complete,  ///< a group whose dependencies are done: success, no work
    skip,      ///< end it as skipped; `blocker` names the root failure, if any
    abort      ///< end it as aborted: the run is stopping
  };
  action::kind what;
  std::uint32_t node;
  std::optional<std::uint32_t> blocker;  ///< skip: root failure through chains of skips and groups
  bool tainted = false;                  ///< start under `always` behind a failure: nothing may be saved
};

/// Drive: poll() until it yields nothing; perform; report finished() when the slot frees and settled() when dependants may go
/// (both for skip, abort and complete too are implied: the scheduler ends those itself).
class scheduler {
 public:
  scheduler(std::vector<schedule_node> nodes, unsigned concurrency, unsigned restore_workers, continue_mode mode);
  ~scheduler();
  scheduler(scheduler&&) noexcept;

  /// The next action, or nothing: everything runnable is running, or all is done.
  std::optional<action> poll();
  bool done() const noexcept;  ///< every node has ended and settled and nothing holds a slot
  std::size_t active() const noexcept;

  /// The slot of `node` is free and its outcome known. A hit on the restore lane too.
  void finished(std::uint32_t node, end_kind how);
  /// Its save has landed (or there was none): dependants unblock. May come right after finished().
  void settled(std::uint32_t node);
  /// A persistent task is ready: dependants unblock, the slot frees; it counts as success until failed_late().
  void ready(std::uint32_t node);
  /// A server died after ready: a failure to dependants that have not started.
  void failed_late(std::uint32_t node);
  /// A restore-tier hit whose artifact vanished: re-queued behind its dependencies on the exec lane.
  void demote(std::uint32_t node);
  /// The run is stopping: every unstarted node is aborted.
  void cancel();
  /// Whether a success of `node` is tainted (continue_mode::always only).
  bool tainted(std::uint32_t node) const noexcept;
  std::optional<end_kind> outcome(std::uint32_t node) const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::graph
