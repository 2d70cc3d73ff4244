#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/launch.hpp"

namespace vx::exec {
namespace {

/// posix_spawn reports one errno for all steps; the directory is the only step whose failure can be told apart.
launch_step failed_step(int error, const launch_request& request) {
  if (error == ENOENT || error == ENOTDIR || error == EACCES) {
    if (::access(request.cwd, X_OK) != 0) return launch_step::directory;
  }
  return error == EAGAIN || error == ENOMEM ? launch_step::create : launch_step::program;
}

int add_steps(posix_spawn_file_actions_t& actions, const launch_request& request) {
  int error = posix_spawn_file_actions_adddup2(&actions, request.in, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, request.out, 1);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, request.err, 2);
  if (error == 0) error = posix_spawn_file_actions_addchdir_np(&actions, request.cwd);
  return error;
}

int set_attributes(posix_spawnattr_t& attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  int error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
  // CLOEXEC_DEFAULT: nothing crosses but what the file actions name.
  constexpr int k_flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT;
  if (error == 0) error = posix_spawnattr_setflags(&attributes, static_cast<short>(k_flags));
  return error;
}

}  // namespace

launch_outcome launch(const launch_request& request) noexcept {
  launch_outcome out;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  out.step = launch_step::create;
  if ((out.error = posix_spawn_file_actions_init(&actions)) != 0) return out;
  if ((out.error = posix_spawnattr_init(&attributes)) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return out;
  }
  pid_t pid = -1;
  out.error = add_steps(actions, request);
  if (out.error == 0) out.error = set_attributes(attributes);
  if (out.error == 0) {
    out.error = posix_spawn(&pid, request.program, &actions, &attributes, request.argv, request.envp);
    if (out.error != 0) out.step = failed_step(out.error, request);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (out.error == 0) {
    out.pid = pid;
    out.step = launch_step::none;
  }
  return out;
}

exit_watch::exit_watch(pid_t pid, unique_fd pidfd) : pid_(pid), fd_(std::move(pidfd)) {
  unique_fd queue(::kqueue());  // never inherited across fork
  if (!queue) return;
  struct kevent change;
  EV_SET(&change, static_cast<uintptr_t>(pid), EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0, nullptr);
  if (::kevent(queue.get(), &change, 1, nullptr, 0, nullptr) < 0) {
    // It has ended already: a user event that is due at once stands for the notice.
    EV_SET(&change, 1, EVFILT_USER, EV_ADD | EV_ONESHOT, NOTE_TRIGGER, 0, nullptr);
    (void)::kevent(queue.get(), &change, 1, nullptr, 0, nullptr);
    EV_SET(&change, 1, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
    (void)::kevent(queue.get(), &change, 1, nullptr, 0, nullptr);
  }
  fd_ = std::move(queue);
}

exit_watch::~exit_watch() {
  if (waiter_.joinable()) waiter_.join();
}

void exit_watch::signal(int sig) const noexcept {
  if (pid_ > 1) ::kill(pid_, sig);
}

}  // namespace vx::exec
