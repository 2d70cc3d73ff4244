// Is what the key says still what the command read? (keys.md 17)
#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <unordered_set>

#include "base/clock.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "inputs/facts_impl.hpp"
#include "inputs/names.hpp"

namespace vx::inputs {
namespace {

constexpr std::int64_t k_ms = 1'000'000;
constexpr std::int64_t k_longest_tick_ns = 20 * k_ms;

std::int64_t stamp_ns(fs::timestamp t) noexcept {
  std::int64_t ns = 0;
  return t.to_ns(ns) ? ns : INT64_MAX;  // beyond the range: as if just written
}

/// Written at or after `since` (of the clock that stamps files), as far as the stamp's grain can tell.
bool written_since(fs::timestamp ctime, std::int64_t since_ns) noexcept {
  const std::int64_t grain = fs::racy_window_ns(ctime) - 50 * k_ms;
  return stamp_ns(ctime) >= since_ns - grain;
}

/// Perhaps written after a fact of this date.
bool newer_than(fs::timestamp ctime, std::int64_t date_ns) noexcept {
  return stamp_ns(ctime) >= date_ns - fs::racy_window_ns(ctime);
}

bool type_differs(std::string_view identity, const fs::stat_info& info) noexcept {
  return (info.kind == fs::kind::link) != identity.starts_with("120000:") ||
         (info.kind != fs::kind::link && info.kind != fs::kind::file);
}

}  // namespace

struct facts::impl::truth_base {
  struct dir {
    std::string path;
    std::uint64_t ino = 0;
    fs::timestamp ctime;
    bool holds_inputs = false;  ///< at any depth
  };
  table_ptr project, workspace;
  std::vector<std::int64_t> dates;      ///< by item
  std::optional<std::string> manifest;  ///< identity, "" = none; nullopt: not watched
  std::int64_t manifest_date_ns = 0;
  std::deque<file> apart;           ///< exact files that no table lists
  std::vector<dir> dirs;            ///< listed directories a glob can reach
  std::vector<std::string> absent;  ///< literals that named nothing
};

namespace {

/// Directories that hold the files of a range, and those between them and `top`.
class dir_collector {
 public:
  explicit dir_collector(std::unordered_set<std::string>& into) : into_(into) {}
  template <class Reach>
  void add(const table& t, file_range range, std::string_view top, Reach reach) {
    std::string_view last;
    bool first = true;
    for (std::size_t i = range.first; i < range.second; ++i) {
      const std::string_view dir = path::parent(t.files[i].path);
      if (!first && dir == last) continue;
      first = false;
      last = dir;
      for (std::string_view d = dir; path::is_within(d, top); d = path::parent(d)) {
        if (reach(d) && !into_.emplace(d).second) break;
        if (d.empty()) break;
      }
    }
  }

