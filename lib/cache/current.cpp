// The proof that nothing needs to be done (cache.md 8): every recorded output by lstat and stamp, the set of names by directory
// snapshot or walk. Opens no file. This runs for every hit of a warm run.
#include <algorithm>

#include "base/clock.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "cache/outputs.hpp"
#include "cache/owned_walk.hpp"
#include "cache/row_blobs.hpp"
#include "cache/stamps.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

constexpr std::size_t k_max_snapshot_dirs = 8192;

std::string base_of(const output_scope& scope, space which) {
  return which == space::project ? path::join(scope.root, scope.project_dir) : scope.root;
}

bool rows_in_place(const output_scope& scope, space which, const output_row* begin, const output_row* end,
                   const output_stamp* stamps) {
  if (begin == end) return true;
  stat_anchor at(base_of(scope, which), static_cast<std::size_t>(end - begin));
  fs::stat_info st;
  for (const output_row* r = begin; r != end; ++r, ++stamps) {
    if (!at.look(r->path, st) || !matches_row(*r, st) || (!mutated("no-stamps") && !matches_stamp(*r, *stamps, st)))
      return false;
  }
  return true;
}

bool same_dir(const dir_row& d, const fs::stat_info& st) {
  std::int64_t mtime = 0, ctime = 0;
  return st.kind == fs::kind::dir && st.ino == d.ino && st.mtime.to_ns(mtime) && st.ctime.to_ns(ctime) && mtime == d.mtime_ns &&
         ctime == d.ctime_ns;
}

/// A path is only what it seems while no directory above it is a link.
bool plain_ancestors(stat_anchor& at, const std::string& path, std::string& known) {
  std::string dir(path::parent(path));
  if (dir.empty() || dir == known) return true;
  known = dir;
  fs::stat_info st;
  for (; !dir.empty(); dir = path::parent(dir)) {
    if (!at.look(dir, st)) continue;  // absent: so is the path itself
    if (st.kind != fs::kind::dir) return false;
  }
  return true;
}

bool snapshot_holds(const output_scope& scope, const std::string& blob) {
  if (mutated("snapshot-always")) return true;
  const auto dirs = decode_dirs(blob);
  if (!dirs || dirs->empty()) return false;
  stat_anchor at(base_of(scope, space::project), dirs->size());
  fs::stat_info st;
  std::string known;
  const dir_row* above = nullptr;  // the snapshot directory the next ones may lie in: its own look covers them
  for (const dir_row& d : *dirs) {
    if (above == nullptr || !path::is_within(d.path, above->path)) {
      if (!plain_ancestors(at, d.path, known)) return false;
      above = d.state == dir_state::directory ? &d : nullptr;
    }
    if (d.state == dir_state::literal_file) continue;  // a row: proven by its stamp
    const bool there = at.look(d.path, st);
    if (d.state == dir_state::absent ? there : !there || !same_dir(d, st)) return false;
  }
  return true;
}

/// The rows a walk of one space finds, names and kinds (modes for directories), against the recorded ones.
bool set_is_exact(const scope_space& s, const std::vector<found>& all, const output_row* begin, const output_row* end) {
  const output_row* r = begin;
  for (const found& f : all) {
    if (!f.owned) continue;
    const bool dir = f.kind == fs::kind::dir;
    if (dir && !f.empty && (f.st.mode & 0777) == 0755) continue;
    const char kind = dir ? 'd' : f.kind == fs::kind::link ? 'l' : f.kind == fs::kind::file ? 'f' : 'x';
    if (r == end || r->path != f.path) {
      if (s.tolerates(f.path)) continue;
      return false;
    }
    if (r->kind != kind) return false;
    ++r;
  }
  return r == end;
}

bool walk_holds(const output_scope& scope, space which, const output_row* begin, const output_row* end) {
  const scope_space s(scope, which);
  if (!s.declares_any()) return begin == end;
  const auto base = open_anchor(s.base_path());
  if (!base) return false;
  const auto all = walk_owned(s, base->get(), {});
  return all && set_is_exact(s, *all, begin, end);
}

const output_row* first_workspace_row(const std::vector<output_row>& rows) {
  const auto at = std::find_if(rows.begin(), rows.end(), [](const output_row& r) { return r.space == space::workspace; });
  return rows.data() + (at - rows.begin());
}

/// What lies at a root that is no directory. False: a shape the snapshot does not cover.
bool root_row(const scope_space& s, const scope_space::root& root, int base, dir_row& out) {
  out = {};
  out.path = root.path;
  const auto st = fs::lstat_at(base, root.path);
  if (!st || st->kind == fs::kind::dir) return false;
  out.state = st->exists() ? dir_state::literal_file : dir_state::absent;
  return !st->exists() || (root.literal && s.owns(root.path));
}

}  // namespace

bool is_current(const output_scope& scope, const std::vector<output_row>& rows, const std::vector<output_stamp>& stamps,
                const std::string& snapshot) {
  if (mutated("always-current")) return true;
  if (stamps.size() != rows.size()) return false;
  const output_row* begin = rows.data();
  const output_row* middle = first_workspace_row(rows);
  const output_row* end = rows.data() + rows.size();
  if (!rows_in_place(scope, space::project, begin, middle, stamps.data())) return false;
  if (!rows_in_place(scope, space::workspace, middle, end, stamps.data() + (middle - begin))) return false;
  if (scope.additive) return true;  // what else lies there is the dependency's
  if (!snapshot.empty() && middle == end && scope.workspace_files.empty() && snapshot_holds(scope, snapshot)) return true;
  return walk_holds(scope, space::project, begin, middle) && walk_holds(scope, space::workspace, middle, end);
}

std::string snapshot_dirs(const output_scope& scope, const std::vector<output_row>& rows) {
  if (!scope.workspace_files.empty() || scope.files.empty() || scope.additive || scope.tolerated != nullptr) return {};
  const scope_space s(scope, space::project);
  if (!s.snapshot_shape()) return {};
  const auto base = open_anchor(s.base_path());
  if (!base || fs::is_network_fs(base->get())) return {};
  const std::int64_t now = wall_ns();  // before the first look: what changes meanwhile is inside the window
  walk_options options;
  options.passed_dirs = true;
  options.max_dirs = k_max_snapshot_dirs;
  const auto all = walk_owned(s, base->get(), options);
  if (!all || !set_is_exact(s, *all, rows.data(), rows.data() + rows.size())) return {};

  std::vector<dir_row> dirs;
  for (const found& f : *all) {
    if (f.kind != fs::kind::dir) continue;
    dir_row d;
    d.path = f.path;
    d.ino = f.st.ino;
    if (fs::is_racy(f.st.mtime, now) || fs::is_racy(f.st.ctime, now)) return {};
    if (!f.st.mtime.to_ns(d.mtime_ns) || !f.st.ctime.to_ns(d.ctime_ns)) return {};
    dirs.push_back(std::move(d));
  }
  for (const scope_space::root& root : s.roots()) {
    const bool walked = std::any_of(dirs.begin(), dirs.end(), [&](const dir_row& d) { return d.path == root.path; });
    if (walked) continue;
    dir_row d;
    if (!root_row(s, root, base->get(), d)) return {};
    dirs.push_back(std::move(d));
  }
  std::sort(dirs.begin(), dirs.end(), [](const dir_row& a, const dir_row& b) { return a.path < b.path; });
  return encode_dirs(dirs);
}

}  // namespace vx::cache
