#include "inputs/living_files.hpp"

#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "inputs/names.hpp"

namespace vx::inputs {
namespace {

bool decides_the_set(std::string_view path) noexcept {
  const std::string_view name = path::base_name(path);
  return name == ".gitignore" || name == ".gitattributes";
}

bool meets(std::string_view a, std::string_view b) noexcept { return path::is_within(a, b) || path::is_within(b, a); }

}  // namespace

bool living_files::region::covers(std::string_view path) const {
  if (!path::is_within(path, dir)) return false;
  return !fence(nested.get()).holds(path::relative_to(path, dir));
}

void living_files::publish(start_listing& start) {
  auto t = std::make_shared<table>();
  t->files = std::move(start.files);
  for (const std::string_view p : start.absent) absent_.emplace(p);
  for (const std::string_view p : start.sparse_absent) absent_.emplace(p);
  nested_ = start.nested;
  const std::lock_guard lock(mutex_);
  table_ = std::move(t);
}

table_ptr living_files::as_it_is() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

// Death -----------------------------------------------------------------------------------------------------------------

void living_files::forget_paths(const std::vector<std::string>& paths) {
  if (paths.empty() || mutated("no-marks")) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& p : paths) {
    if (p.starts_with('/')) {  // outside the root: no table holds it
      outside_.erase(p);
      continue;
    }
    if (decides_the_set(p)) {
      dead_regions_.push_back({std::string(path::parent(p)), nullptr});
    } else {
      dead_paths_.insert(p);
    }
    outside_.erase(p);
    for (auto at = apart_.begin(); at != apart_.end();) at = path::is_within(p, at->first) ? apart_.erase(at) : std::next(at);
  }
  ++deaths_;
  any_dead_.store(true, std::memory_order_release);
}

void living_files::forget_region(std::string dir, nested_dirs nested) {
  if (mutated("keep-facts")) return;
  region r{std::move(dir), std::move(nested)};
  const std::lock_guard lock(mutex_);
  for (auto at = outside_.begin(); at != outside_.end();) at = r.covers(at->first) ? outside_.erase(at) : std::next(at);
  for (auto at = apart_.begin(); at != apart_.end();) at = meets(at->first, r.dir) ? apart_.erase(at) : std::next(at);
  const bool known = std::any_of(dead_regions_.begin(), dead_regions_.end(), [&](const region& d) {
    return d.dir == r.dir && (d.nested == r.nested || d.nested == nullptr);
  });
  if (!known) dead_regions_.push_back(std::move(r));
  ++deaths_;
  any_dead_.store(true, std::memory_order_release);
}

living_files::dead_facts living_files::take_dead(const std::string* scope) {
  dead_facts out;
  const std::lock_guard lock(mutex_);
  const auto wanted = [scope](std::string_view p) { return scope == nullptr || meets(p, *scope); };
  const auto split =
      std::partition(dead_regions_.begin(), dead_regions_.end(), [&](const region& r) { return !wanted(r.dir); });
  out.regions.assign(std::make_move_iterator(split), std::make_move_iterator(dead_regions_.end()));
  dead_regions_.erase(split, dead_regions_.end());
  const auto [first, last] = names_below(dead_paths_.begin(), dead_paths_.end(), scope == nullptr ? std::string_view() : *scope,
                                         [](const std::string& p) { return std::string_view(p); });
  out.paths.assign(first, last);
  dead_paths_.erase(first, last);
  for (std::string_view above = scope == nullptr ? std::string_view() : *scope; !above.empty(); above = path::parent(above)) {
    if (const auto at = dead_paths_.find(above); at != dead_paths_.end())
      out.paths.push_back(std::move(dead_paths_.extract(at).value()));
  }
  return out;
}

/// Until the table that knows better is out, every reader has to wait for it: only now may the next one go without the lock.
void living_files::revived(table_ptr next) {
  const std::lock_guard lock(mutex_);
  if (next != nullptr) table_ = std::move(next);
  any_dead_.store(!dead_regions_.empty() || !dead_paths_.empty(), std::memory_order_release);
}

