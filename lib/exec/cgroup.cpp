#include "exec/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/path.hpp"
#include "base/text.hpp"

namespace vx::exec {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) noexcept {
  text = text::trim(text);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

bool lists(std::string_view comma_separated, std::string_view word) {
  const std::vector<std::string_view> words = text::split(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// mountinfo writes blanks and backslashes as three octal digits.
std::string unescape_mount(std::string_view raw) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\' && i + 3 < raw.size() && octal(raw[i + 1]) && octal(raw[i + 2]) && octal(raw[i + 3])) {
      out += static_cast<char>((raw[i + 1] - '0') * 64 + (raw[i + 2] - '0') * 8 + (raw[i + 3] - '0'));
      i += 3;
    } else {
      out += raw[i];
    }
  }
  return out;
}

struct hierarchy {
  bool unified;
  std::string root;  // the part of the hierarchy that is mounted
  std::string mount_point;
  std::string controllers;  // version 1: the mount's options
};

std::vector<hierarchy> parse_mounts(std::string_view mountinfo) {
  std::vector<hierarchy> out;
  for (const std::string_view line : text::split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const std::vector<std::string_view> head = text::split(line.substr(0, dash), ' ');
    const std::vector<std::string_view> tail = text::split(line.substr(dash + 3), ' ');
    if (head.size() < 5 || tail.size() < 3 || (tail[0] != "cgroup" && tail[0] != "cgroup2")) continue;
    out.push_back({tail[0] == "cgroup2", unescape_mount(head[3]), unescape_mount(head[4]), std::string(tail[2])});
  }
  return out;
}

struct membership {
  std::string_view controllers;  // empty: version 2
  std::string_view path;
};

std::vector<membership> parse_memberships(std::string_view proc_cgroup) {
  std::vector<membership> out;
  for (const std::string_view line : text::split(proc_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    out.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return out;
}

/// The directories of a group from its own up to the mount point; empty when the group lies outside of what is mounted.
std::vector<std::string> directories(const hierarchy& h, std::string_view group) {
  if (!group.starts_with('/')) return {};
  for (const std::string_view part : text::split(group, '/')) {
    if (part == "..") return {};
  }
  std::string_view below = group.substr(1);
  if (h.root != "/") {
    const std::string_view root = std::string_view(h.root).substr(1);
    if (!path::is_within(below, root)) return {};
    below = path::relative_to(below, root);
  }
  std::vector<std::string> out;
  for (std::string_view at = below; !at.empty(); at = path::parent(at)) out.push_back(path::join(h.mount_point, at));
  out.push_back(h.mount_point);
  return out;
}

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> found) {
  if (found && (!limit || *found < *limit)) limit = found;
}

void apply(const read_file_fn& read, const hierarchy& h, const std::string& dir, bool cpu, bool memory, cgroup_limits& out) {
  const auto text = [&](const char* name) { return read(path::join(dir, name)); };
  if (h.unified) {
    if (const auto max = text("cpu.max")) tighten(out.cpus, parse_cpu_max(*max));
    if (const auto max = text("memory.max")) tighten(out.memory_bytes, parse_memory_limit(*max));
    return;
  }
  if (cpu) {
    const auto quota = text("cpu.cfs_quota_us");
    const auto period = text("cpu.cfs_period_us");
    if (quota && period) tighten(out.cpus, parse_cfs(*quota, *period));
  }
  if (memory) {
    if (const auto limit = text("memory.limit_in_bytes")) tighten(out.memory_bytes, parse_memory_limit(*limit));
  }
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) noexcept {
  text = text::trim(text);
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return parse_cfs(text.substr(0, blank), text.substr(blank + 1));  // "max" is no number
}

std::optional<double> parse_cfs(std::string_view quota, std::string_view period) noexcept {
  const auto q = parse_number(quota);
  const auto p = parse_number(period);
  if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;
  return static_cast<double>(*q) / static_cast<double>(*p);
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) noexcept {
  const auto n = parse_number(text);
  if (!n || *n <= 0 || *n > (std::int64_t{1} << 60)) return std::nullopt;
  return static_cast<std::uint64_t>(*n);
}

unsigned cap_cpus(unsigned cores, std::optional<double> quota) noexcept {
  cores = std::max(cores, 1U);
  if (!quota || *quota >= static_cast<double>(cores)) return cores;
  return std::max(1U, static_cast<unsigned>(std::ceil(*quota)));
}

cgroup_limits read_cgroup_limits(const read_file_fn& read) {
  cgroup_limits out;
  const auto groups = read("/proc/self/cgroup");
  const auto mounts = read("/proc/self/mountinfo");
  if (!groups || !mounts) return out;
  const std::vector<hierarchy> hierarchies = parse_mounts(*mounts);
  for (const membership& member : parse_memberships(*groups)) {
    const bool unified = member.controllers.empty();
    const bool cpu = lists(member.controllers, "cpu");
    const bool memory = lists(member.controllers, "memory");
    if (!unified && !cpu && !memory) continue;
    for (const hierarchy& h : hierarchies) {
      if (h.unified != unified) continue;
      if (!unified && !(cpu && lists(h.controllers, "cpu")) && !(memory && lists(h.controllers, "memory"))) continue;
      for (const std::string& dir : directories(h, member.path)) apply(read, h, dir, cpu, memory, out);
    }
  }
  return out;
}

}  // namespace vx::exec
