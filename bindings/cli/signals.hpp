// Signals become cancel requests. The only handlers in the product: the library installs none.
#pragma once

#include "vx/base.h"

namespace vx::cli {

/// While it lives, INT, TERM and HUP ask `cancel` to stop politely; a second one asks at once. SIGPIPE is ignored for the rest
/// of the process, because a closed reader changes nothing (tasks get the default back when they start).
class signal_guard {
 public:
  explicit signal_guard(vx_cancel* cancel);
  ~signal_guard();
  signal_guard(const signal_guard&) = delete;
  signal_guard& operator=(const signal_guard&) = delete;

  /// The first signal that came, or 0.
  static int received() noexcept;
};

/// Ends the process by the signal itself, so that a calling shell sees it and stops too.
[[noreturn]] void end_by_signal(int number);

}  // namespace vx::cli
