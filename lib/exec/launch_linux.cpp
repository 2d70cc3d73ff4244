#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

#include "exec/launch.hpp"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif

// ThreadSanitizer takes clone() for a fork and would mark the memory, which is the parent's, as a child's.
#if defined(__SANITIZE_THREAD__)
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#define VX_CLONE ::__clone
#else
#define VX_CLONE ::clone
#endif

namespace vx::exec {
namespace {

// The child borrows the parent's memory, thread-local storage included, until exec: no instrumentation may run in it, and it
// reaches the kernel only through syscall(), which no sanitizer intercepts.
#define VX_CHILD_CODE __attribute__((noinline, no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

constexpr int k_kernel_signals = 64;
constexpr std::size_t k_kernel_mask_bytes = 8;

/// struct sigaction as the kernel knows it; zeroes mean the default disposition on every architecture.
struct kernel_sigaction {
  unsigned long words[4] = {0, 0, 0, 0};
};

struct child_state {
  const launch_request* request;
  int error = 0;
  launch_step step = launch_step::none;
};

/// Marks every descriptor from 3 on, for kernels without close_range. The directory is read with plain system calls.
VX_CHILD_CODE void mark_descriptors() {
  const long dir = syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (dir < 0) return;
  alignas(8) char buffer[1024];
  for (;;) {
    const long n = syscall(SYS_getdents64, dir, buffer, sizeof buffer);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      const char* entry = buffer + at;  // u64 inode, u64 offset, u16 length, u8 type, name
      unsigned short length = 0;
      for (int i = 0; i < 2; ++i) reinterpret_cast<char*>(&length)[i] = entry[16 + i];
      int fd = 0;
      const char* name = entry + 19;
      for (; *name >= '0' && *name <= '9'; ++name) fd = fd * 10 + (*name - '0');
      if (fd > 2 && name != entry + 19) syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
      if (length == 0) return;
      at += length;
    }
  }
}

VX_CHILD_CODE int child_main(void* raw) {
  auto* state = static_cast<child_state*>(raw);
  const launch_request& r = *state->request;
  do {
    state->step = launch_step::session;
    if (syscall(SYS_setsid) < 0) break;
    // Handlers must be gone before the mask is lifted, or one would run here on the parent's memory.
    kernel_sigaction standard;
    for (int sig = 1; sig <= k_kernel_signals; ++sig) {
      if (sig != SIGKILL && sig != SIGSTOP) syscall(SYS_rt_sigaction, sig, &standard, nullptr, k_kernel_mask_bytes);
    }
    const unsigned long long nothing = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &nothing, nullptr, k_kernel_mask_bytes);

    state->step = launch_step::descriptors;
    if (syscall(SYS_dup3, r.in, 0, 0) < 0 || syscall(SYS_dup3, r.out, 1, 0) < 0 || syscall(SYS_dup3, r.err, 2, 0) < 0) {
      break;
    }
    // The host may hold descriptors without close-on-exec; errors travel through memory, so nothing here is needed any more.
    if (syscall(SYS_close_range, 3U, ~0U, 0U) < 0) mark_descriptors();

    state->step = launch_step::directory;
    if (syscall(SYS_chdir, r.cwd) < 0) break;

    state->step = launch_step::program;
    syscall(SYS_execve, r.program, r.argv, r.envp);
  } while (false);
  state->error = errno;
  syscall(SYS_exit_group, 127);
  return 127;
}

void collect(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

launch_outcome launch(const launch_request& request) noexcept {
  launch_outcome out;
  child_state state{&request};
  alignas(16) std::array<char, std::size_t{32} << 10> stack;
  int pidfd = -1;  // kernels before 5.2 ignore the flag and leave it alone

  // The library's mask function spares the C library's internal signals; the kernel's does not.
  const unsigned long long everything = ~0ULL;
  unsigned long long before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, &before, k_kernel_mask_bytes);
  const int pid =
      VX_CLONE(child_main, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &state, &pidfd);
  const int clone_error = errno;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, k_kernel_mask_bytes);

  out.pidfd.reset(pidfd);
  if (pid < 0) {
    out.error = clone_error;
    out.step = launch_step::create;
    return out;
  }
  if (state.error != 0) {
    collect(pid);
    out.error = state.error;
    out.step = state.step;
    out.pidfd.reset();
    return out;
  }
  out.pid = pid;
  return out;
}

exit_watch::exit_watch(pid_t pid, unique_fd pidfd) : pid_(pid), pidfd_(static_cast<bool>(pidfd)), fd_(std::move(pidfd)) {
  if (pidfd_) return;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;  // fd() stays -1; the caller polls the child by time
  fd_.reset(ends[0]);
  unique_fd end(ends[1]);
  try {
    waiter_ = std::thread([pid, end = std::move(end)]() mutable {
      siginfo_t info{};
      while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
      }
      end.reset();  // the reader sees a hang-up
    });
  } catch (const std::system_error&) {  // no thread to be had: the child runs already and must still be looked after
    fd_.reset();
  }
}

exit_watch::~exit_watch() {
  if (waiter_.joinable()) waiter_.join();
}

void exit_watch::signal(int sig) const noexcept {
  if (pidfd_ && syscall(SYS_pidfd_send_signal, fd_.get(), sig, nullptr, 0U) == 0) return;
  if (pid_ > 1) ::kill(pid_, sig);
}

}  // namespace vx::exec
