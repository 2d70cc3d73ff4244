#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/unique_fd.hpp"
#include "exec/process.hpp"
#include "exec/reap.hpp"

namespace vx::exec {
namespace {

/// False when procfs shows another pid namespace's processes (or is not mounted).
bool procfs_is_ours(int proc) noexcept {
  std::array<char, 32> link{};
  const ssize_t n = ::readlinkat(proc, "self", link.data(), link.size());
  if (n <= 0) return false;
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(link.data(), link.data() + n, pid);
  return error == std::errc() && end == link.data() + n && pid == ::getpid();
}

/// A zombie has ended, unless only its first thread has.
bool is_running(int proc, std::string_view pid) noexcept {
  std::array<char, 64> name{};
  std::array<char, 1024> raw{};
  if (pid.size() + 6 > name.size()) return false;
  std::memcpy(name.data(), pid.data(), pid.size());
  std::memcpy(name.data() + pid.size(), "/stat", 6);
  const unique_fd fd(::openat(proc, name.data(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  const ssize_t n = ::read(fd.get(), raw.data(), raw.size());
  if (n <= 0) return false;
  const std::string_view text(raw.data(), static_cast<std::size_t>(n));
  // "pid (name) S ppid pgrp ...": the name may hold anything, so the last ')' is the anchor. Threads are the 18th field after
  // it.
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos || close + 2 >= text.size()) return false;
  const char state = text[close + 2];
  if (state != 'Z' && state != 'X') return true;
  std::size_t at = close + 2;
  for (int field = 0; field < 17 && at != std::string_view::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string_view::npos) return false;
  int threads = 0;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), threads);
  return threads > 1;
}

bool any_member(int proc, pid_t pgid) noexcept {
  struct entry_head {  // linux_dirent64 without its name
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t length;
    std::uint8_t type;
  };
  constexpr std::size_t k_name_at = 19;
  alignas(8) std::array<char, std::size_t{32} << 10> buffer;
  for (;;) {
    const long n = ::syscall(SYS_getdents64, proc, buffer.data(), buffer.size());
    if (n <= 0) return false;
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer.data() + at + offsetof(entry_head, length), sizeof length);
      const std::string_view name(buffer.data() + at + k_name_at);
      at += length;
      pid_t pid = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
      if (error != std::errc() || end != name.data() + name.size()) continue;
      // Asking the kernel for the group first spares opening a file for every process of the machine.
      if (::getpgid(pid) == pgid && is_running(proc, name)) return true;
    }
  }
}

}  // namespace

bool group_alive(pid_t pgid) noexcept {
  if (pgid <= 1) return false;
  if (::kill(-pgid, 0) != 0 && errno == ESRCH) return false;
  const unique_fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc || !procfs_is_ours(proc.get())) return true;  // kill() has found members, zombies perhaps
  return any_member(proc.get(), pgid);
}

bool group_check_skips_zombies() noexcept {
  const unique_fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return proc && procfs_is_ours(proc.get());
}

}  // namespace vx::exec
