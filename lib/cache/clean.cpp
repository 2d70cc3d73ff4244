// Emptying the owned area (cache.md 5.4).
#include <errno.h>

#include "base/path.hpp"
#include "cache/outputs.hpp"
#include "cache/owned_walk.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

status remove_one(const scope_space& s, parent_cache& parents, const found& f, std::vector<std::string>& removed) {
  const auto parent = parents.of(f.path);
  if (!parent) {
    if (parent.error().sys == ENOENT) return {};
    return fail_sys(parent.error().sys, "cannot remove the output", s.from_root(f.path));
  }
  const bool dir = f.kind == fs::kind::dir;
  const std::string name(path::base_name(f.path));
  // A directory that stays is one a command can use, as if it had just been made.
  const auto keep = [&]() -> status { return f.unlocked ? chmod_no_follow(*parent, name, 0755) : status{}; };
  if (dir && s.is_wildcard_root(f.path)) return keep();
  const status done = fs::unlink_at(*parent, name, dir);
  if (done) {
    removed.push_back(s.from_root(f.path));
    return {};
  }
  const int sys = done.error().sys;
  // A directory that still holds what is not ours stays.
  if (dir && (sys == ENOTEMPTY || sys == EEXIST)) return keep();
  if (sys == ENOENT) return {};
  return fail_sys(sys, "cannot remove the output", s.from_root(f.path));
}

}  // namespace

result<std::vector<std::string>> clean_outputs(const output_scope& scope) {
  std::vector<std::string> removed;
  VX_TRY(check_owned_roots(scope));
  for (const space which : {space::project, space::workspace}) {
    const scope_space s(scope, which);
    if (!s.declares_any()) continue;
    const auto base = open_anchor(s.base_path());
    if (!base) {
      if (base.error().sys == ENOENT) continue;
      return fail(base.error());
    }
    walk_options options;
    options.unlock = true;
    VX_TRY_LET(const std::vector<found> all, walk_owned(s, base->get(), options));
    parent_cache parents(base->get());
    // A parent sorts before what it holds: backwards, directories come empty.
    for (auto f = all.rbegin(); f != all.rend(); ++f) VX_TRY(remove_one(s, parents, *f, removed));
  }
  return removed;
}

}  // namespace vx::cache
