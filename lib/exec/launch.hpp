// Starting one process and noticing its end: the part that differs between systems (launch_<system>.cpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <thread>

#include "base/unique_fd.hpp"

namespace vx::exec {

struct launch_request {
  const char* program;  ///< absolute
  char* const* argv;    ///< NULL-terminated, like envp
  char* const* envp;
  const char* cwd;
  int in, out, err;  ///< become 0, 1 and 2; each above 2 in the caller
};

/// Where starting a process failed.
enum class launch_step : std::uint8_t { none, create, session, descriptors, directory, program };

struct launch_outcome {
  pid_t pid = -1;   ///< leader of a new session and group; -1 when nothing is left to wait for
  unique_fd pidfd;  ///< empty where the system has none
  int error = 0;    ///< errno of the step
  launch_step step = launch_step::none;
};

/// The child has default dispositions, an empty mask, three descriptors, and runs no code but async-signal-safe code before the
/// program starts. A failure in the child is reported here and the child is collected.
launch_outcome launch(const launch_request& request) noexcept;

/// A descriptor that polls readable (or hung up) once a child has ended. Collecting the child stays with the owner.
class exit_watch {
 public:
  exit_watch() noexcept = default;
  /// Without a pidfd another way of the system's is used, at worst a thread that waits without collecting.
  exit_watch(pid_t pid, unique_fd pidfd);
  exit_watch(exit_watch&&) noexcept = default;
  exit_watch& operator=(exit_watch&&) = delete;
  ~exit_watch();  ///< a waiting thread is joined: destroy it after the child's end

  int fd() const noexcept { return fd_.get(); }
  /// Signals the leader alone. Only while it is not collected.
  void signal(int sig) const noexcept;

 private:
  pid_t pid_ = -1;
  bool pidfd_ = false;  ///< fd_ is a pidfd
  unique_fd fd_;
  std::thread waiter_;
};

}  // namespace vx::exec
