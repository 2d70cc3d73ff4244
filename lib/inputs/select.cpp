// From a declaration to files and identities (keys.md 15, config.md 12).
#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "inputs/facts_impl.hpp"
#include "inputs/literals.hpp"
#include "inputs/names.hpp"

namespace vx::inputs {
namespace {

using picks = std::vector<const file*>;

std::string_view in_project(std::string_view path, std::string_view dir) noexcept {
  return dir.empty() ? path : path.substr(dir.size() + 1);
}

/// A task's own outputs, which are never its inputs.
class own_outputs {
 public:
  explicit own_outputs(const selector& s)
      : s_(s),
        project_(s.subtract_outputs && !s.own_outputs.empty()),
        workspace_(s.subtract_outputs && !s.own_workspace_outputs.empty()) {}
  bool hold(std::string_view path) const noexcept {
    if (workspace_ && s_.own_workspace_outputs.match(path)) return true;
    return project_ && path::is_within(path, s_.project_dir) && s_.own_outputs.match(path::relative_to(path, s_.project_dir));
  }
  bool hold_in_project(std::string_view path, std::string_view below) const noexcept {
    return (project_ && s_.own_outputs.match(below)) || (workspace_ && s_.own_workspace_outputs.match(path));
  }

 private:
  const selector& s_;
  bool project_, workspace_;
};

void pick_project(const selector& s, const table& t, picks& out) {
  const file_range range = t.below(s.project_dir);
  const bool everything = s.files.is_everything();
  const own_outputs own(s);
  fence nested(s.nested.get());
  out.reserve(everything ? range.second - range.first : 16);
  for (std::size_t i = range.first; i < range.second; ++i) {
    const file& f = t.files[i];
    const std::string_view below = in_project(f.path, s.project_dir);
    if ((nested.holds(below) && !mutated("no-fence")) || (!everything && !s.files.match(below)) ||
        own.hold_in_project(f.path, below))
      continue;
    out.push_back(&f);
  }
}

/// Positions of the workspace files that the declaration matches, outputs not yet subtracted.
std::vector<std::uint32_t> match_workspace(const selector& s, const table& t) {
  std::vector<file_range> ranges;
  for (const glob::pattern& p : s.workspace_files.positives()) {
    ranges.push_back(t.below(p.prefix));
    // "a/**" and "a" select a file of that very name, too; whether one does is the matcher's to say.
    const std::size_t at = t.lower(p.prefix);
    if (at < t.files.size() && t.files[at].path == p.prefix) ranges.emplace_back(at, at + 1);
  }
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::uint32_t> out;
  std::size_t next = 0;
  for (const auto& [begin, end] : ranges) {
    for (next = std::max(next, begin); next < end; ++next) {
      if (s.workspace_files.match(t.files[next].path)) out.push_back(static_cast<std::uint32_t>(next));
    }
  }
  return out;
}

/// Sorted union of two sorted lists of files of (possibly) different tables.
picks unite(picks a, const picks& b) {
  if (b.empty()) return a;
  picks out;
  out.reserve(a.size() + b.size());
  const auto before = [](const file* x, const file* y) { return x->path < y->path; };
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), before);
  return out;
}

bool holds_any(const picks& sorted, const std::string& path) {
  const auto [first, last] = names_below(sorted.begin(), sorted.end(), path, [](const file* f) { return f->path; });
  if (first != last) return true;
  const auto at = std::partition_point(sorted.begin(), sorted.end(), [&](const file* f) { return f->path < path; });
  return at != sorted.end() && (*at)->path == path;
}

/// The literals of a list that selected nothing, as root-relative paths.
std::vector<std::string> idle_literals(const glob::matcher& m, std::string_view dir, const picks& selected_files) {
  std::vector<std::string> out;
  for (const glob::pattern& p : m.positives()) {
    if (!p.literal || p.prefix.empty()) continue;
    std::string full = path::join(dir, p.prefix);
    if (!holds_any(selected_files, full)) out.push_back(std::move(full));
  }
  return out;
}

}  // namespace

