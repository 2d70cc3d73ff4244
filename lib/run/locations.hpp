// Places in source files that a failed task's output names. Pure but for the question whether a file is there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::run {

struct location {
  std::string file;  ///< root-relative
  std::optional<std::uint32_t> line, column;
  friend bool operator==(const location&, const location&) = default;
};

/// A written path as a root-relative file that exists; nullopt: it is none, so it was no path.
using resolve_fn = std::function<std::optional<std::string>(const std::string& written)>;

/// `file:line[:col]`, `file(line[,col])` and `File "file", line N`, in order, each once, twenty at the most.
std::vector<location> find_locations(std::string_view output, const resolve_fn& resolve);

/// Looks below the project's directory, then below the root.
resolve_fn resolve_below(std::string root, std::string project_dir);

}  // namespace vx::run
