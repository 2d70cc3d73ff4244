// File-system primitives: descriptor first, path second; EINTR handled here once; every descriptor
// close-on-exec. Paths are bytes and must be NUL-terminated, hence std::string parameters.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace vx::fs {

enum class kind : std::uint8_t { none, file, dir, link, other };

/// Seconds and nanoseconds apart: valid stamps exceed a 64-bit nanosecond count.
struct timestamp {
  std::int64_t sec = 0;
  std::uint32_t ns = 0;
  friend bool operator==(const timestamp&, const timestamp&) = default;
  friend auto operator<=>(const timestamp&, const timestamp&) = default;
  /// Nanoseconds since 1970; false when it does not fit 64 bits.
  bool to_ns(std::int64_t& out) const noexcept;
  static timestamp from_ns(std::int64_t ns) noexcept;
};

/// What lstat told about a path.
struct stat_info {
  fs::kind kind = fs::kind::none;  ///< none: nothing is there
  std::uint32_t mode = 0;          ///< nine permission bits plus setuid, setgid, sticky
  std::uint64_t size = 0;
  timestamp mtime, ctime;
  std::uint64_t ino = 0;
  std::uint64_t dev = 0;
  std::uint64_t nlink = 0;
  std::uint64_t blocks = 0;  ///< 512-byte blocks allocated
  bool exists() const noexcept { return kind != fs::kind::none; }
  static stat_info from(const struct ::stat& st) noexcept;
};

inline constexpr int k_cwd = -100;  ///< AT_FDCWD

/// lstat relative to `dir`. Absence (ENOENT, ENOTDIR) is kind::none, not a failure.
result<stat_info> lstat_at(int dir, const std::string& path);
/// The same following links; a dangling link is kind::none.
result<stat_info> stat_at(int dir, const std::string& path);
result<stat_info> fstat_fd(int fd);
bool exists_at(int dir, const std::string& path) noexcept;

result<unique_fd> open_dir_at(int dir, const std::string& path);                               ///< O_DIRECTORY
result<unique_fd> open_at(int dir, const std::string& path, int flags, unsigned mode = 0666);  ///< O_CLOEXEC added

/// Reads a whole file, refusing more than `cap` bytes (failure CORRUPT). Failure.sys is ENOENT when it is not there.
result<std::string> read_file_at(int dir, const std::string& path, std::size_t cap = std::size_t{1} << 30);
result<std::string> read_fd(int fd, std::size_t cap);
result<std::string> read_link_at(int dir, const std::string& path);
status write_all(int fd, std::string_view data);

/// Writes a temporary beside the target, optionally fsyncs, and renames over it.
status write_file_atomic_at(int dir, const std::string& path, std::string_view data, unsigned mode = 0644,
                            bool durable = false);

/// mkdir -p; existing directories are fine.
status make_dirs_at(int dir, const std::string& path, unsigned mode = 0777);
/// rm -rf that follows no link; a read-only directory is made writable to be emptied. Absence is fine.
status remove_tree_at(int dir, const std::string& path);
status unlink_at(int dir, const std::string& path, bool directory = false);
status rename_at(int from_dir, const std::string& from, int to_dir, const std::string& to);

struct dir_entry {
  std::string name;
  fs::kind kind;  ///< from d_type; resolved by lstat where the file system does not say
};
/// The entries of a directory without "." and "..", unsorted.
result<std::vector<dir_entry>> list_dir_at(int dir, const std::string& path);
result<std::vector<dir_entry>> list_dir_fd(int fd);

/// realpath(3) of an existing path.
result<std::string> real_path(const std::string& path);
/// The current directory, resolved.
result<std::string> current_dir();

/// True on NFS, CIFS, FUSE network mounts and the like, where shared memory and clocks can't be trusted.
bool is_network_fs(int fd) noexcept;

/// Advisory whole-file lock. Non-blocking try: true when taken.
result<bool> try_lock(int fd);
status lock_blocking(int fd);

/// Free bytes etc. are not offered: they are never true by the time they are used.

/// Test seam: when set, called before every mutating or reading call named here with the operation and path;
/// a non-zero return is the errno to fail with. Null in production. Set before threads start.
using fault_hook = int (*)(const char* op, const char* path);
void set_fault_hook(fault_hook hook) noexcept;
int fault(const char* op, const char* path) noexcept;  ///< 0 when no hook, for callers with their own system calls

}  // namespace vx::fs
