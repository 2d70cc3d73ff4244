#include "base/platform.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/event.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace vx {
namespace platform {

int make_pipe(unique_fd& read_end, unique_fd& write_end) noexcept {
  int ends[2];
  if (::pipe(ends) != 0) return errno;  // there is no pipe2; helpers start with POSIX_SPAWN_CLOEXEC_DEFAULT instead
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  for (const int fd : ends) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return 0;
}

int make_wakeup(unique_fd& read_end, unique_fd& write_end) noexcept {
  if (const int e = make_pipe(read_end, write_end)) return e;
  for (const int fd : {read_end.get(), write_end.get()}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return 0;
}

unsigned usable_cpus() noexcept {
  int count = 0;
  std::size_t size = sizeof count;
  if (::sysctlbyname("hw.logicalcpu", &count, &size, nullptr, 0) != 0 || count < 1) return 1;
  return static_cast<unsigned>(count);
}

void random_bytes(void* out, std::size_t n) noexcept { ::arc4random_buf(out, n); }

int close_others(posix_spawn_file_actions_t&, int) noexcept { return 0; }  // POSIX_SPAWN_CLOEXEC_DEFAULT does it

short spawn_flags() noexcept { return POSIX_SPAWN_CLOEXEC_DEFAULT; }

unique_fd watch_process(pid_t pid) noexcept {
  unique_fd queue(::kqueue());
  if (!queue) return queue;
  ::fcntl(queue.get(), F_SETFD, FD_CLOEXEC);
  struct ::kevent change;
  EV_SET(&change, static_cast<uintptr_t>(pid), EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0, nullptr);
  if (::kevent(queue.get(), &change, 1, nullptr, 0, nullptr) != 0) queue.reset();
  return queue;
}

fs::timestamp mtime_of(const struct ::stat& st) noexcept {
  return {st.st_mtimespec.tv_sec, static_cast<std::uint32_t>(st.st_mtimespec.tv_nsec)};
}
fs::timestamp ctime_of(const struct ::stat& st) noexcept {
  return {st.st_ctimespec.tv_sec, static_cast<std::uint32_t>(st.st_ctimespec.tv_nsec)};
}

}  // namespace platform

namespace fs {
namespace {

kind kind_of(std::uint8_t type) noexcept {
  switch (type) {
    case DT_DIR: return kind::dir;
    case DT_REG: return kind::file;
    case DT_LNK: return kind::link;
    case DT_UNKNOWN: return kind::none;
    default: return kind::other;
  }
}

struct dir_closer {
  void operator()(DIR* d) const noexcept { ::closedir(d); }
};

}  // namespace

result<std::vector<dir_entry>> list_dir_fd(int fd) {
  if (const int e = fault("list", "")) return fail_sys(e, "cannot list", "");
  VX_TRY_LET(unique_fd own, open_dir_at(fd, "."));  // a description of its own, hence an offset of its own
  std::unique_ptr<DIR, dir_closer> dir(::fdopendir(own.get()));
  if (!dir) return fail_sys(errno, "cannot list", "");
  (void)own.release();
  std::vector<dir_entry> out;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    kind k = kind_of(entry->d_type);
    if (k == kind::none) {
      VX_TRY_LET(const stat_info info, lstat_at(fd, std::string(name)));
      if (!info.exists()) continue;
      k = info.kind;
    }
    out.push_back({std::string(name), k});
  }
  if (errno != 0) return fail_sys(errno, "cannot list", "");
  return out;
}

bool is_network_fs(int fd) noexcept {
  struct ::statfs st;
  return ::fstatfs(fd, &st) == 0 && (st.f_flags & MNT_LOCAL) == 0;
}

}  // namespace fs
}  // namespace vx
