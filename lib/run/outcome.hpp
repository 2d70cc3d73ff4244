// How a task ended, as every surface tells it (run.md 1, 19.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace vx::run {

enum class task_status : std::uint8_t { success, cache_hit, cache_hit_remote, failed, skipped, aborted };

std::string_view status_word(task_status s) noexcept;  ///< "success", "cache-hit", ...
inline bool is_hit(task_status s) noexcept { return s == task_status::cache_hit || s == task_status::cache_hit_remote; }
inline bool passes(task_status s) noexcept { return s == task_status::success || is_hit(s); }

struct failed_attempt {
  std::int64_t ended_ns = 0;  ///< wall clock
  int exit_code = 0;
  bool timed_out = false;
};

/// What the producing run of a hit measured.
struct stored_stats {
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> cpu_ns, rss_bytes;
};

struct task_outcome {
  task_status status = task_status::aborted;
  int exit_code = 0;
  std::int64_t duration_ns = 0;
  std::optional<digest128> key;
  std::optional<bool> restored;        ///< hits: false = the tree was already current
  std::optional<stored_stats> stored;  ///< hits
  std::optional<std::int64_t> cpu_ns, rss_bytes;
  std::uint32_t attempts = 1;
  std::vector<failed_attempt> failed_attempts;
  std::string blocked_by;  ///< root failure of a skip
  bool timed_out = false;
  std::string_view not_ready;  ///< "", "timeout", "exited", "spawn"
  bool no_cache = false;       ///< no cache block, or the policy neither read nor wrote
  bool replayed_log = false;   ///< a hit whose stored output was shown again
  bool saved = false;
  std::string_view withheld;                               ///< cache.md 6.5, "" = not withheld
  std::optional<std::int64_t> mono_start_ns, mono_end_ns;  ///< absent: never started
  std::int64_t wall_start_ns = 0, wall_end_ns = 0;
  std::uint64_t artifact_bytes = 0;
};

}  // namespace vx::run
