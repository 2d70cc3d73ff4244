// The racy window (keys.md 12.3): how long after a stamp a change could still hide behind an equal stamp.
#pragma once

#include <cstdint>

#include "base/fs.hpp"

namespace vx::cache {

/// 50 ms; plus 1 s for a stamp without a sub-second part, plus 2 s instead when that second is even.
inline std::int64_t racy_window_ns(fs::timestamp t) noexcept {
  constexpr std::int64_t k_ms = 1'000'000;
  if (t.ns != 0) return 50 * k_ms;
  return t.sec % 2 == 0 ? 2050 * k_ms : 1050 * k_ms;
}

/// True when `t` lies inside the window before `now_ns`, after it, or beyond what nanoseconds can say.
inline bool is_racy(fs::timestamp t, std::int64_t now_ns) noexcept {
  std::int64_t at = 0;
  return !t.to_ns(at) || at > now_ns - racy_window_ns(t);
}

}  // namespace vx::cache
