#include "workspace/base_graph.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "workspace/manifest.hpp"
#include "workspace/package_graph.hpp"
#include "workspace/root_files.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;

/// A package as it was at the base.
struct old_package {
  std::string name, version, dir;
  bool linked = true;
  dep_maps deps;
};

std::unordered_set<std::string_view> target_names(const std::vector<id>& edges, const std::vector<std::string_view>& names) {
  std::unordered_set<std::string_view> out;
  for (const id e : edges) out.insert(names[e]);
  return out;
}

/// The manifests of today with those of the base in place of the changed ones.
class base_packages {
 public:
  base_packages(const workspace& ws, const git_view& git, const change_set& changes) : ws_(ws), git_(git), changes_(changes) {}

  status collect() {
    std::unordered_set<std::string> changed;
    for (const std::string& p : changes_.paths) {
      if (path::base_name(p) == "package.json") changed.insert(std::string(path::parent(p)));
    }
    any_ = !changed.empty();
    if (!any_) return {};
    for (const project& p : ws_.projects) {
      if (!p.has_manifest || changed.count(p.dir) != 0) continue;
      VX_TRY(add_current(p));
    }
    std::vector<std::string> files;
    for (const std::string& dir : changed) files.push_back(path::join(dir, "package.json"));
    VX_TRY_LET(const auto texts, git_.files_at(changes_.base, files));
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!texts[i]) continue;
      const std::string dir(path::parent(files[i]));
      const auto manifest = parse_manifest(*texts[i], files[i]);
      if (manifest) add(*manifest, dir, old_member(dir));
    }
    return {};
  }

  bool any() const noexcept { return any_; }
  const std::deque<old_package>& packages() const noexcept { return packages_; }

 private:
  /// A deleted package's list membership is not known any more; it counts as a link target unless it still is none.
  bool old_member(const std::string& dir) const {
    const auto now = ws_.project_at(dir);
    return !now || ws_.projects[*now].linked_member;
  }

  status add_current(const project& p) {
    const std::string file = path::join(p.dir, "package.json");
    auto text = fs::read_file_at(fs::k_cwd, path::join(ws_.root, file));
    if (!text) return fail(unreadable(std::move(text).error()));
    VX_TRY_LET(const json::value manifest, parse_manifest(*text, file));
    add(manifest, p.dir, p.linked_member);
    return {};
  }

  void add(const json::value& manifest, const std::string& dir, bool linked) {
    const auto head = manifest_head_of(manifest, path::join(dir, "package.json"));
    if (!head) return;
    std::string name = head->name;
    if (const auto now = ws_.project_at(dir); now && !head->named) name = ws_.projects[*now].name;
    if (name.empty()) return;
    packages_.push_back({std::move(name), head->version, dir, linked && head->named, manifest_deps_of(manifest)});
  }

  const workspace& ws_;
  const git_view& git_;
  const change_set& changes_;
  bool any_ = false;
  std::deque<old_package> packages_;
};

void mark_removed_names(const workspace& ws, const std::deque<old_package>& before, change_set& changes) {
  std::unordered_set<std::string_view> gone;
  for (const old_package& p : before) {
    if (ws.by_name.find(p.name) == ws.by_name.end()) gone.insert(p.name);
  }
  if (gone.empty()) return;
  for (id i = 0; i < ws.projects.size(); ++i) {
    const auto& config = ws.projects[i].config;
    if (config == nullptr) continue;
    for (const task_config& t : config->tasks) {
      for (const std::string& entry : t.depends_on) {
        if (gone.count(std::string_view(entry).substr(0, entry.find('#'))) != 0) changes.whole[i] = true;
      }
    }
  }
}

/// A nested project that is new took files away from the project above it.
status mark_new_nested(const workspace& ws, const git_view& git, change_set& changes) {
  std::vector<std::string> markers;
  for (const std::string& p : changes.paths) {
    const std::string_view name = path::base_name(p), dir = path::parent(p);
    if (name != "package.json" && !name.starts_with("vx.config.")) continue;
    if (!dir.empty() && ws.project_at(dir)) markers.push_back(p);
  }
  VX_TRY_LET(const auto before, git.files_at(changes.base, markers));
  for (std::size_t i = 0; i < markers.size(); ++i) {
    if (before[i]) continue;
    if (const auto above = ws.owner_of(path::parent(path::parent(markers[i])))) changes.whole[*above] = true;
  }
  return {};
}

}  // namespace

status mark_moved_edges(loader& l, const git_view& git, change_set& changes) {
  const workspace& ws = l.ws();
  VX_TRY(mark_new_nested(ws, git, changes));
  base_packages base(ws, git, changes);
  VX_TRY(base.collect());
  if (!base.any()) return {};
  mark_removed_names(ws, base.packages(), changes);

  VX_TRY_LET(const root_files files, read_root_files(ws.root));

  std::vector<package> before;
  std::vector<std::string_view> before_names, now_names;
  for (const old_package& p : base.packages()) {
    before.push_back({p.name, p.version, p.dir, p.linked, &p.deps});
    before_names.push_back(p.name);
  }
  const package_edges old_edges = link_packages(before, files.catalogs, ws.root);
  for (const project& p : ws.projects) now_names.push_back(p.name);
  for (id i = 0; i < before.size(); ++i) {
    const auto at = ws.project_at(before[i].dir);
    if (!at || changes.whole[*at]) continue;
    // Only edges that vanished count: a new one is a changed manifest or a changed target, which are seen already.
    const auto today = target_names(ws.reach[*at], now_names);
    for (const std::string_view name : target_names(old_edges.reach[i], before_names)) {
      if (today.count(name) == 0) changes.whole[*at] = true;
    }
  }
  return {};
}

}  // namespace vx::workspace