 private:
  std::unordered_set<std::string>& into_;
};

std::unordered_set<std::string> reachable_dirs(const selector& s, const table& project, const table* workspace) {
  std::unordered_set<std::string> dirs;
  dir_collector collect(dirs);
  fence nested(s.nested.get());
  if (!s.files.empty()) {
    if (s.files.may_match_below("")) dirs.emplace(s.project_dir);
    collect.add(project, project.below(s.project_dir), s.project_dir, [&](std::string_view d) {
      const std::string_view below = path::relative_to(d, s.project_dir);
      return !nested.holds_dir(below) && s.files.may_match_below(below);
    });
  }
  if (workspace != nullptr) {
    for (const glob::pattern& p : s.workspace_files.positives()) {
      collect.add(*workspace, workspace->below(p.prefix), p.prefix,
                  [&](std::string_view d) { return s.workspace_files.may_match_below(d); });
    }
  }
  return dirs;
}

/// Would the declaration select the path if it were listed?
bool would_select(const selector& s, std::string_view path) {
  if (is_dropped_name(path) || is_below_node_modules(path)) return false;
  const bool inside = path::is_within(path, s.project_dir);
  const std::string_view below = inside ? path::relative_to(path, s.project_dir) : std::string_view();
  if (s.subtract_outputs && (s.own_workspace_outputs.match(path) || (inside && s.own_outputs.match(below)))) return false;
  fence nested(s.nested.get());
  if (inside && !nested.holds(below) && s.files.match(below)) return true;
  return s.has_workspace_files && s.workspace_files.match(path);
}

bool may_select_below(const selector& s, std::string_view dir) {
  if (is_dropped_name(std::string(dir) + "/x") || path::base_name(dir) == "node_modules") return false;
  const bool inside = path::is_within(dir, s.project_dir);
  const std::string_view below = inside ? path::relative_to(dir, s.project_dir) : std::string_view();
  if (s.subtract_outputs && (s.own_workspace_outputs.owns_tree(dir) || (inside && s.own_outputs.owns_tree(below))))
    return false;
  if (inside && !fence(s.nested.get()).holds_dir(below) && s.files.may_match_below(below)) return true;
  return s.has_workspace_files && s.workspace_files.may_match_below(dir);
}

std::vector<std::string> absent_literals(const selector& s, int root_fd) {
  std::vector<std::string> out;
  const auto look = [&](const glob::matcher& m, std::string_view dir) {
    for (const glob::pattern& p : m.positives()) {
      if (!p.literal || p.prefix.empty()) continue;
      std::string full = path::join(dir, p.prefix);
      if (!fs::exists_at(root_fd, full)) out.push_back(std::move(full));
    }
  };
  look(s.files, s.project_dir);
  if (s.has_workspace_files) look(s.workspace_files, "");
  return out;
}

}  // namespace

result<facts::description> facts::impl::describe(const selector& s) {
  description d;
  VX_TRY_LET(picked p, pick(s));
  VX_TRY_LET(d.files, describe_files(p));
  auto base = std::make_shared<truth_base>();
  base->dates.reserve(p.files.size());
  for (const file* f : p.files) base->dates.push_back(f->content != nullptr ? f->content->date_ns : listing.listed_ns);
  VX_TRY_LET(std::optional<std::string> package, manifest(s.project_dir));
  base->manifest = package.value_or("");
  const file* listed = nullptr;
  const slot* m = manifest_slot(s.project_dir, *p.project, &listed);
  base->manifest_date_ns = m != nullptr ? m->date_ns : listing.listed_ns;
  for (const std::string& dir : reachable_dirs(s, *p.project, p.workspace.get())) {
    fs::stat_info info;
    lstat_view(root_fd.get(), dir.empty() ? "." : dir, info);
    const auto [first, last] = names_below(p.files.begin(), p.files.end(), dir, [](const file* f) { return f->path; });
    base->dirs.push_back({dir, info.ino, info.ctime, first != last});
  }
  std::sort(base->dirs.begin(), base->dirs.end(),
            [](const truth_base::dir& a, const truth_base::dir& b) { return a.path < b.path; });
  base->absent = absent_literals(s, root_fd.get());
  base->project = p.project;
  base->workspace = p.workspace;
  d.dirs = base;
  d.described_ns = after_last_write(p.files, path::join(s.project_dir, "package.json"));
  return d;
}

result<facts::description> facts::impl::describe_paths(std::vector<std::string> paths) {
  description d;
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  auto base = std::make_shared<truth_base>();
  VX_TRY_LET(base->project, living.of_workspace());
  picked p;
  for (const std::string& path : paths) {
    const file* listed = base->project->find(path);
    if (listed == nullptr) {
      file& f = base->apart.emplace_back();
      f.path = bytes->copy(path);
      f.content = living.outside(path);
      listed = &f;
    }
    p.files.push_back(listed);
  }
  VX_TRY_LET(d.files, describe_files(p));
  for (const file* f : p.files) base->dates.push_back(f->content != nullptr ? f->content->date_ns : listing.listed_ns);
  d.dirs = base;
  d.described_ns = after_last_write(p.files, {});
  return d;
}

/// Now, in a tick in which no input was written: what the task ahead wrote a moment ago could not be told from what this one is
/// about to write. Facts are older than this moment; a write in between is judged by its bytes.
std::int64_t facts::impl::after_last_write(const std::vector<const file*>& files, const std::string& manifest_path) const {
  std::int64_t last = INT64_MIN;
  prober probe(root_fd.get());
  const auto look = [&](std::string_view path) {
    fs::stat_info info;
    std::int64_t at = 0;
    if (probe.probe(path, info) && info.ctime.to_ns(at)) last = std::max(last, at);
  };
  for (const file* f : files) {
    if (f->content != nullptr) look(f->path);  // an id of the index is of a file older than the index
  }
  if (!manifest_path.empty()) look(manifest_path);
  std::int64_t now = hash.now_ns();
  // A clock of whole seconds stands still for longer than a task may wait: what lies in its tick stays in doubt.
  const std::int64_t until = mono_ns() + k_longest_tick_ns;
  while (last >= now && last - now < k_longest_tick_ns && mono_ns() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t next = hash.now_ns();
    if (next < now) break;  // no clock, or one that steps back: doubt
    now = next;
  }
  return now;
}

namespace {

/// Compares single files with what the key says of them.
class file_judge {
 public:
  file_judge(const hasher& hash, int root_fd, std::int64_t described_ns, facts::strictness how, bool clock_back)
      : hash_(hash), probe_(root_fd), described_ns_(described_ns), how_(how), clock_back_(clock_back) {}

  bool moved(std::string_view path, std::string_view identity, std::int64_t date_ns) {
    fs::stat_info info;
    probe_.probe(path, info);
    if (identity.empty()) return info.kind == fs::kind::file || info.kind == fs::kind::link;
    if (type_differs(identity, info)) return true;
    if (how_ == facts::strictness::immutable && written_since(info.ctime, described_ns_)) return true;
    if (!clock_back_ && !newer_than(info.ctime, date_ns)) return false;
    const hasher::fresh now = hash_.look(path);
    return now.is != slot::state::known || now.identity != identity;
  }

