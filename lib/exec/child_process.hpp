// A started task: its pid, its end's notice and the parent's ends of its pipes.
#pragma once

#include <sys/types.h>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "exec/launch.hpp"
#include "exec/process.hpp"

namespace vx::exec {

struct child_process {
  pid_t pid = -1;  ///< also its group and session
  exit_watch watch;
  unique_fd in;        ///< persistent tasks: held open, never written
  unique_fd out, err;  ///< non-blocking
};

/// Runs `<shell> -c <command>` in a session of its own. The message of a failure is the reason for people.
result<child_process> start_child(const spawn_spec& spec);

}  // namespace vx::exec
