// What the parts of one run share while it executes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "exec/process.hpp"
#include "run/early.hpp"
#include "run/keys.hpp"
#include "run/observer.hpp"
#include "run/outcome.hpp"
#include "run/prepare.hpp"
#include "run/stability.hpp"

namespace vx::run {

/// Settings resolved once (run.md 8.3, 10).
struct run_settings {
  std::string shell;
  std::uint32_t default_retries = 0;
  std::uint32_t default_timeout_ms = 0;  ///< below exec.timeout; 0 = none
  std::uint32_t kill_grace_ms = 2000;
  std::uint32_t ready_notice_ms = 10000;
};
result<run_settings> resolve_settings(const prepared& p);

struct kept_failure {
  std::uint32_t node = 0;
  std::string output;  ///< masked, plain bytes: first 8 KiB and last 56 KiB
};

/// Written by the worker that owns a node and read by its dependants' workers afterwards; the scheduler orders the two.
struct run_state {
  run_state(prepared& prep, const cancel_token& stop, dispatcher& who)
      : p(prep), cancel(stop), out(who), keys(prep), outcomes(prep.graph.nodes.size()), unkeyed(prep.graph.nodes.size(), 0) {}

  prepared& p;
  const cancel_token& cancel;
  dispatcher& out;
  key_table keys;
  run_settings settings;
  stability judged;
  early_pass early;
  exec::process_table processes;

  run_id id{};
  std::int64_t mono0 = 0, wall0 = 0;  ///< the run's start on both clocks

  std::vector<task_outcome> outcomes;  ///< by node
  std::vector<std::uint8_t> unkeyed;   ///< by node: its key no longer vouches for its outputs
  std::atomic<bool> fingerprint_moved{false};

  std::mutex ends_mutex;                ///< guards the lists below
  std::vector<digest128> used;          ///< keys of hits, for used_ns
  std::vector<std::uint32_t> snapshot;  ///< nodes whose outputs were placed or proved by a walk
  std::vector<kept_failure> failures;
  std::vector<std::pair<std::uint32_t, std::string>> cleaned;  ///< tracked files that a clean removed: who, root-relative path
  std::vector<std::pair<std::uint32_t, std::string>>
      unsaved_inputs;  ///< node -> what its key was made of; results that were not saved

  std::int64_t since_start_ns() const noexcept { return mono_ns() - mono0; }
};

}  // namespace vx::run
