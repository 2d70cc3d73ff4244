#include "exec/child_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace vx::exec {
namespace {

struct pipe_ends {
  unique_fd read, write;
};

/// The child's ends become 0 to 2 one after another, so none may stand there already (a host may have closed its own).
status lift(unique_fd& fd) {
  if (fd.get() > 2) return {};
  const int high = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
  if (high < 0) return fail_sys(errno, "duplicate", "a descriptor");
  fd.reset(high);
  return {};
}

result<pipe_ends> make_pipe() {
  int ends[2] = {-1, -1};
#ifdef __linux__
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_sys(errno, "create", "a pipe");
#else
  if (::pipe(ends) != 0) return fail_sys(errno, "create", "a pipe");
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  pipe_ends out{unique_fd(ends[0]), unique_fd(ends[1])};
  VX_TRY(lift(out.read));
  VX_TRY(lift(out.write));
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

failure launch_failure(const launch_outcome& outcome, const spawn_spec& spec) {
  switch (outcome.step) {
    case launch_step::directory: return sys_failure(outcome.error, "enter", spec.cwd);
    case launch_step::program: return sys_failure(outcome.error, "start the shell", spec.shell);
    case launch_step::descriptors: return sys_failure(outcome.error, "set up", "the descriptors of a process");
    default: return sys_failure(outcome.error, "create", "a process");
  }
}

}  // namespace

result<child_process> start_child(const spawn_spec& spec) {
  child_process child;
  VX_TRY_LET(pipe_ends out, make_pipe());
  VX_TRY_LET(pipe_ends err, make_pipe());
  unique_fd input;
  if (spec.keep_stdin_open) {
    VX_TRY_LET(pipe_ends in, make_pipe());
    input = std::move(in.read);
    child.in = std::move(in.write);
  } else {
    input.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!input) return fail_sys(errno, "open", "/dev/null");
    VX_TRY(lift(input));
  }
  // Only our ends: the flag belongs to the open file, and the child's ends are other files.
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);

  std::array<std::string, 3> argv{"sh", "-c", spec.command};
  char* const args[] = {argv[0].data(), argv[1].data(), argv[2].data(), nullptr};
  const std::vector<char*> env = pointers(spec.env);
  launch_outcome outcome =
      launch({spec.shell.c_str(), args, env.data(), spec.cwd.c_str(), input.get(), out.write.get(), err.write.get()});
  if (outcome.pid < 0) return fail(launch_failure(outcome, spec));

  child.pid = outcome.pid;
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  return child_process{child.pid, exit_watch(child.pid, std::move(outcome.pidfd)), std::move(child.in), std::move(child.out),
                       std::move(child.err)};
}

}  // namespace vx::exec
