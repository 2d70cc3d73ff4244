// What differs between systems below base's own sources. Implemented in platform_<system>.cpp; no other module includes it.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <cstddef>

#include "base/fs.hpp"
#include "base/unique_fd.hpp"

namespace vx::platform {

/// A close-on-exec pipe. 0 or an errno.
int make_pipe(unique_fd& read_end, unique_fd& write_end) noexcept;
/// A wake-up descriptor: `read_end` polls readable once 8 bytes were written. `write_end` stays empty where one
/// descriptor serves both. Both are non-blocking. 0 or an errno.
int make_wakeup(unique_fd& read_end, unique_fd& write_end) noexcept;
unsigned usable_cpus() noexcept;
void random_bytes(void* out, std::size_t n) noexcept;
/// Makes the child of a posix_spawn start with no descriptor above `highest` but those bound explicitly. 0 or an errno.
int close_others(posix_spawn_file_actions_t& actions, int highest) noexcept;
/// Flags of posix_spawn that only some systems have.
short spawn_flags() noexcept;
/// A descriptor that polls readable when the child `pid`, not yet reaped, has ended; empty when there is no such thing.
unique_fd watch_process(pid_t pid) noexcept;

fs::timestamp mtime_of(const struct ::stat& st) noexcept;
fs::timestamp ctime_of(const struct ::stat& st) noexcept;

}  // namespace vx::platform
