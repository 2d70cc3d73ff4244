// Directory descriptors below an anchor that follow no link on the way (cache.md 10).
#pragma once

#include <string>
#include <string_view>

#include "base/fs.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace vx::cache {

/// Opens `rel` ("" = `base` itself) with `flags` | O_CLOEXEC | O_NOFOLLOW. failure.sys is ELOOP or ENOTDIR when a link or a
/// file is in the way, EXDEV when the path would leave `base`.
result<unique_fd> open_beneath(int base, const std::string& rel, int flags);
/// Walks component by component; what open_beneath does where the kernel has no better.
result<unique_fd> open_by_components(int base, const std::string& rel, int flags);
/// An anchor: a directory used only to resolve other names.
result<unique_fd> open_anchor(const std::string& path);

/// Sets the nine bits of a directory entry without following a link; works on mode 000.
status chmod_no_follow(int dir, const std::string& name, unsigned mode);

/// Descriptors of parent directories, the last one kept: sorted rows ask for the same parent again and again.
class parent_cache {
 public:
  explicit parent_cache(int base) noexcept : base_(base) {}
  /// The directory that holds `path`.
  result<int> of(std::string_view path);
  void forget() noexcept {
    known_ = false;
    fd_.reset();
  }

 private:
  int base_;
  bool known_ = false;
  std::string dir_;
  unique_fd fd_;
};

/// lstat in a loop without a failure value per call: absolute paths for a few rows, an anchor for many.
class stat_anchor {
 public:
  stat_anchor(std::string base, std::size_t rows);
  /// False when nothing is there (or it cannot be told: then it is not current either).
  bool look(const std::string& rel, fs::stat_info& out);

 private:
  std::string buffer_;
  std::size_t base_size_;
  unique_fd fd_;
};

}  // namespace vx::cache
