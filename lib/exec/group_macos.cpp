#include <signal.h>

#include "exec/process.hpp"
#include "exec/reap.hpp"

namespace vx::exec {

// A group of zombies answers EPERM here, an empty one ESRCH: both are gone.
bool group_alive(pid_t pgid) noexcept { return pgid > 1 && ::kill(-pgid, 0) == 0; }

bool group_check_skips_zombies() noexcept { return true; }

}  // namespace vx::exec
