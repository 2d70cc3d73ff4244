#include "base/path.hpp"

#include <vector>

#include "base/text.hpp"

namespace vx {

bool is_rel_path(std::string_view path) noexcept {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  std::size_t start = 0;
  while (true) {
    const std::size_t slash = path.find('/', start);
    const std::string_view part = path.substr(start, slash == std::string_view::npos ? slash : slash - start);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    start = slash + 1;
  }
}

result<rel_path> rel_path::parse(std::string_view text) {
  if (!is_rel_path(text)) {
    return fail(errc::INVALID, "\"" + text::escape(text, true) +
                                   "\" is no relative path (no leading or doubled '/', no \".\" or \"..\", no NUL)");
  }
  return rel_path(std::string(text));
}

namespace path {
namespace {

// False when `rel` rose above its start. An absolute path cannot: "/.." is "/".
bool normalize_into(std::string_view path, std::string& out) {
  const bool absolute = !path.empty() && path.front() == '/';
  std::vector<std::string_view> parts;
  bool inside = true;
  std::size_t start = 0;
  while (start <= path.size()) {
    std::size_t slash = path.find('/', start);
    if (slash == std::string_view::npos) slash = path.size();
    const std::string_view part = path.substr(start, slash - start);
    start = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!absolute) {
      inside = false;
      parts.push_back(part);
    }
  }
  out.clear();
  if (absolute) out.push_back('/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out.push_back('/');
    out.append(parts[i]);
  }
  return inside;
}

}  // namespace

std::string join(std::string_view dir, std::string_view name) {
  if (dir.empty()) return std::string(name);
  if (name.empty()) return std::string(dir);
  std::string out;
  out.reserve(dir.size() + name.size() + 1);
  out.append(dir);
  if (out.back() != '/') out.push_back('/');
  out.append(name);
  return out;
}

std::string_view parent(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view base_name(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_within(std::string_view path, std::string_view dir) noexcept {
  if (dir.empty()) return true;
  if (!path.starts_with(dir)) return false;
  return path.size() == dir.size() || dir.back() == '/' || path[dir.size()] == '/';
}

std::string_view relative_to(std::string_view path, std::string_view dir) noexcept {
  if (dir.empty()) return path;
  if (path.size() <= dir.size()) return {};
  return path.substr(dir.back() == '/' ? dir.size() : dir.size() + 1);
}

std::string normalize(std::string_view path) {
  std::string out;
  normalize_into(path, out);
  return out;
}

bool normalize_within(std::string_view path, std::string& out) { return normalize_into(path, out); }

}  // namespace path
}  // namespace vx
