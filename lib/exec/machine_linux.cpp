#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/fs.hpp"
#include "exec/cgroup.hpp"
#include "exec/process.hpp"
#include "exec/reap.hpp"

namespace vx::exec {
namespace {

std::optional<std::string> read_text(const std::string& path) {
  result<std::string> text = fs::read_file_at(fs::k_cwd, path, std::size_t{4} << 20);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace

std::int64_t own_peak_rss() noexcept {
  const std::optional<std::string> status = read_text("/proc/self/status");
  if (!status) return 0;
  constexpr std::string_view k_name = "\nVmHWM:";
  std::size_t at = status->find(k_name);
  if (at == std::string::npos) return 0;
  at = status->find_first_not_of(" \t", at + k_name.size());
  if (at == std::string::npos) return 0;
  std::int64_t kib = 0;
  std::from_chars(status->data() + at, status->data() + status->size(), kib);
  return kib * 1024;
}

cpu_info usable_cpu_info() {
  cpu_info out;
  out.cores = usable_cpus();
  out.quota = read_cgroup_limits(read_text).cpus;
  out.count = cap_cpus(out.cores, out.quota);
  return out;
}

memory_info usable_memory_info() {
  memory_info out;
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) out.total = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  out.cgroup_limit = read_cgroup_limits(read_text).memory_bytes;
  out.usable = out.cgroup_limit ? std::min(out.total, *out.cgroup_limit) : out.total;
  return out;
}

}  // namespace vx::exec
