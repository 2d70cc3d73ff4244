#include "inputs/walk.hpp"

#include <algorithm>

#include "base/fs.hpp"
#include "base/path.hpp"

namespace vx::inputs {
namespace {

constexpr std::size_t k_rules_most = std::size_t{64} << 20;

bool is_skipped(std::string_view name) noexcept { return name == "node_modules" || name == ".git" || name == ".vx"; }

}  // namespace

const glob::ignore_file* ignore_rules::rules_of(std::string_view dir) {
  if (const auto known = files_.find(dir); known != files_.end()) return known->second.get();
  std::unique_ptr<glob::ignore_file> rules;
  if (auto text = fs::read_file_at(root_, path::join(dir, ".gitignore"), k_rules_most)) {
    rules = std::make_unique<glob::ignore_file>(glob::ignore_file::parse(*text));
    if (rules->empty()) rules.reset();
  }
  return files_.emplace(std::string(dir), std::move(rules)).first->second.get();
}

bool ignore_rules::ignored_itself(std::string_view path, bool is_dir) {
  for (std::string_view dir = path::parent(path);; dir = path::parent(dir)) {
    if (!path::is_within(dir, base_)) return false;
    if (const glob::ignore_file* rules = rules_of(dir)) {
      const auto verdict = rules->check(path::relative_to(path, dir), is_dir);
      if (verdict != glob::ignore_file::verdict::none) return verdict == glob::ignore_file::verdict::ignored;
    }
    if (dir.empty()) return false;
  }
}

bool ignore_rules::ignored(std::string_view path, bool is_dir) {
  for (std::size_t slash = path.find('/', base_.empty() ? 0 : base_.size() + 1); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (ignored_itself(path.substr(0, slash), true)) return true;
  }
  return ignored_itself(path, is_dir);
}

std::vector<std::string> walk_tree(int root_fd, std::string_view dir, ignore_rules& rules) {
  std::vector<std::string> out;
  std::vector<std::string> open = {std::string(dir)};
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    auto entries = fs::list_dir_at(root_fd, at.empty() ? "." : at);
    if (!entries) continue;
    for (const fs::dir_entry& e : *entries) {
      const bool is_dir = e.kind == fs::kind::dir;
      if (is_skipped(e.name) || (!is_dir && e.kind != fs::kind::file && e.kind != fs::kind::link)) continue;
      std::string path = path::join(at, e.name);
      if (rules.ignored_itself(path, is_dir)) continue;
      (is_dir ? open : out).push_back(std::move(path));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace vx::inputs
