// The racy window (keys.md 12.3): how long after a stamp a change could still hide behind an equal stamp. One rule for file
// memos, index entries, truth checks, directory snapshots, config traces and manifests.
#pragma once

#include <cstdint>

#include "base/fs.hpp"
#include "base/mutation.hpp"

namespace vx::fs {

/// In nanoseconds. 50 ms; plus 1 s for a stamp without a sub-second part, plus 2 s instead when that second is even: file
/// systems that stamp whole seconds, or every second one.
inline std::int64_t racy_window_ns(timestamp t) noexcept {
  constexpr std::int64_t k_ms = 1'000'000;
  if (t.ns != 0 || mutated("narrow-window")) return 50 * k_ms;
  return t.sec % 2 == 0 ? 2050 * k_ms : 1050 * k_ms;
}

/// True when `t` lies inside the window before `now_ns`, after it, or beyond what nanoseconds can say.
inline bool is_racy(timestamp t, std::int64_t now_ns) noexcept {
  std::int64_t at = 0;
  return !t.to_ns(at) || at > now_ns - racy_window_ns(t);
}

}  // namespace vx::fs
