#include "cache/owned_walk.hpp"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

bool gone(int sys) noexcept { return sys == ENOENT || sys == ENOTDIR || sys == ELOOP; }

class walker {
 public:
  walker(const scope_space& scope, int base, const walk_options& options) : scope_(scope), base_(base), options_(options) {}

  result<std::vector<found>> run() {
    for (const scope_space::root& r : scope_.roots()) {
      VX_TRY(start(r.path));
      while (!stack_.empty()) {
        const std::string dir = std::move(stack_.back());
        stack_.pop_back();
        VX_TRY(directory(dir));
      }
    }
    std::sort(out_.begin(), out_.end(), [](const found& a, const found& b) { return a.path < b.path; });
    return std::move(out_);
  }

 private:
  status start(const std::string& root) {
    if (root.empty()) {
      stack_.push_back(root);
      return {};
    }
    if (!scope_.enters(root)) return {};
    parent_cache parents(base_);
    const auto parent = parents.of(root);
    if (!parent) return gone(parent.error().sys) ? status{} : fail(parent.error());
    const std::string name(path::base_name(root));
    VX_TRY_LET(const fs::stat_info st, fs::lstat_at(*parent, name));
    return entry(*parent, root, name, st.kind);
  }

  status entry(int parent, const std::string& rel, const std::string& name, fs::kind kind) {
    if (kind == fs::kind::none) return {};
    if (kind == fs::kind::dir) {
      if (scope_.enters(rel) || scope_.owns(rel)) stack_.push_back(rel);
      return {};
    }
    if (!scope_.owns(rel)) return {};
    found f;
    f.path = rel;
    f.kind = kind;
    if (options_.stat_files) {
      VX_TRY_LET(f.st, fs::lstat_at(parent, name));
      if (!f.st.exists()) return {};
      f.kind = f.st.kind;
    }
    out_.push_back(std::move(f));
    return {};
  }

  result<unique_fd> open(const std::string& dir, bool& unlocked) {
    auto fd = open_beneath(base_, dir, O_RDONLY | O_DIRECTORY);
    if (fd || fd.error().sys != EACCES || !options_.unlock || mutated("no-unlock") || dir.empty()) return fd;
    parent_cache parents(base_);
    VX_TRY_LET(const int parent, parents.of(dir));
    VX_TRY(chmod_no_follow(parent, std::string(path::base_name(dir)), 0700));
    unlocked = true;
    return open_beneath(base_, dir, O_RDONLY | O_DIRECTORY);
  }

  status directory(const std::string& dir) {
    if (++dirs_ > options_.max_dirs) return fail(errc::REFUSED, "too many directories");
    bool unlocked = false;
    auto fd = open(dir, unlocked);
    if (!fd) return gone(fd.error().sys) ? status{} : fail(std::move(fd).error());
    VX_TRY_LET(const fs::stat_info st, fs::fstat_fd(fd->get()));
    const bool owned = !dir.empty() && scope_.owns(dir);
    if (options_.unlock && owned && !mutated("no-unlock") && (st.mode & 0700) != 0700)
      unlocked = ::fchmod(fd->get(), (st.mode & 0777) | 0700) == 0;
    auto entries = fs::list_dir_fd(fd->get());
    if (!entries) return fail_sys(entries.error().sys, "cannot list", scope_.from_root(dir));
    if (owned || options_.passed_dirs) {
      found f;
      f.path = dir;
      f.kind = fs::kind::dir;
      f.owned = owned;
      f.empty = entries->empty();
      f.unlocked = unlocked;
      f.st = st;
      out_.push_back(std::move(f));
    }
    for (const fs::dir_entry& e : *entries) VX_TRY(entry(fd->get(), path::join(dir, e.name), e.name, e.kind));
    return {};
  }

  const scope_space& scope_;
  int base_;
  const walk_options& options_;
  std::size_t dirs_ = 0;
  std::vector<std::string> stack_;
  std::vector<found> out_;
};

}  // namespace

result<std::vector<found>> walk_owned(const scope_space& scope, int base, const walk_options& options) {
  return walker(scope, base, options).run();
}

}  // namespace vx::cache
