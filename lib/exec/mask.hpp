// Secret masking (run.md 17, cache.md 17): which values are secrets, and a streaming replacer that works across chunk borders.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"

namespace vx::exec {

/// True for names whose value is masked by rule: TOKEN, SECRET, KEY, PASSWORD, PASSWD, CREDENTIAL inside; not *_FILE, *_PATH, *_DIR,
/// not GIT_CONFIG_KEY_<n>.
bool is_secret_name(std::string_view name) noexcept;

/// The set of values to hide. Immutable after construction; shareable.
class mask {
 public:
  mask() = default;
  /// Values under 6 bytes are left alone; multi-line values also by line; values with ' also in their shell-quoted spelling.
  explicit mask(std::vector<std::string> values);
  static mask of(const environment& env, const std::vector<std::string>& extra_names);
  bool empty() const noexcept { return values_.empty(); }
  std::string apply(std::string_view whole) const;
  const std::vector<std::string>& values() const noexcept { return values_; }

 private:
  std::vector<std::string> values_;     ///< longest first
};

/// One stream of one task. push() returns what may be shown now; a tail that could begin a secret is held back.
class mask_stream {
 public:
  explicit mask_stream(const vx::exec::mask& m) : mask_(m) {}
  std::string push(std::string_view chunk);
  std::string release();                ///< the held tail: after 25 ms of silence, and at the end
  bool holding() const noexcept { return !held_.empty(); }

 private:
  const vx::exec::mask& mask_;
  std::string held_;
};

}  // namespace vx::exec
