// The one list of status codes. It drives errc, vx_status_name(), the header's constants (pinned by a
// static_assert in capi/src) and the documents' error codes. Values are never renumbered or reused.
#pragma once

#include <cstdint>
#include <string_view>

// X(NAME, value, what a caller would do differently)
#define VX_STATUS_LIST(X)                                       \
  X(INTERNAL, 1, "a defect in vx")                              \
  X(NO_MEMORY, 2, "out of memory")                              \
  X(INVALID, 3, "an argument is not acceptable")                \
  X(NOT_FOUND, 4, "the named thing does not exist")             \
  X(IO, 5, "the system refused an operation")                   \
  X(UNSUPPORTED, 6, "this build or machine lacks the facility") \
  X(CANCELLED, 7, "stopped before an answer")                   \
  X(CORRUPT, 8, "a document or artifact is not what it claims") \
  X(CYCLE, 9, "a cycle of tasks")                               \
  X(USAGE, 10, "a flag, argument or selection is not taken")    \
  X(UNKNOWN_COMMAND, 11, "no such verb")                        \
  X(UNKNOWN_TASK, 12, "nothing in scope declares the task")     \
  X(UNKNOWN_PROJECT, 13, "no such project")                     \
  X(NO_HISTORY, 14, "no recorded run")                          \
  X(AMBIGUOUS, 15, "several projects or runs fit")              \
  X(CONFIG, 16, "a config does not load or is refused")         \
  X(NO_WORKSPACE, 17, "no workspace at or above the directory") \
  X(CACHE_VERSION, 18, "another version's index")               \
  X(REFUSED, 19, "a rule forbids the request")                  \
  X(FS, 20, "the file system refused a path")                   \
  X(FDS, 21, "out of file descriptors")

namespace vx {

enum class errc : std::int32_t {
  ok = 0,
#define VX_STATUS_ENUM(name, value, text) name = value,
  VX_STATUS_LIST(VX_STATUS_ENUM)
#undef VX_STATUS_ENUM
};

/// "VX_E_IO" for errc::IO, "VX_OK" for ok, "VX_E_INTERNAL" for a value that is not in the list.
std::string_view status_name(errc code) noexcept;

}  // namespace vx
