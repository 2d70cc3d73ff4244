#include "inputs/names.hpp"

#include "base/path.hpp"

namespace vx::inputs {
namespace {

bool is_hex(std::string_view s) noexcept {
  return std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// ".<16 hex>-<8 hex>.tmp"
bool is_scratch_dir(std::string_view name) noexcept {
  return name.size() == 30 && name[0] == '.' && name[17] == '-' && name.ends_with(".tmp") && is_hex(name.substr(1, 16)) &&
         is_hex(name.substr(18, 8));
}

bool is_dropped_dir(std::string_view name) noexcept { return name == ".git" || name == ".vx" || is_scratch_dir(name); }

bool is_dropped_file(std::string_view name) noexcept {
  return name.ends_with(".tsbuildinfo") || name.ends_with(".bun-build") || name == "vx-lock.json" || name == ".git" ||
         name == ".vx";
}

dropped_names::verdict judge_dir(std::string_view dir) noexcept {
  dropped_names::verdict v;
  while (!dir.empty()) {
    const std::size_t slash = dir.find('/');
    const std::string_view name = dir.substr(0, slash);
    v.dropped = v.dropped || is_dropped_dir(name);
    v.below_node_modules = v.below_node_modules || name == "node_modules";
    dir = slash == std::string_view::npos ? std::string_view() : dir.substr(slash + 1);
  }
  return v;
}

}  // namespace

dropped_names::verdict dropped_names::of(std::string_view path) noexcept {
  const std::string_view dir = path::parent(path);
  if (dir != dir_) {
    dir_ = dir;
    of_dir_ = judge_dir(dir);
  }
  verdict v = of_dir_;
  v.dropped = v.dropped || is_dropped_file(path::base_name(path));
  return v;
}

bool is_dropped_name(std::string_view path) noexcept {
  return judge_dir(path::parent(path)).dropped || is_dropped_file(path::base_name(path));
}
bool is_below_node_modules(std::string_view path) noexcept { return judge_dir(path::parent(path)).below_node_modules; }

}  // namespace vx::inputs
