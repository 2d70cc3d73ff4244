// The digest of a file's bytes.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace vx::key {

/// XXH3-128 of a regular file, links followed. Failure CORRUPT when it changes while it is read.
result<digest128> file_digest(const std::string& path);

}  // namespace vx::key