 private:
  const hasher& hash_;
  prober probe_;
  std::int64_t described_ns_;
  facts::strictness how_;
  bool clock_back_;
};

/// Finds names that the declaration would select and that the listing did not hold.
class added_files {
 public:
  added_files(const selector& s, const tree_context& tree, living_files& living, const table& project, const table* workspace,
              std::int64_t listed_ns)
      : s_(s), tree_(tree), living_(living), project_(project), workspace_(workspace), listed_ns_(listed_ns) {}

  void look_into(std::string dir) { open_.push_back(std::move(dir)); }
  void consider(const std::string& path) {
    fs::stat_info info;
    if (!lstat_view(tree_.root_fd, path, info)) return;
    if (info.kind == fs::kind::dir) {
      if (may_select_below(s_, path) && !ignored_dir(path)) open_.push_back(path);
    } else if ((info.kind == fs::kind::file || info.kind == fs::kind::link) && would_select(s_, path)) {
      news_.push_back(path);
    }
  }

  std::optional<std::string> first() {
    while (!open_.empty()) {
      const std::string dir = std::move(open_.back());
      open_.pop_back();
      read(dir);
    }
    if (news_.empty()) return std::nullopt;
    std::sort(news_.begin(), news_.end());
    const auto ignored = living_.ignored(news_);
    for (std::size_t i = 0; i < news_.size(); ++i) {
      if (!ignored || !(*ignored)[i]) return news_[i];
    }
    return std::nullopt;
  }

 private:
  bool is_listed(const std::string& path) const {
    return project_.find(path) != nullptr || (workspace_ != nullptr && workspace_->find(path) != nullptr);
  }
  bool holds_listed(const std::string& dir) const {
    const file_range a = project_.below(dir);
    if (a.first != a.second) return true;
    if (workspace_ == nullptr) return false;
    const file_range b = workspace_->below(dir);
    return b.first != b.second;
  }
  bool ignored_dir(const std::string& dir) const {
    const auto told = living_.ignored_dir(dir);
    return told && *told;
  }

  void read(const std::string& dir) {
    auto entries = fs::list_dir_at(tree_.root_fd, dir.empty() ? "." : dir);
    if (!entries) return;
    for (const fs::dir_entry& e : *entries) {
      std::string path = path::join(dir, e.name);
      if (e.kind == fs::kind::dir) {
        read_new_dir(std::move(path));
      } else if (e.kind != fs::kind::other && !is_listed(path) && would_select(s_, path)) {
        news_.push_back(std::move(path));
      }
    }
  }

  // A directory that existed before and held nothing listed is left alone.
  void read_new_dir(std::string path) {
    if (holds_listed(path) || !may_select_below(s_, path)) return;
    fs::stat_info info;
    if (!lstat_view(tree_.root_fd, path, info) || !newer_than(info.ctime, listed_ns_) || ignored_dir(path)) return;
    open_.push_back(std::move(path));
  }

  const selector& s_;
  const tree_context& tree_;
  living_files& living_;
  const table& project_;
  const table* workspace_;
  std::int64_t listed_ns_;
  std::vector<std::string> open_, news_;
};

}  // namespace

std::optional<std::string> facts::impl::moved(const selector& s, const description& d, strictness how) {
  if (how == strictness::unchecked || mutated("no-truth-check")) return std::nullopt;
  if (mutated("by-bytes")) how = strictness::mutable_;
  const auto& base = *static_cast<const truth_base*>(d.dirs.get());
  const bool clock_back = !mutated("no-clock-step") && wall_ns() - mono_ns() < clock_offset_ns - 50 * k_ms;
  file_judge judge(hash, root_fd.get(), d.described_ns, how, clock_back);
  for (std::size_t i = 0; i < d.files.items.size(); ++i) {
    const key::input_item& item = d.files.items[i];
    if (judge.moved(item.path, item.identity, base.dates[i])) return std::string(item.path);
  }
  if (base.manifest) {
    std::string manifest_path = path::join(s.project_dir, "package.json");
    if (judge.moved(manifest_path, *base.manifest, base.manifest_date_ns)) return manifest_path;
  }

  if (mutated("no-added-files")) return std::nullopt;
  added_files added(s, tree, living, *base.project, base.workspace.get(), listing.listed_ns);
  for (const truth_base::dir& dir : base.dirs) {
    fs::stat_info info;
    lstat_view(root_fd.get(), dir.path.empty() ? "." : dir.path, info);
    if (info.kind != fs::kind::dir) continue;  // its files are gone, which is told above
    if (dir.holds_inputs && info.ino != dir.ino)
      return dir.path.empty() ? std::string(".") : dir.path;  // another directory in its place
    if (info.ctime != dir.ctime || newer_than(info.ctime, listing.listed_ns)) added.look_into(dir.path);
  }
  for (const std::string& literal : base.absent) added.consider(literal);
  return added.first();
}

}  // namespace vx::inputs