result<facts::impl::picked> facts::impl::pick(const selector& s) {
  for (int attempt = 0;; ++attempt) {
    picked p;
    if (s.has_workspace_files && !mutated("no-workspace-files")) {
      VX_TRY_LET(p.workspace, living.of_workspace());
    }
    VX_TRY_LET(p.project, living.of_project(s.project_dir));
    picks own_files, shared;
    pick_project(s, *p.project, own_files);
    p.nothing = own_files.empty() && !s.files.empty();
    if (p.workspace != nullptr) {
      std::string name;
      for (const std::string& e : s.workspace_entries) name.append(e).push_back('\0');
      std::shared_ptr<const std::vector<std::uint32_t>> found;
      {
        const std::lock_guard lock(match_mutex);
        if (const auto at = matches.find(name); at != matches.end() && at->second.of == p.workspace) found = at->second.files;
      }
      if (found == nullptr) {
        found = std::make_shared<const std::vector<std::uint32_t>>(match_workspace(s, *p.workspace));
        const std::lock_guard lock(match_mutex);
        matches[name] = {p.workspace, found};
      }
      const own_outputs own(s);
      for (const std::uint32_t at : *found) {
        const file& f = p.workspace->files[at];
        if (!own.hold(f.path)) shared.push_back(&f);
      }
    }
    if (mutated("idle-literal")) {
      p.files = unite(std::move(own_files), shared);
      return p;
    }
    literal_check check{tree, living, s, *p.project, p.workspace.get()};
    bool stale = false;
    VX_TRY(check.files(idle_literals(s.files, s.project_dir, own_files), stale));
    if (p.workspace != nullptr) VX_TRY(check.workspace_files(idle_literals(s.workspace_files, "", shared), stale));
    if (stale && attempt == 0) continue;
    p.files = unite(std::move(own_files), shared);
    if (!listing.sparse_absent.empty()) {
      const std::lock_guard lock(sparse_mutex);
      fence nested(s.nested.get());
      for (std::size_t i = 0; i < sparse_hit.size(); ++i) {
        const std::string_view path = listing.sparse_absent[i];
        const bool inside = path::is_within(path, s.project_dir) && !nested.holds(in_project(path, s.project_dir));
        if ((inside && s.files.match(in_project(path, s.project_dir))) ||
            (s.has_workspace_files && s.workspace_files.match(path)))
          sparse_hit[i] = true;
      }
    }
    return p;
  }
}

result<selected> facts::impl::describe_files(const picked& p) {
  selected out;
  out.matched_nothing = p.nothing;
  std::vector<hasher::job> jobs;
  for (const file* f : p.files) {
    if (f->content != nullptr && f->content->is.load(std::memory_order_acquire) == slot::state::unknown)
      jobs.push_back({f->path, f->content});
  }
  if (!jobs.empty()) hash.resolve(std::move(jobs));
  out.items.reserve(p.files.size());
  for (const file* f : p.files) {
    if (f->content == nullptr) {
      out.items.push_back({f->path, f->identity});
      continue;
    }
    const slot::state is = f->content->is.load(std::memory_order_acquire);
    if (is == slot::state::unreadable) return fail_sys(f->content->error, "cannot read the input", std::string(f->path));
    if (is == slot::state::unstable && !out.incomplete) {
      out.incomplete = true;
      out.unstable = f->path;
    }
    out.items.push_back({f->path, is == slot::state::absent ? std::string_view() : f->content->identity()});
  }
  out.keep = bytes;
  return out;
}

slot* facts::impl::manifest_slot(const std::string& project_dir, const table& t, const file** listed) {
  const std::string path = path::join(project_dir, "package.json");
  *listed = t.find_in(t.below(project_dir), path);
  if (*listed != nullptr) return (*listed)->content;
  slot* s = living.outside(path);  // git ignores it, or there is none
  if (s->is.load(std::memory_order_acquire) == slot::state::unknown) hash.resolve({{bytes->copy(path), s}});
  return s;
}

result<std::optional<std::string>> facts::impl::manifest(const std::string& project_dir) {
  VX_TRY_LET(table_ptr t, living.of_project(project_dir));
  const file* listed = nullptr;
  slot* s = manifest_slot(project_dir, *t, &listed);
  if (s == nullptr) return std::optional<std::string>(listed->identity);
  if (listed != nullptr && s->is.load(std::memory_order_acquire) == slot::state::unknown) hash.resolve({{listed->path, s}});
  switch (s->is.load(std::memory_order_acquire)) {
    case slot::state::unreadable: return fail_sys(s->error, "cannot read", path::join(project_dir, "package.json"));
    case slot::state::unknown:
    case slot::state::absent: return std::optional<std::string>();
    case slot::state::known:
    case slot::state::unstable: break;
  }
  return std::optional<std::string>(s->identity());
}

}  // namespace vx::inputs