void living_files::give_back(dead_facts&& dead) {
  const std::lock_guard lock(mutex_);
  std::move(dead.regions.begin(), dead.regions.end(), std::back_inserter(dead_regions_));
  dead_paths_.insert(std::make_move_iterator(dead.paths.begin()), std::make_move_iterator(dead.paths.end()));
  any_dead_.store(true, std::memory_order_release);
}

// Revival ---------------------------------------------------------------------------------------------------------------

result<table_ptr> living_files::fresh(const std::string* scope) {
  if (!any_dead_.load(std::memory_order_acquire)) return as_it_is();
  const std::lock_guard refreshing(refresh_mutex_);
  dead_facts dead = take_dead(scope);
  const table_ptr now = as_it_is();
  if (dead.regions.empty() && dead.paths.empty()) return now;
  changes todo;
  made_.clear();
  status done = revive_regions(dead, todo);
  if (done) done = revive_paths(*now, dead, todo);
  if (done && todo.regions.size() > dead.regions.size()) {  // paths no rule could be asked about: their directories are listed
    dead_facts more;
    more.regions.assign(todo.regions.begin() + static_cast<std::ptrdiff_t>(dead.regions.size()), todo.regions.end());
    todo.regions.resize(dead.regions.size());
    done = revive_regions(more, todo);
  }
  if (!done) {
    give_back(std::move(dead));
    return fail(std::move(done).error());
  }
  table_ptr next = todo.empty() ? now : apply(*now, todo);
  revived(next);
  return next;
}

result<void> living_files::revive_regions(const dead_facts& dead, changes& todo) {
  for (const region& r : dead.regions) {
    ignores_.forget_rules(r.dir);
    VX_TRY_LET(region_listing listed, list_region(tree_, r.dir));
    for (const region_listing::item& item : listed.files) {
      if (r.covers(item.path)) put(todo, item.path, item.tracked);
    }
    for (std::string& p : listed.absent) absent_.insert(std::move(p));
    for (std::string& d : listed.nested) nested_.push_back(std::move(d));
    todo.regions.push_back(r);
  }
  return {};
}

result<void> living_files::revive_paths(const table& now, const dead_facts& dead, changes& todo) {
  std::vector<std::string> unknown;
  prober probe(tree_.root_fd);
  const std::size_t regions = todo.regions.size();
  for (const std::string& p : dead.paths) {
    const auto covered = [&](const region& r) { return r.covers(p); };
    if (std::any_of(todo.regions.begin(), todo.regions.begin() + static_cast<std::ptrdiff_t>(regions), covered)) continue;
    const file* listed = now.find(p);
    const file_range below = now.below(p);
    const bool was_tracked = (listed != nullptr && listed->tracked) || absent_.find(p) != absent_.end();
    if (listed == nullptr && below.first == below.second && !was_tracked && (is_dropped_name(p) || ignores_.known_ignored(p)))
      continue;
    fs::stat_info info;
    probe.probe(p, info);
    if (info.kind == fs::kind::dir) {
      todo.regions.push_back({p, nullptr});
      continue;
    }
    for (std::size_t i = below.first; i < below.second; ++i) remove(todo, now.files[i]);
    if (info.kind != fs::kind::file && info.kind != fs::kind::link) {
      if (listed != nullptr) remove(todo, *listed);
    } else if (listed != nullptr || was_tracked) {
      put(todo, p, was_tracked);
    } else if (std::any_of(nested_.begin(), nested_.end(), [&](const std::string& d) { return path::is_within(p, d); })) {
      todo.regions.push_back({std::string(path::parent(p)), nullptr});
    } else if (!is_dropped_name(p) && !is_below_node_modules(p)) {
      unknown.push_back(p);
    }
  }
  if (unknown.empty()) return {};
  const auto ignored = ignores_.ask(unknown);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (!ignored) {
      region r{std::string(path::parent(unknown[i])), nullptr};
      if (todo.regions.empty() || todo.regions.back().dir != r.dir) todo.regions.push_back(std::move(r));
    } else if (!(*ignored)[i]) {
      put(todo, unknown[i], false);
    }
  }
  return {};
}

