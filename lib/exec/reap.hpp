// Collecting one child: its status and what it used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace vx::exec {

struct reaped {
  enum class kind : std::uint8_t {
    ended,    ///< `status` is wait(2)'s
    running,  ///< it has not ended
    lost,     ///< somebody else collected it
  };
  kind what = kind::lost;
  int status = 0;
  std::int64_t cpu_ns = 0;
  std::optional<std::int64_t> peak_rss_bytes;
};

/// Collects `pid` if it has ended; never blocks, never asks for any other process.
reaped reap(pid_t pid) noexcept;
/// True when `pid` has ended (or is nobody's child any more); leaves it to be collected.
bool has_ended(pid_t pid) noexcept;

/// False where group_alive() takes zombies for members (Linux without a procfs of its own): a leader then has to be collected
/// before its group can be seen to be gone.
bool group_check_skips_zombies() noexcept;

/// The high-water mark of this process's resident memory in bytes; 0 = unknown.
std::int64_t own_peak_rss() noexcept;

}  // namespace vx::exec
