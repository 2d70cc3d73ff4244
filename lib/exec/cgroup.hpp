// What the control groups of this process allow (run.md 7), computed from file contents alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace vx::exec {

struct cgroup_limits {
  std::optional<double> cpus;
  std::optional<std::uint64_t> memory_bytes;
};

/// The content of a file, nothing when it cannot be read.
using read_file_fn = std::function<std::optional<std::string>(const std::string& path)>;

/// Reads /proc/self/{cgroup,mountinfo} and the controllers' files from this process's group up to the top of each hierarchy,
/// and keeps the tightest. What is missing, unreadable or outside the mounted hierarchy limits nothing.
cgroup_limits read_cgroup_limits(const read_file_fn& read);

/// "<quota> <period>" or "max ..." of version 2.
std::optional<double> parse_cpu_max(std::string_view text) noexcept;
/// cpu.cfs_quota_us and cpu.cfs_period_us of version 1; a negative quota limits nothing.
std::optional<double> parse_cfs(std::string_view quota, std::string_view period) noexcept;
/// memory.max or memory.limit_in_bytes; "max" and numbers above 2^60 limit nothing.
std::optional<std::uint64_t> parse_memory_limit(std::string_view text) noexcept;

/// CPUs a run may use: whole CPUs capped by the quota rounded up, at least 1.
unsigned cap_cpus(unsigned cores, std::optional<double> quota) noexcept;

}  // namespace vx::exec