void living_files::put(changes& todo, const std::string& path, bool tracked) {
  absent_.erase(path);
  made_.push_back({bytes_.copy(path), {}, bytes_.new_slot(), tracked});
  todo.puts[path] = &made_.back();
}

void living_files::remove(changes& todo, const file& f) {
  if (f.tracked) absent_.emplace(f.path);
  todo.puts.emplace(f.path, nullptr);
}

table_ptr living_files::apply(const table& now, const changes& todo) {
  auto next = std::make_shared<table>();
  next->files.reserve(now.files.size() + todo.puts.size());
  auto put = todo.puts.begin();
  const auto take_puts = [&](const std::string_view* until) {
    for (; put != todo.puts.end() && (until == nullptr || put->first < *until); ++put) {
      if (put->second != nullptr) next->files.push_back(*put->second);
    }
  };
  for (const file& f : now.files) {
    take_puts(&f.path);
    if (put != todo.puts.end() && put->first == f.path) continue;  // replaced or removed: the put decides
    const auto dead = [&](const region& r) { return r.covers(f.path); };
    if (std::none_of(todo.regions.begin(), todo.regions.end(), dead)) next->files.push_back(f);
  }
  take_puts(nullptr);
  return next;
}

// Readers ---------------------------------------------------------------------------------------------------------------

result<table_ptr> living_files::of_workspace() { return fresh(nullptr); }

result<table_ptr> living_files::of_project(const std::string& dir) {
  VX_TRY_LET(table_ptr now, fresh(&dir));
  if (dir.empty() || tree_.git == nullptr || tree_.repo == nullptr) return now;
  const file_range range = now->below(dir);
  if (range.first != range.second) return now;
  VX_TRY_LET(table_ptr own, project_apart(dir));
  return own != nullptr ? own : now;
}

/// A project of which git lists nothing: inside a nested repository the outer one does not show, or ignored.
result<table_ptr> living_files::project_apart(const std::string& dir) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = apart_.find(dir); known != apart_.end()) return known->second;
  }
  const std::lock_guard refreshing(refresh_mutex_);
  std::uint64_t deaths = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = apart_.find(dir); known != apart_.end()) return known->second;  // the one before us looked
    deaths = deaths_;
  }
  region_listing listed;
  const auto found = git::find_repository(*tree_.git, path::join(tree_.root, dir));
  const bool elsewhere = found && *found && (*found)->git_dir != tree_.repo->git_dir;
  if (elsewhere && (*found)->common_dir != tree_.repo->common_dir) {
    VX_TRY_LET(listed, list_region(tree_, dir));
  } else if (!elsewhere) {
    VX_TRY_LET(bool ignored, git_ignores(tree_, dir));
    if (ignored && !mutated("empty-listing")) listed = walk_region(tree_, dir, dir);
  }
  std::shared_ptr<table> own;
  if (!listed.files.empty()) {
    own = std::make_shared<table>();
    for (const region_listing::item& item : listed.files)
      own->files.push_back({bytes_.copy(item.path), {}, bytes_.new_slot(), item.tracked});
  }
  const std::lock_guard lock(mutex_);
  if (deaths == deaths_) apart_[dir] = own;  // else it may be from before a write: good for this reader, not for the next
  return table_ptr(own);
}

result<std::vector<bool>> living_files::ignored(const std::vector<std::string>& paths) {
  const std::lock_guard refreshing(refresh_mutex_);
  return ignores_.ask(paths);
}

result<bool> living_files::ignored_dir(const std::string& dir) {
  const std::lock_guard refreshing(refresh_mutex_);
  return ignores_.ask_dir(dir);
}

slot* living_files::outside(const std::string& path) {
  const std::lock_guard lock(mutex_);
  slot*& s = outside_[path];
  if (s == nullptr) s = bytes_.new_slot();
  return s;
}

}  // namespace vx::inputs
