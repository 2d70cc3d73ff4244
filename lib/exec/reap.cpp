#include "exec/reap.hpp"

#include <errno.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

namespace vx::exec {
namespace {

#ifdef __APPLE__
constexpr std::int64_t k_maxrss_unit = 1;
#else
constexpr std::int64_t k_maxrss_unit = 1024;
#endif
constexpr std::int64_t k_peak_margin = std::int64_t{4} << 20;

std::int64_t to_ns(const timeval& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(t.tv_usec) * 1'000;
}

/// At exec the kernel folds the peak of the memory the child was born with, ours, into the child's: below ours plus a margin
/// the number tells nothing about the child.
std::optional<std::int64_t> own_share(std::int64_t peak) {
  rusage self{};
  ::getrusage(RUSAGE_SELF, &self);
  // Never below the mark of our memory, so passing it spares the look-up.
  if (peak > static_cast<std::int64_t>(self.ru_maxrss) * k_maxrss_unit + k_peak_margin) return peak;
  const std::int64_t own = own_peak_rss();
  return own != 0 && peak > own + k_peak_margin ? std::optional(peak) : std::nullopt;
}

}  // namespace

reaped reap(pid_t pid) noexcept {
  reaped out;
  if (pid <= 1) return out;
  rusage usage{};
  pid_t got = -1;
  do {
    got = ::wait4(pid, &out.status, WNOHANG, &usage);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return out;
  if (got == 0) {
    out.what = reaped::kind::running;
    return out;
  }
  out.what = reaped::kind::ended;
  out.cpu_ns = to_ns(usage.ru_utime) + to_ns(usage.ru_stime);
  out.peak_rss_bytes = own_share(static_cast<std::int64_t>(usage.ru_maxrss) * k_maxrss_unit);
  return out;
}

bool has_ended(pid_t pid) noexcept {
  siginfo_t info{};
  int got = -1;
  do {
    info.si_pid = 0;
    got = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (got < 0 && errno == EINTR);
  return got < 0 || info.si_pid != 0;
}

}  // namespace vx::exec
