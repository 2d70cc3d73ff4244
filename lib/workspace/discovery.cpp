#include "workspace/discovery.hpp"

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <unordered_set>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "workspace/worktree.hpp"

namespace vx::workspace {

namespace {

/// A directory that may become a project, with every reason it has to.
struct found {
  std::string dir;
  bool member = false;  ///< the package manager's list reaches it
  bool listed = false;  ///< `projects` reaches it
  bool below_star = false;
  bool via_link = false;
  bool literal = false;  ///< written out in `projects`
  manifest_store::answer known;
  std::string real;  ///< absolute real directory, only when a link is passed
};

std::string shown(std::string_view dir) { return dir.empty() ? std::string(".") : text::escape(dir, true); }

class discovery {
 public:
  explicit discovery(const discovery_input& in) : in_(in) {}

  result<discovered> run() {
    VX_TRY(collect());
    VX_TRY(inspect());
    drop_linked_twins();
    VX_TRY(check_literals());
    VX_TRY(make_projects());
    VX_TRY(name_the_nameless());
    VX_TRY(check_duplicates());
    hint_unlisted();
    return finish();
  }

 private:
  found& at(const std::string& dir) {
    const auto [it, fresh] = index_.try_emplace(dir, all_.size());
    if (fresh) all_.emplace_back().dir = dir;
    return all_[it->second];
  }

  status collect() {
    at("");  // the root may opt in with a vx.config
    if (in_.files.members) {
      VX_TRY_LET(members_, compile_members(*in_.files.members, in_.root));
      VX_TRY_LET(const std::vector<candidate> list, expand_members(in_.root, in_.root_fd, members_));
      for (const candidate& c : list) {
        found& f = at(c.dir);
        f.member = true;
        f.below_star = c.below_star;
        f.via_link = f.via_link || c.via_link;
      }
      if (members_.root_listed) at("").member = true;
    } else if (in_.files.manifest) {
      at("").member = true;
      single_ = true;
    }
    if (in_.settings.projects.empty()) return {};
    const std::string file = in_.settings.path.empty() ? "vx.workspace" : in_.settings.path;
    VX_TRY_LET(projects_, compile_members({file, "projects", in_.settings.projects}, in_.root));
    VX_TRY_LET(const std::vector<candidate> list, expand_members(in_.root, in_.root_fd, projects_));
    for (const candidate& c : list) {
      found& f = at(c.dir);
      f.listed = true;
      f.via_link = f.via_link || c.via_link;
      if (!f.member) f.below_star = c.below_star;
    }
    if (projects_.root_listed) at("").listed = true;
    for (const std::string& dir : projects_.literals) at(dir).literal = true;
    return {};
  }

  /// Stamps, names and config files of all of them; what `!` entries and unsearchable directories take out.
  status inspect() {
    std::vector<std::string> dirs;
    dirs.reserve(all_.size());
    for (const found& f : all_) dirs.push_back(f.dir);
    std::vector<manifest_store::answer> answers = in_.manifests.look_up(dirs);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      found& f = all_[i];
      f.known = std::move(answers[i]);
      if (f.known.error) {
        const failure& e = *f.known.error;
        if (!f.below_star || !f.known.unsearchable) return fail(e);
        notices_.push_back(shown(f.dir) + " is skipped: " + e.message);
        f.member = f.listed = f.literal = false;
        continue;
      }
      if (f.dir.empty()) continue;
      if (f.known.facts.worktree_file && worktree_.is_linked(in_.root, f.dir)) {
        f.member = f.listed = f.literal = false;
        continue;
      }
      if (f.member) f.member = !members_.matcher.excluded(f.dir, "package.json");
      if (projects_.matcher.excluded(f.dir, f.known.facts.config.empty() ? "vx.config.json" : f.known.facts.config))
        f.listed = f.literal = false;
    }
    return {};
  }

  /// A package reached by its real path and through a link is one project, at the real path.
  void drop_linked_twins() {
    std::unordered_set<std::string> real;
    for (found& f : all_) {
      if (!(f.via_link || f.known.facts.via_link) || !(f.member || f.listed)) continue;
      auto resolved = fs::real_path(path::join(in_.root, f.dir));
      if (!resolved) continue;
      f.real = std::move(*resolved);
      bool twin = !real.insert(f.real).second;
      if (path::is_within(f.real, in_.root)) {
        const std::string inside(path::relative_to(f.real, in_.root));
        if (const auto it = index_.find(inside); it != index_.end() && inside != f.dir) {
          const found& other = all_[it->second];
          twin = twin || other.member || other.listed || inside.empty();
        }
      }
      if (twin) f.member = f.listed = f.literal = false;
    }
  }

  status check_literals() const {
    for (const found& f : all_) {
      if (!f.literal || (f.member && f.known.head.named) || (f.listed && !f.known.facts.config.empty())) continue;
      return fail(errc::CONFIG,
                  projects_.file + ": `projects` lists \"" + shown(f.dir) +
                      "\", which is neither a package nor holds a vx.config file; correct the path or add the config");
    }
    return {};
  }

  status make_projects() {
    const bool pnpm = in_.package_manager == "pnpm";
    for (found& f : all_) {
      const dir_facts& facts = f.known.facts;
      const manifest_head& head = f.known.head;
      const bool config = !facts.config.empty();
      const bool root = f.dir.empty();
      if (!root && !f.member && !f.listed) continue;
      const bool package = head.named && (f.member || (root && config));
      if (!package && !(config && (f.listed || root))) {
        report_skipped(f);
        continue;
      }
      project p;
      p.dir = f.dir;
      p.real_dir = f.real;
      p.has_manifest = head.exists;
      p.has_package_name = head.named;
      p.linked_member = head.named && (f.member || (root && pnpm));
      p.name = head.name;
      p.version = head.version;
      if (config) p.config_path = path::join(f.dir, facts.config);
      p.loaded = !config;
      report_unread(f);
      out_.projects.push_back(std::move(p));
      out_.manifest_stamps.push_back(f.known.head_stamps);
    }
    return {};
  }

