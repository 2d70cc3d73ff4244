// Writing to a pipe whose reader may be gone. A guest does not change what SIGPIPE does in its host.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace vx {

/// write(2), but without SIGPIPE: the signal is blocked for the call and taken if the call raised it. errno is write's.
ssize_t quiet_write(int fd, std::string_view data) noexcept;

}  // namespace vx
