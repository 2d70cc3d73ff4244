#include <sys/sysctl.h>

#include "exec/process.hpp"
#include "exec/reap.hpp"

namespace vx::exec {

// posix_spawn starts the child with memory of its own: nothing of ours is in its peak.
std::int64_t own_peak_rss() noexcept { return 1; }

cpu_info usable_cpu_info() {
  cpu_info out;
  out.cores = out.count = usable_cpus();
  return out;
}

memory_info usable_memory_info() {
  memory_info out;
  std::size_t size = sizeof out.total;
  if (::sysctlbyname("hw.memsize", &out.total, &size, nullptr, 0) != 0) out.total = 0;
  out.usable = out.total;
  return out;
}

}  // namespace vx::exec
