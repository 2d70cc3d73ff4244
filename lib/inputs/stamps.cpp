#include "inputs/stamps.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "inputs/inputs.hpp"

namespace vx::inputs {
namespace {

/// A NUL-terminated copy on the stack; long names go to the heap.
class c_path {
 public:
  explicit c_path(std::string_view path) {
    if (path.size() < sizeof short_) {
      path.copy(short_, path.size());
      short_[path.size()] = '\0';
      text_ = short_;
    } else {
      long_ = path;
      text_ = long_.c_str();
    }
  }
  const char* get() const noexcept { return text_; }

 private:
  char short_[512];
  std::string long_;
  const char* text_;
};

}  // namespace

std::int64_t stamp_clock_ns() noexcept {
#ifdef CLOCK_REALTIME_COARSE
  struct ::timespec ts {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
#else
  return wall_ns();  // stamps are of the exact clock
#endif
}

bool lstat_view(int dir, std::string_view path, fs::stat_info& info, int* error) {
  struct ::stat st;
  if (error != nullptr) *error = 0;
  if (::fstatat(dir, c_path(path).get(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    info = fs::stat_info::from(st);
    return true;
  }
  info = {};
  if (error != nullptr && errno != ENOENT && errno != ENOTDIR) *error = errno;
  return false;
}

bool prober::is_real_dir(std::string_view dir) {
  if (dir == last_ && !levels_.empty()) return real_;
  if (dir.empty()) return true;
  while (!levels_.empty()) {
    const std::size_t n = levels_.back().length;
    if (dir.size() >= n && dir.compare(0, n, last_, 0, n) == 0 && (dir.size() == n || dir[n] == '/')) break;
    levels_.pop_back();
  }
  last_.assign(dir);
  std::size_t from = levels_.empty() ? 0 : levels_.back().length;
  real_ = levels_.empty() || levels_.back().real;
  while (from < dir.size()) {
    const std::size_t slash = dir.find('/', levels_.empty() ? 0 : from + 1);
    const std::size_t length = slash == std::string_view::npos ? dir.size() : slash;
    if (real_ && length > 0) {  // before the slash of an absolute path stands "/"
      fs::stat_info info;
      lstat_view(root_, dir.substr(0, length), info);
      real_ = info.kind == fs::kind::dir || mutated("through-links");
      if (dirs_ != nullptr) dirs_->push_back({dir.substr(0, length), info});
    }
    levels_.push_back({length, real_});
    from = length;
  }
  return real_;
}

bool prober::probe(std::string_view path, fs::stat_info& info) {
  if (is_real_dir(path::parent(path))) return lstat_view(root_, path, info);
  info = {};
  return false;
}

file_clock::file_clock(int root_fd) : root_(root_fd), network_(fs::is_network_fs(root_fd)) {}

std::int64_t file_clock::now_ns() const {
  if (!network_ || mutated("local-clock")) return stamp_clock_ns();
  // A write the server stamps. Where it can't be made, "now" is never: everything is racy, nothing is remembered.
  if (!fs::make_dirs_at(root_, ".vx") || !fs::write_file_atomic_at(root_, ".vx/clock", "")) return 0;
  fs::stat_info info;
  std::int64_t now = 0;
  return lstat_view(root_, ".vx/clock", info) && info.ctime.to_ns(now) ? now : 0;
}

}  // namespace vx::inputs
