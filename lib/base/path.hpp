// Paths as bytes. rel_path is the only path that may enter a key, an archive or an index.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace vx {

/// True for a relative, '/'-separated path without empty, "." or ".." components and without NUL.
bool is_rel_path(std::string_view path) noexcept;

/// A validated root- or project-relative path (is_rel_path holds). Compared and sorted bytewise.
class rel_path {
 public:
  static result<rel_path> parse(std::string_view text);
  const std::string& str() const noexcept { return text_; }
  std::string_view view() const noexcept { return text_; }
  const char* c_str() const noexcept { return text_.c_str(); }
  friend bool operator==(const rel_path&, const rel_path&) = default;
  friend auto operator<=>(const rel_path&, const rel_path&) = default;

 private:
  explicit rel_path(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

namespace path {
/// Lexical helpers; none touches the system. An empty directory means "the root itself".
std::string join(std::string_view dir, std::string_view name);  ///< join("", "x") == "x"
std::string_view parent(std::string_view path) noexcept;        ///< parent("a/b") == "a", parent("a") == ""
std::string_view base_name(std::string_view path) noexcept;
/// True when `path` is `dir` or lies below it; dir "" holds everything.
bool is_within(std::string_view path, std::string_view dir) noexcept;
/// `path` relative to `dir` (which must hold it); "" when equal.
std::string_view relative_to(std::string_view path, std::string_view dir) noexcept;
/// Resolves "." and ".." of `rel` against absolute or relative `dir`, lexically. Rising above "/" stays at "/".
std::string normalize(std::string_view path);
/// normalize(), but false when a relative path rises above its start at any step.
bool normalize_within(std::string_view path, std::string& out);
}  // namespace path

}  // namespace vx
