#include "base/platform.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace vx {
namespace platform {

int make_pipe(unique_fd& read_end, unique_fd& write_end) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return 0;
}

int make_wakeup(unique_fd& read_end, unique_fd& write_end) noexcept {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return errno;
  read_end.reset(fd);
  write_end.reset();
  return 0;
}

unsigned usable_cpus() noexcept {
  // The kernel refuses a mask smaller than its own; 64 Ki CPUs is beyond any.
  for (std::size_t cpus = 1024; cpus <= 65536; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) return 1;
    const std::size_t size = CPU_ALLOC_SIZE(cpus);
    const int rc = ::sched_getaffinity(0, size, set);
    const int error = errno;
    const int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (rc == 0) return count > 0 ? static_cast<unsigned>(count) : 1;
    if (error != EINVAL) return 1;
  }
  return 1;
}

void random_bytes(void* out, std::size_t n) noexcept {
  auto* at = static_cast<char*>(out);
  while (n > 0) {
    const ssize_t got = ::getrandom(at, n, 0);
    if (got > 0) {
      at += got;
      n -= static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      ::abort();  // every supported kernel has getrandom; predictable names would be worse than no process
    }
  }
}

int close_others(posix_spawn_file_actions_t& actions, int highest) noexcept {
  return ::posix_spawn_file_actions_addclosefrom_np(&actions, highest + 1);
}

short spawn_flags() noexcept { return 0; }

unique_fd watch_process(pid_t pid) noexcept { return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

fs::timestamp mtime_of(const struct ::stat& st) noexcept {
  return {st.st_mtim.tv_sec, static_cast<std::uint32_t>(st.st_mtim.tv_nsec)};
}
fs::timestamp ctime_of(const struct ::stat& st) noexcept {
  return {st.st_ctim.tv_sec, static_cast<std::uint32_t>(st.st_ctim.tv_nsec)};
}

}  // namespace platform

namespace fs {
namespace {

// The kernel's record of a directory entry (getdents64); glibc does not declare it.
struct raw_entry {
  std::uint64_t ino;
  std::int64_t off;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

kind kind_of(std::uint8_t type) noexcept {
  switch (type) {
    case 4: return kind::dir;
    case 8: return kind::file;
    case 10: return kind::link;
    case 0: return kind::none;  // the file system does not say
    default: return kind::other;
  }
}

}  // namespace

// getdents64 directly: opendir() costs two more system calls and an allocation for every directory.
result<std::vector<dir_entry>> list_dir_fd(int fd) {
  if (const int e = fault("list", "")) return fail_sys(e, "cannot list", "");
  if (::lseek(fd, 0, SEEK_SET) < 0) return fail_sys(errno, "cannot list", "");
  std::vector<dir_entry> out;
  alignas(raw_entry) char buffer[32768];
  while (true) {
    const long n = ::syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_sys(errno, "cannot list", "");
    if (n == 0) return out;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const raw_entry*>(buffer + at);
      at += entry->length;
      const char* name = buffer + (at - entry->length) + offsetof(raw_entry, name);
      if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) continue;
      kind k = kind_of(entry->type);
      if (k == kind::none) {
        VX_TRY_LET(const stat_info info, lstat_at(fd, name));
        if (!info.exists()) continue;  // gone since
        k = info.kind;
      }
      out.push_back({name, k});
    }
  }
}

bool is_network_fs(int fd) noexcept {
  struct ::statfs st;
  if (::fstatfs(fd, &st) != 0) return false;
  switch (static_cast<unsigned long>(st.f_type) & 0xffffffffUL) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case 0xff534d42UL:  // CIFS
    case 0xfe534d42UL:  // SMB2
    case CODA_SUPER_MAGIC:
    case AFS_SUPER_MAGIC:
    case 0x6b414653UL:  // AFS (kAFS)
    case 0x00c36400UL:  // Ceph
    case 0x01021997UL:  // 9p
    case 0x65735546UL:  // FUSE: sshfs, virtiofs and others; local ones are not told apart
    case 0x786f4256UL:  // VirtualBox shared folder
    case 0x47504653UL:  // GPFS
    case 0x0bd00bd0UL:  // Lustre
      return true;
    default: return false;
  }
}

}  // namespace fs
}  // namespace vx
