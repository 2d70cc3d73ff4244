// One run per workspace, per user, per machine (run.md 4): an advisory lock the kernel drops with its holder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/threads.hpp"
#include "base/unique_fd.hpp"
#include "run/host.hpp"

namespace vx::run {

class run_lock {
 public:
  struct taken {
    bool held = false;    ///< false: the lock can't be made; the run goes on unlocked
    bool waited = false;  ///< everything learned before is stale
    bool cancelled = false;
    bool gave_up = false;  ///< the holder outlasted `patience_ms`
    std::string holder;    ///< " (pid 12)" of the last holder seen, or ""
    std::string warning;   ///< why there is no lock, "" = none
  };
  /// Waits for the holder, looking every 50 ms; `say_waiting` is called once, after a second, with the line to show. Without
  /// `patience_ms` the wait has no end of its own.
  taken take(const host& h, const cancel_token& cancel, const std::function<void(std::string)>& say_waiting,
             std::optional<std::uint32_t> patience_ms = std::nullopt);
  void release() noexcept { fd_.reset(); }

 private:
  unique_fd fd_;
};

}  // namespace vx::run
