#include "workspace/worktree.hpp"

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"

namespace vx::workspace {

namespace {

constexpr std::size_t k_pointer_max = 64 << 10;

std::string absolute(const std::string& base, std::string_view where) {
  const std::string joined = where.starts_with('/') ? std::string(where) : base + "/" + std::string(where);
  auto real = fs::real_path(joined);
  return real ? std::move(*real) : std::string();
}

/// The git directory a `.git` entry of `dir` stands for, "" when it stands for none.
std::string git_dir(const std::string& dir) {
  const auto st = fs::stat_at(fs::k_cwd, dir + "/.git");
  if (!st || !st->exists()) return {};
  if (st->kind == fs::kind::dir) return absolute(dir, ".git");
  const auto text = fs::read_file_at(fs::k_cwd, dir + "/.git", k_pointer_max);
  if (!text || !text->starts_with("gitdir:")) return {};
  return absolute(dir, text::trim(std::string_view(*text).substr(7)));
}

std::string common_dir(const std::string& git) {
  const auto text = fs::read_file_at(fs::k_cwd, git + "/commondir", k_pointer_max);
  return text ? absolute(git, text::trim(*text)) : git;
}

}  // namespace

bool worktree_check::is_linked(const std::string& root, const std::string& dir) {
  const std::string git = git_dir(path::join(root, dir));
  // Only a linked worktree's git directory has a `commondir`.
  if (git.empty() || !fs::exists_at(fs::k_cwd, git + "/commondir")) return false;
  if (!common_) {
    common_.emplace();
    for (std::string at = root; !at.empty(); at = std::string(path::parent(at))) {
      const std::string own = git_dir(at);
      if (own.empty()) continue;
      common_ = common_dir(own);
      break;
    }
  }
  return !common_->empty() && common_dir(git) == *common_;
}

}  // namespace vx::workspace
