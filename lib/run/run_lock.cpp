#include "run/run_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "base/text.hpp"
#include "key/digest.hpp"

namespace vx::run {
namespace {

constexpr int k_poll_ms = 50;
constexpr std::int64_t k_say_after_ns = 1'000'000'000;

/// The directory of the locks: a real directory of ours that nobody else may write.
result<unique_fd> open_lock_dir(const std::string& tmp) {
  const std::string dir = tmp + "/vx-runs-" + std::to_string(::getuid());
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(errc::FS,
                "can't make " + dir + " (" + std::strerror(errno) + "): set TMPDIR to a directory that can be written");
  VX_TRY_LET(unique_fd fd, fs::open_at(fs::k_cwd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0 || st.st_uid != ::getuid() || (st.st_mode & 077) != 0)
    return fail(errc::FS, dir + " is not a private directory of this user");
  return fd;
}

std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  const std::string_view pid = n > 0 ? text::trim(std::string_view(text, static_cast<std::size_t>(n))) : std::string_view();
  return pid.empty() ? std::string() : " (pid " + std::string(pid) + ")";
}

void write_holder(int fd) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, pid.data(), pid.size(), 0);  // for the message only
}

bool pause_unless_cancelled(const cancel_token& cancel) {
  pollfd p{cancel.fd(), POLLIN, 0};
  return ::poll(&p, 1, k_poll_ms) <= 0 && !cancel.requested();
}

}  // namespace

run_lock::taken run_lock::take(const host& h, const cancel_token& cancel, const std::function<void(std::string)>& say_waiting,
                               std::optional<std::uint32_t> patience_ms) {
  taken out;
  if (mutated("no-run-lock")) return out;
  const std::string tmp = h.env.get("TMPDIR").empty() ? "/tmp" : h.env.get("TMPDIR");
  const auto give_up = [&](const failure& f) {
    out.warning = "runs of this workspace are not kept apart: " + f.message;
    return out;
  };
  result<unique_fd> dir = open_lock_dir(tmp);
  if (!dir) return give_up(dir.error());
  result<unique_fd> file = fs::open_at(dir->get(), key::xxh3_128(h.root).hex() + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file) return give_up(file.error());
  const std::int64_t started = mono_ns();
  bool said = false;
  for (;;) {
    const result<bool> got = fs::try_lock(file->get());
    if (!got) return give_up(got.error());
    if (*got) break;
    out.waited = true;
    out.holder = holder_of(file->get());
    if (patience_ms && mono_ns() - started >= std::int64_t{*patience_ms} * 1'000'000) {
      out.gave_up = true;
      return out;
    }
    if (!pause_unless_cancelled(cancel)) {
      out.cancelled = true;
      return out;
    }
    if (said || mono_ns() - started < k_say_after_ns) continue;
    said = true;
    say_waiting("waiting for another vx run" + out.holder + " on this workspace to finish");
  }
  write_holder(file->get());
  fd_ = std::move(*file);
  out.held = true;
  return out;
}

}  // namespace vx::run