  void report_unread(const found& f) {
    for (const std::string& name : f.known.facts.unread) {
      notices_.push_back(text::escape(path::join(f.dir, name), true) + " is not read: " + f.known.facts.config +
                         " beside it comes first");
    }
  }

  void report_skipped(const found& f) {
    if (!f.member || f.known.head.exists || f.known.facts.config.empty() || !f.below_star) return;
    notices_.push_back(shown(f.dir) + " is skipped: it holds " + f.known.facts.config +
                       " but no package.json; to make it a project, list it in `projects` of vx.workspace.json");
  }

  /// Projects without a package name take it from their config, else from their path.
  status name_the_nameless() {
    std::vector<std::size_t> which;
    std::vector<config_file> files;
    for (std::size_t i = 0; i < out_.projects.size(); ++i) {
      const project& p = out_.projects[i];
      if (p.has_package_name) continue;
      which.push_back(i);
      files.push_back({p.dir, p.config_path, false});
    }
    if (files.empty()) return {};
    auto loaded = in_.configs.load(files);
    std::vector<bool> left_out(out_.projects.size(), false);
    for (std::size_t k = 0; k < which.size(); ++k) {
      project& p = out_.projects[which[k]];
      p.loaded = true;
      p.name = p.dir;
      if (!loaded[k]) {
        p.config_failure = std::move(loaded[k]).error();
        if (p.name.empty()) p.name = "//";  // what it is addressed by; its own name is in the config
        continue;
      }
      p.config = std::move(*loaded[k]);
      if (p.config->name) {
        p.name = *p.config->name;
      } else if (p.dir.empty()) {
        left_out[which[k]] = true;
        notices_.push_back("the root project is left out: give " + p.config_path +
                           " a `name` (a directory name differs between clones)");
      } else if (const std::string why = check_project_name(p.name); !why.empty()) {
        return fail(errc::CONFIG, p.config_path + ": the path \"" + shown(p.dir) + "\" cannot name a project (" + why +
                                      "); give the config a `name`");
      }
    }
    keep_if([&](std::size_t i) { return !left_out[i]; });
    return {};
  }

  status check_duplicates() {
    std::vector<std::size_t> order(out_.projects.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto& list = out_.projects;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return list[a].name != list[b].name ? list[a].name < list[b].name : list[a].dir < list[b].dir;
    });
    std::vector<bool> drop(list.size(), false);
    for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
      std::vector<std::string> paths;
      bool config = false;
      for (end = i; end < order.size() && list[order[end]].name == list[order[i]].name; ++end) {
        paths.push_back(shown(list[order[end]].dir));
        config = config || !list[order[end]].config_path.empty();
      }
      if (paths.size() == 1) continue;
      const std::string what = std::to_string(paths.size()) + " projects are named \"" + list[order[i]].name +
                               "\": " + text::list_some(paths, paths.size());
      if (config) return fail(errc::CONFIG, what + "; names must differ");
      notices_.push_back(what + "; all of them are left out");
      for (std::size_t k = i; k < end; ++k) drop[order[k]] = true;
    }
    std::vector<project> sorted;
    std::vector<stamps> sorted_stamps;
    for (const std::size_t i : order) {
      if (drop[i]) continue;
      sorted.push_back(std::move(out_.projects[i]));
      sorted_stamps.push_back(out_.manifest_stamps[i]);
    }
    out_.projects = std::move(sorted);
    out_.manifest_stamps = std::move(sorted_stamps);
    return {};
  }

  /// A package.json two levels down that nothing lists: probably a forgotten `workspaces`.
  void hint_unlisted() {
    if (!single_ || out_.projects.size() > 1 || !in_.settings.projects.empty()) return;
    auto top = fs::list_dir_at(in_.root_fd, ".");
    if (!top) return;
    const auto enters = [](const fs::dir_entry& e) {
      return e.kind == fs::kind::dir && !e.name.starts_with('.') && e.name != "node_modules";
    };
    for (const fs::dir_entry& a : *top) {
      if (!enters(a)) continue;
      auto inner = fs::list_dir_at(in_.root_fd, a.name);
      if (!inner) continue;
      for (const fs::dir_entry& b : *inner) {
        if (!enters(b) || !fs::exists_at(in_.root_fd, a.name + "/" + b.name + "/package.json")) continue;
        notices_.push_back(text::escape(a.name + "/" + b.name, true) +
                           " holds a package.json that no list names; add `workspaces` to the root package.json" +
                           " (or `packages` to pnpm-workspace.yaml) to make it a project");
        return;
      }
    }
  }

  template <class Keep>
  void keep_if(Keep keep) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < out_.projects.size(); ++i) {
      if (!keep(i)) continue;
      if (to != i) {
        out_.projects[to] = std::move(out_.projects[i]);
        out_.manifest_stamps[to] = out_.manifest_stamps[i];
      }
      ++to;
    }
    out_.projects.resize(to);
    out_.manifest_stamps.resize(to);
  }

  result<discovered> finish() {
    out_.notices = std::move(notices_);
    return std::move(out_);
  }

  const discovery_input& in_;
  member_globs members_, projects_;
  bool single_ = false;
  std::vector<found> all_;
  std::unordered_map<std::string, std::size_t> index_;
  worktree_check worktree_;
  std::vector<std::string> notices_;
  discovered out_;
};

}  // namespace

result<discovered> discover(const discovery_input& in) { return discovery(in).run(); }

}  // namespace vx::workspace
