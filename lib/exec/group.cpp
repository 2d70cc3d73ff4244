// Process groups: the table of live ones and the polite-then-hard kill that every caller shares.
#include <errno.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "base/clock.hpp"
#include "exec/process.hpp"

namespace vx::exec {
namespace {

constexpr int k_group_poll_ms = 20;
constexpr std::int64_t k_ns_per_ms = 1'000'000;
/// After SIGKILL only a process stuck in the kernel is left; nobody waits longer for it.
constexpr std::int64_t k_kill_bound_ns = 2'000 * k_ns_per_ms;

void signal_group(pid_t pgid, int sig) noexcept {
  if (pgid > 1) ::kill(-pgid, sig);  // -1 and 0 would reach far more than a group
}

}  // namespace

void process_table::add(pid_t pgid) {
  const std::lock_guard lock(mutex_);
  groups_.push_back(pgid);
}

void process_table::remove(pid_t pgid) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(groups_.begin(), groups_.end(), pgid);
  if (found == groups_.end()) return;
  *found = groups_.back();
  groups_.pop_back();
}

std::vector<pid_t> process_table::groups() const {
  const std::lock_guard lock(mutex_);
  return groups_;
}

// The lock is held while signalling: remove() comes before the leader is collected, so no number here can have been reused.
void process_table::signal_all(int sig) const noexcept {
  const std::lock_guard lock(mutex_);
  for (const pid_t pgid : groups_) signal_group(pgid, sig);
}

void kill_group(pid_t pgid, int sig, std::uint32_t grace_ms, const cancel_token* hurry) noexcept {
  if (pgid <= 1) return;
  signal_group(pgid, sig);
  bool hard = sig == SIGKILL;
  std::int64_t bound = mono_ns() + (hard ? k_kill_bound_ns : static_cast<std::int64_t>(grace_ms) * k_ns_per_ms);
  while (group_alive(pgid)) {
    const std::int64_t now = mono_ns();
    const bool hurried = hurry != nullptr && hurry->kill_requested();
    if (now >= bound || (hurried && !hard)) {
      if (hard) return;
      hard = true;
      bound = now + k_kill_bound_ns;
    }
    if (hard) signal_group(pgid, SIGKILL);
    ::poll(nullptr, 0, k_group_poll_ms);
  }
}

}  // namespace vx::exec
