// Names that are never inputs, and membership of nested projects (keys.md 15.3, 15.4). Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace vx::inputs {

/// Below `.git` or `.vx`, a bundler's scratch directory, or one of the always-ignored file names.
bool is_dropped_name(std::string_view path) noexcept;
/// Some directory of the path is `node_modules`.
bool is_below_node_modules(std::string_view path) noexcept;

/// Answers for runs of paths that share directories.
class dropped_names {
 public:
  struct verdict {
    bool dropped = false, below_node_modules = false;
  };
  verdict of(std::string_view path) noexcept;

 private:
  std::string_view dir_{"\0", 1};  // no path lies in it
  verdict of_dir_;
};

/// Is a project-relative path inside one of the nested projects? Remembers the last directory.
class fence {
 public:
  explicit fence(const std::vector<std::string>* nested) noexcept
      : nested_(nested != nullptr && !nested->empty() ? nested : nullptr) {}
  bool open() const noexcept { return nested_ == nullptr; }
  bool holds(std::string_view path) noexcept {
    if (nested_ == nullptr) return false;
    const std::size_t slash = path.rfind('/');
    const std::string_view dir = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
    if (dir != last_) {
      last_ = dir;
      inside_ = holds_dir(dir);
    }
    return inside_;
  }
  /// The directory itself or one that encloses it is a nested project.
  bool holds_dir(std::string_view dir) const noexcept {
    if (nested_ == nullptr || dir.empty()) return false;
    for (std::size_t end = dir.find('/');; end = dir.find('/', end + 1)) {
      const std::string_view head = dir.substr(0, end);
      const auto at = std::lower_bound(nested_->begin(), nested_->end(), head);
      if (at != nested_->end() && *at == head) return true;
      if (end == std::string_view::npos) return false;
    }
  }

 private:
  const std::vector<std::string>* nested_;
  std::string_view last_;
  bool inside_ = false;
};

}  // namespace vx::inputs
