// What a task owns that adds to the outputs of a dependency (cache.md 11): the rows its run added or changed, never what a glob
// matches.
#include <errno.h>

#include <algorithm>

#include "base/path.hpp"
#include "cache/outputs.hpp"
#include "cache/row_blobs.hpp"
#include "cache/scope_space.hpp"
#include "cache/stamps.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

/// The place of a row in sorted rows; size() when there is none.
std::size_t find_row(const std::vector<output_row>& rows, const output_row& like) {
  const auto at = std::lower_bound(rows.begin(), rows.end(), like, row_before);
  return at != rows.end() && at->space == like.space && at->path == like.path ? static_cast<std::size_t>(at - rows.begin())
                                                                              : rows.size();
}

result<unique_fd> anchor_of(const output_scope& scope, space which) {
  return open_anchor(scope_space(scope, which).base_path());
}

}  // namespace

std::vector<output_row> added_outputs(const stamped_outputs& before, const stamped_outputs& after) {
  std::vector<output_row> out;
  for (std::size_t i = 0; i < after.rows.size(); ++i) {
    const output_row& r = after.rows[i];
    const std::size_t at = find_row(before.rows, r);
    if (at < before.rows.size()) {
      const output_row& was = before.rows[at];
      const output_stamp &a = before.stamps[at], &b = after.stamps[i];
      // A directory has a new ctime whenever something is made in it: its row is its mode.
      const bool same =
          was.kind == r.kind && (r.kind == 'd' ? was.mode == r.mode : a.ino == b.ino && a.ctime_ns == b.ctime_ns && a.ino != 0);
      if (same) continue;
    }
    out.push_back(r);
  }
  return out;
}

std::string removed_output(const output_scope& scope, const stamped_outputs& before, const stamped_outputs& after) {
  for (const output_row& r : before.rows) {
    if (find_row(after.rows, r) < after.rows.size()) continue;
    const auto base = anchor_of(scope, r.space);
    // An empty directory that is no row any more because it holds something is still there.
    const auto st = base ? fs::lstat_at(base->get(), r.path) : result<fs::stat_info>(fs::stat_info{});
    if (!st || !st->exists()) return scope_space(scope, r.space).from_root(r.path);
  }
  return {};
}

std::vector<output_row> still_placed(const output_scope& scope, const stamped_outputs& placed) {
  std::vector<output_row> out;
  if (placed.rows.size() != placed.stamps.size()) return out;
  for (const space which : {space::project, space::workspace}) {
    const auto base = anchor_of(scope, which);
    if (!base) continue;
    for (std::size_t i = 0; i < placed.rows.size(); ++i) {
      const output_row& r = placed.rows[i];
      if (r.space != which) continue;
      const auto st = fs::lstat_at(base->get(), r.path);
      if (st && st->exists() && matches_row(r, *st) && matches_stamp(r, placed.stamps[i], *st)) out.push_back(r);
    }
  }
  return out;
}

result<std::vector<std::string>> clean_rows(const output_scope& scope, const std::vector<output_row>& rows,
                                            const std::vector<output_row>& keep) {
  std::vector<std::string> removed;
  for (const space which : {space::workspace, space::project}) {
    const auto base = anchor_of(scope, which);
    if (!base) continue;
    const scope_space s(scope, which);
    parent_cache parents(base->get());
    const auto remove = [&](const std::string& path, bool dir) -> result<bool> {
      const auto parent = parents.of(path);
      if (!parent) return false;
      const status done = fs::unlink_at(*parent, std::string(path::base_name(path)), dir);
      if (done) {
        removed.push_back(s.from_root(path));
        return true;
      }
      const int sys = done.error().sys;
      if (sys == ENOENT || (dir && (sys == ENOTEMPTY || sys == EEXIST))) return false;
      return fail_sys(sys, "cannot remove the output", s.from_root(path));
    };
    for (auto r = rows.rbegin(); r != rows.rend(); ++r) {
      if (r->space != which || find_row(keep, *r) < keep.size()) continue;
      VX_TRY_LET(bool gone, remove(r->path, r->kind == 'd'));
      // Directories that only held it go with it; those a glob is rooted at stay, as after a clean.
      for (std::string dir(path::parent(r->path)); gone && s.owns(dir) && !s.is_wildcard_root(dir); dir = path::parent(dir)) {
        output_row like;
        like.space = which;
        like.path = dir;
        if (find_row(keep, like) < keep.size()) break;
        parents.forget();
        VX_TRY_LET(gone, remove(dir, true));
      }
    }
  }
  return removed;
}

}  // namespace vx::cache
