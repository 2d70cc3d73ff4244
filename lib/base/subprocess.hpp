// Helper programs whose output vx itself reads (git, the config evaluator, runtime probes). Tasks do not start here:
// they go through exec/. Descriptors are close-on-exec; the child is waited for by pid, by us, never through SIGCHLD.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "base/unique_fd.hpp"

namespace vx {

struct subprocess_options {
  std::string program;                                              ///< absolute path
  std::vector<std::string> args;                                    ///< without argv[0]
  std::string cwd;                                                  ///< "" = the host's
  std::vector<std::string> env;                                     ///< "NAME=value" block; exactly the child's environment
  bool own_group = true;                                            ///< setpgid/setsid so that it can be killed with its tree
  bool pipe_stdin = false, pipe_stdout = true, pipe_stderr = true;  ///< else /dev/null
  bool stderr_to_host = false;    ///< inherit the host's stderr (evaluator); overrides pipe_stderr
  bool stdout_to_stderr = false;  ///< stdout goes where stderr goes
  /// Further descriptors: child number -> parent's descriptor (dup'ed into the child).
  std::vector<std::pair<int, int>> extra_fds;
};

/// A running helper. The destructor kills its group and reaps it.
class subprocess {
 public:
  static result<subprocess> start(const subprocess_options& options);
  subprocess(subprocess&&) noexcept;
  subprocess& operator=(subprocess&&) noexcept;
  ~subprocess();

  pid_t pid() const noexcept { return pid_; }
  unique_fd& in() noexcept { return in_; }
  unique_fd& out() noexcept { return out_; }
  unique_fd& err() noexcept { return err_; }
  /// Waits for the end; the wait(2) status. Once only.
  result<int> wait();
  void kill(int signal) noexcept;  ///< to the group when own_group, else to the process

 private:
  subprocess() = default;
  pid_t pid_ = -1;
  bool group_ = false;
  unique_fd in_, out_, err_;
};

struct subprocess_output {
  int wait_status = 0;
  bool timed_out = false;
  std::string out, err;
  bool ok() const noexcept { return wait_status == 0 && !timed_out; }
  int exit_code() const noexcept;  ///< as is; 128 + n for a signal
};

/// Starts, feeds `input`, reads both streams to their ends, waits. `cancel` (may be null) kills it: failure CANCELLED.
/// `timeout_ms` 0 = none.
result<subprocess_output> run_subprocess(const subprocess_options& options, std::string_view input = {},
                                         const cancel_token* cancel = nullptr, std::uint32_t timeout_ms = 0);

}  // namespace vx
