#include "cache/tree_access.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/path.hpp"

namespace vx::cache {

result<unique_fd> open_by_components(int base, const std::string& rel, int flags) {
  unique_fd held;
  int at = base;
  std::string_view rest = rel;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    if (part.empty() || part == "..") return fail_sys(EXDEV, "cannot open", rel);
    const bool last = slash == std::string_view::npos;
    const int how = last ? flags | O_NOFOLLOW : O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    auto next = fs::open_at(at, part, how);
    if (!next) return fail_sys(next.error().sys, "cannot open", rel);
    if (last) return next;
    held = std::move(*next);
    at = held.get();
    rest.remove_prefix(slash + 1);
  }
}

result<int> parent_cache::of(std::string_view path) {
  const std::string_view parent = path::parent(path);
  if (parent.empty()) return base_;
  if (known_ && dir_ == parent) return fd_.get();
  known_ = false;
  dir_ = parent;
  VX_TRY_LET(fd_, open_beneath(base_, dir_, O_RDONLY | O_DIRECTORY));
  known_ = true;
  return fd_.get();
}

stat_anchor::stat_anchor(std::string base, std::size_t rows) : buffer_(std::move(base)) {
  constexpr std::size_t k_worth_an_open = 8;
  if (rows > k_worth_an_open) {
    if (auto fd = open_anchor(buffer_)) fd_ = std::move(*fd);
  }
  buffer_ += '/';
  base_size_ = buffer_.size();
}

bool stat_anchor::look(const std::string& rel, fs::stat_info& out) {
  struct ::stat st;
  int rc = 0;
  if (fd_) {
    rc = ::fstatat(fd_.get(), rel.c_str(), &st, AT_SYMLINK_NOFOLLOW);
  } else {
    buffer_.resize(base_size_);
    buffer_ += rel;
    rc = ::fstatat(AT_FDCWD, buffer_.c_str(), &st, AT_SYMLINK_NOFOLLOW);
  }
  if (rc != 0) {
    out = {};
    return false;
  }
  out = fs::stat_info::from(st);
  return true;
}

}  // namespace vx::cache
