// What lies in a store directory, by role.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace vx::cache {

struct store_file {
  std::string name;
  digest128 key;  ///< artifacts
  std::uint64_t size = 0, allocated = 0;
  std::int64_t mtime_ns = 0;
};

struct dir_listing {
  std::vector<store_file> artifacts;  ///< "<32 hex>.tar.zst"
  std::vector<store_file> others;     ///< every other regular file
};

dir_listing list_store(int dir);

}  // namespace vx::cache
