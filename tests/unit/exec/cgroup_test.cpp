#include "exec/cgroup.hpp"

#include <doctest/doctest.h>

#include <map>

#include "exec/process.hpp"

using namespace vx::exec;

namespace {
using files = std::map<std::string, std::string>;
cgroup_limits limits(const files& content) {
  return read_cgroup_limits([&](const std::string& path) -> std::optional<std::string> {
    const auto found = content.find(path);
    return found == content.end() ? std::nullopt : std::optional(found->second);
  });
}
constexpr const char* k_v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* k_v1 =
    "30 23 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
}  // namespace

TEST_CASE("controller files are parsed") {
  CHECK(parse_cpu_max("150000 100000\n") == 1.5);
  CHECK(parse_cpu_max("max 100000\n") == std::nullopt);
  CHECK(parse_cpu_max("150000") == std::nullopt);
  CHECK(parse_cpu_max("") == std::nullopt);
  CHECK(parse_cpu_max("100000 0") == std::nullopt);
  CHECK(parse_cfs("-1\n", "100000\n") == std::nullopt);
  CHECK(parse_cfs("50000", "100000") == 0.5);
  CHECK(parse_memory_limit("max\n") == std::nullopt);
  CHECK(parse_memory_limit("9223372036854771712\n") == std::nullopt);
  CHECK(parse_memory_limit("1073741824\n") == 1073741824U);
}

TEST_CASE("CPUs are capped by the quota rounded up") {
  CHECK(cap_cpus(8, std::nullopt) == 8);
  CHECK(cap_cpus(8, 1.5) == 2);
  CHECK(cap_cpus(8, 2.0) == 2);
  CHECK(cap_cpus(8, 0.1) == 1);
  CHECK(cap_cpus(2, 64.0) == 2);
  CHECK(cap_cpus(0, std::nullopt) == 1);
}

TEST_CASE("version 2: the tightest from the own group to the top") {
  const auto got = limits({{"/proc/self/cgroup", "0::/a/b\n"},
                           {"/proc/self/mountinfo", k_v2},
                           {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                           {"/sys/fs/cgroup/a/cpu.max", "250000 100000\n"},
                           {"/sys/fs/cgroup/a/b/memory.max", "2000\n"},
                           {"/sys/fs/cgroup/a/memory.max", "3000\n"}});
  CHECK(got.cpus == 2.5);
  CHECK(got.memory_bytes == 2000U);
}

TEST_CASE("version 2 inside a namespace: the group is the root") {
  const auto got =
      limits({{"/proc/self/cgroup", "0::/\n"}, {"/proc/self/mountinfo", k_v2}, {"/sys/fs/cgroup/cpu.max", "100000 100000\n"}});
  CHECK(got.cpus == 1.0);
  CHECK(got.memory_bytes == std::nullopt);
}

TEST_CASE("version 1: a list of controllers names each of them") {
  const auto got = limits({{"/proc/self/cgroup", "4:cpu,cpuacct:/d/x\n3:memory:/d/x\n2:cpuset:/d/x\n0::/\n"},
                           {"/proc/self/mountinfo", k_v1},
                           {"/sys/fs/cgroup/cpu,cpuacct/d/x/cpu.cfs_quota_us", "-1\n"},
                           {"/sys/fs/cgroup/cpu,cpuacct/d/x/cpu.cfs_period_us", "100000\n"},
                           {"/sys/fs/cgroup/cpu,cpuacct/d/cpu.cfs_quota_us", "300000\n"},
                           {"/sys/fs/cgroup/cpu,cpuacct/d/cpu.cfs_period_us", "100000\n"},
                           {"/sys/fs/cgroup/memory/d/x/memory.limit_in_bytes", "9223372036854771712\n"},
                           {"/sys/fs/cgroup/memory/d/memory.limit_in_bytes", "4096\n"},
                           {"/sys/fs/cgroup/cpuset/d/x/cpu.cfs_quota_us", "1\n"},
                           {"/sys/fs/cgroup/cpuset/d/x/cpu.cfs_period_us", "100000\n"}});
  CHECK(got.cpus == 3.0);
  CHECK(got.memory_bytes == 4096U);
}

TEST_CASE("version 1 in a container that mounts its own part of the hierarchy") {
  const auto got =
      limits({{"/proc/self/cgroup", "4:cpu:/docker/abc/sub\n"},
              {"/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup/cpu\\040x ro master:9 - cgroup cgroup rw,cpu\n"},
              {"/sys/fs/cgroup/cpu x/sub/cpu.cfs_quota_us", "400000\n"},
              {"/sys/fs/cgroup/cpu x/sub/cpu.cfs_period_us", "100000\n"},
              {"/sys/fs/cgroup/cpu x/cpu.cfs_quota_us", "50000\n"},
              {"/sys/fs/cgroup/cpu x/cpu.cfs_period_us", "100000\n"}});
  CHECK(got.cpus == 0.5);
}

TEST_CASE("what is missing, garbled or outside limits nothing") {
  CHECK(limits({}).cpus == std::nullopt);
  CHECK(limits({{"/proc/self/cgroup", "0::/a\n"}}).cpus == std::nullopt);
  for (const char* group : {"0::/../other\n", "0::/a/../..\n", "0::\n", "nonsense\n", ""}) {
    CAPTURE(group);
    const auto got =
        limits({{"/proc/self/cgroup", group}, {"/proc/self/mountinfo", k_v2}, {"/sys/fs/cgroup/cpu.max", "100000 100000\n"}});
    CHECK(got.cpus == std::nullopt);
  }
  const auto outside = limits({{"/proc/self/cgroup", "4:cpu:/other\n"},
                               {"/proc/self/mountinfo", "30 23 0:26 /docker /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}});
  CHECK(outside.cpus == std::nullopt);
}

TEST_CASE("this machine has a CPU and some memory") {
  const cpu_info cpus = usable_cpu_info();
  CHECK(cpus.count >= 1);
  CHECK(cpus.count <= cpus.cores);
  const memory_info memory = usable_memory_info();
  CHECK(memory.usable > 0);
  CHECK(memory.usable <= memory.total);
}
