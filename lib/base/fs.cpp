#include "base/fs.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <boost/filesystem.hpp>
#include <cerrno>
#include <limits>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/path.hpp"
#include "base/platform.hpp"

namespace vx::fs {

static_assert(k_cwd == AT_FDCWD || AT_FDCWD == -2, "AT_FDCWD is -100 on Linux, -2 on macOS");

namespace {

std::atomic<fault_hook> g_fault{nullptr};  // the test seam; null in production

// k_cwd travels through our signatures as -100 everywhere; the system's own value may differ.
int at(int dir) noexcept { return dir == k_cwd ? AT_FDCWD : dir; }

bool absent(int error) noexcept { return error == ENOENT || error == ENOTDIR; }

result<stat_info> stat_with(int dir, const std::string& path, int flags, const char* op) {
  if (const int e = fault(op, path.c_str())) return fail_sys(e, "cannot stat", path);
  struct ::stat st;
  if (::fstatat(at(dir), path.c_str(), &st, flags) == 0) return stat_info::from(st);
  if (absent(errno)) return stat_info{};
  return fail_sys(errno, "cannot stat", path);
}

}  // namespace

void set_fault_hook(fault_hook hook) noexcept { g_fault.store(hook, std::memory_order_release); }

int fault(const char* op, const char* path) noexcept {
  const fault_hook hook = g_fault.load(std::memory_order_acquire);
  return hook == nullptr ? 0 : hook(op, path);
}

bool timestamp::to_ns(std::int64_t& out) const noexcept {
  std::int64_t scaled = 0;
  if (__builtin_mul_overflow(sec, std::int64_t{1'000'000'000}, &scaled)) return false;
  return !__builtin_add_overflow(scaled, std::int64_t{ns}, &out);
}

timestamp timestamp::from_ns(std::int64_t ns) noexcept {
  std::int64_t sec = ns / 1'000'000'000;
  std::int64_t rest = ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --sec;
  }
  return {sec, static_cast<std::uint32_t>(rest)};
}

stat_info stat_info::from(const struct ::stat& st) noexcept {
  stat_info out;
  if (S_ISREG(st.st_mode)) {
    out.kind = kind::file;
  } else if (S_ISDIR(st.st_mode)) {
    out.kind = kind::dir;
  } else if (S_ISLNK(st.st_mode)) {
    out.kind = kind::link;
  } else {
    out.kind = kind::other;
  }
  out.mode = static_cast<std::uint32_t>(st.st_mode & 07777);
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.mtime = platform::mtime_of(st);
  out.ctime = platform::ctime_of(st);
  out.ino = static_cast<std::uint64_t>(st.st_ino);
  out.dev = static_cast<std::uint64_t>(st.st_dev);
  out.nlink = static_cast<std::uint64_t>(st.st_nlink);
  out.blocks = static_cast<std::uint64_t>(st.st_blocks);
  return out;
}

result<stat_info> lstat_at(int dir, const std::string& path) { return stat_with(dir, path, AT_SYMLINK_NOFOLLOW, "lstat"); }

result<stat_info> stat_at(int dir, const std::string& path) { return stat_with(dir, path, 0, "stat"); }

result<stat_info> fstat_fd(int fd) {
  struct ::stat st;
  if (::fstat(fd, &st) != 0) return fail_sys(errno, "cannot stat", "");
  return stat_info::from(st);
}

bool exists_at(int dir, const std::string& path) noexcept {
  struct ::stat st;
  return ::fstatat(at(dir), path.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

result<unique_fd> open_at(int dir, const std::string& path, int flags, unsigned mode) {
  if (const int e = fault("open", path.c_str())) return fail_sys(e, "cannot open", path);
  while (true) {
    unique_fd fd(::openat(at(dir), path.c_str(), flags | O_CLOEXEC, mode));
    if (fd) return fd;
    if (errno != EINTR) return fail_sys(errno, "cannot open", path);
  }
}

result<unique_fd> open_dir_at(int dir, const std::string& path) { return open_at(dir, path, O_RDONLY | O_DIRECTORY); }

result<std::string> read_fd(int fd, std::size_t cap) {
  if (const int e = fault("read", "")) return fail_sys(e, "cannot read", "");
  struct ::stat st;
  if (::fstat(fd, &st) != 0) return fail_sys(errno, "cannot read", "");
  const bool regular = S_ISREG(st.st_mode);
  const auto size = regular ? static_cast<std::uint64_t>(st.st_size) : 0;
  if (size > cap) return fail(errc::CORRUPT, "more than " + std::to_string(cap) + " bytes");
  std::string out;
  // One byte more than expected: a file that kept its size ends in the first read.
  out.resize(static_cast<std::size_t>(size > 0 ? size + 1 : 4096));
  std::size_t have = 0;
  while (true) {
    const ssize_t n = ::read(fd, out.data() + have, out.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_sys(errno, "cannot read", "");
    have += static_cast<std::size_t>(n);
    if (have > cap) return fail(errc::CORRUPT, "more than " + std::to_string(cap) + " bytes");
    if (n == 0 || (regular && size > 0 && have == size)) break;
    if (have == out.size()) out.resize(out.size() * 2);
  }
  out.resize(have);
  return out;
}

result<std::string> read_file_at(int dir, const std::string& path, std::size_t cap) {
  if (const int e = fault("read", path.c_str())) return fail_sys(e, "cannot read", path);
  unique_fd fd;
  do {
    fd.reset(::openat(at(dir), path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO must not hang us
  } while (!fd && errno == EINTR);
  if (!fd) return fail_sys(errno, "cannot read", path);
  auto out = read_fd(fd.get(), cap);
  if (out) return out;
  if (out.error().sys != 0) return fail_sys(out.error().sys, "cannot read", path);
  failure f = std::move(out).error();
  f.message = path + ": " + f.message;
  f.path = path;
  return fail(std::move(f));
}

result<std::string> read_link_at(int dir, const std::string& path) {
  if (const int e = fault("readlink", path.c_str())) return fail_sys(e, "cannot read the link", path);
  std::string out(256, '\0');
  while (true) {
    const ssize_t n = ::readlinkat(at(dir), path.c_str(), out.data(), out.size());
    if (n < 0) return fail_sys(errno, "cannot read the link", path);
    if (static_cast<std::size_t>(n) < out.size()) {
      out.resize(static_cast<std::size_t>(n));
      return out;
    }
    out.resize(out.size() * 2);
  }
}

status write_all(int fd, std::string_view data) {
  if (const int e = fault("write", "")) return fail_sys(e, "cannot write", "");
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_sys(errno, "cannot write", "");
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

namespace {

status sync_fd(int fd, const std::string& path) {
  if (const int e = fault("fsync", path.c_str())) return fail_sys(e, "cannot flush", path);
  while (::fsync(fd) != 0) {
    if (errno != EINTR) return fail_sys(errno, "cannot flush", path);
  }
  return {};
}

// A name that globs and snapshots of the tree leave out: ".<16 hex>-<8 hex>.tmp".
std::string scratch_name() {
  std::array<std::byte, 12> raw{};
  random_bytes(raw.data(), raw.size());
  const std::string hex = to_hex(raw);
  return "." + hex.substr(0, 16) + "-" + hex.substr(16) + ".tmp";
}

status fill_and_rename(int dir, const std::string& temp, const std::string& path, std::string_view data, unsigned mode,
                       bool durable) {
  VX_TRY_LET(const unique_fd fd, open_at(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  if (auto wrote = write_all(fd.get(), data); !wrote) return fail_sys(wrote.error().sys, "cannot write", path);
  if (durable) VX_TRY(sync_fd(fd.get(), path));
  VX_TRY(rename_at(dir, temp, dir, path));
  if (!durable) return {};
  const std::string_view parent = path::parent(path);
  VX_TRY_LET(const unique_fd holder, open_dir_at(dir, parent.empty() ? std::string(".") : std::string(parent)));
  return sync_fd(holder.get(), path);
}

}  // namespace

status write_file_atomic_at(int dir, const std::string& path, std::string_view data, unsigned mode, bool durable) {
  const std::string temp = path::join(path::parent(path), scratch_name());
  auto done = fill_and_rename(dir, temp, path, data, mode, durable);
  if (!done) ::unlinkat(at(dir), temp.c_str(), 0);
  return done;
}

status unlink_at(int dir, const std::string& path, bool directory) {
  if (const int e = fault("unlink", path.c_str())) return fail_sys(e, "cannot remove", path);
  if (::unlinkat(at(dir), path.c_str(), directory ? AT_REMOVEDIR : 0) != 0) return fail_sys(errno, "cannot remove", path);
  return {};
}

status rename_at(int from_dir, const std::string& from, int to_dir, const std::string& to) {
  if (const int e = fault("rename", to.c_str())) return fail_sys(e, "cannot rename to", to);
  if (::renameat(at(from_dir), from.c_str(), at(to_dir), to.c_str()) != 0) return fail_sys(errno, "cannot rename to", to);
  return {};
}

result<std::string> real_path(const std::string& path) {
  boost::system::error_code ec;
  boost::filesystem::path real = boost::filesystem::canonical(path, ec);
  if (ec) return fail_sys(ec.value(), "cannot resolve", path);
  return real.native();
}

result<std::string> current_dir() {
  boost::system::error_code ec;
  const boost::filesystem::path cwd = boost::filesystem::current_path(ec);
  if (ec) return fail_sys(ec.value(), "cannot tell the current directory", "");
  return real_path(cwd.native());
}

result<bool> try_lock(int fd) {
  if (const int e = fault("lock", "")) return fail_sys(e, "cannot lock", "");
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return fail_sys(errno, "cannot lock", "");
  }
  return true;
}

status lock_blocking(int fd) {
  if (const int e = fault("lock", "")) return fail_sys(e, "cannot lock", "");
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return fail_sys(errno, "cannot lock", "");
  }
  return {};
}

}  // namespace vx::fs
