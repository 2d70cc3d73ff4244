// Where is the root? The walk goes upward; what a directory higher up claims decides (config.md 2.1).
#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "workspace/manifest.hpp"
#include "workspace/root_files.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

namespace {

bool is_file(const std::string& dir, const char* name) {
  const auto st = fs::stat_at(fs::k_cwd, dir + "/" + name);
  return st && st->exists();
}

/// One directory of the walk, the start first.
struct level {
  std::string dir;
  bool manifest = false, pnpm = false;
  std::optional<std::string> workspace_file;
  bool candidate() const noexcept { return manifest || pnpm || workspace_file.has_value(); }
  bool hard() const noexcept { return pnpm || workspace_file.has_value(); }
};

class search {
 public:
  search(std::vector<level> levels, const environment& env) : levels_(std::move(levels)), env_(env), globs_(levels_.size()) {}

  result<std::string> run() {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].candidate()) candidates.push_back(i);
    }
    if (candidates.size() == 1) return levels_[candidates[0]].dir;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      VX_TRY_LET(const std::optional<std::size_t> claimed, claim(candidates[c]));
      if (!claimed) continue;
      std::size_t winner = candidates[c];
      for (std::size_t f = c + 1; f < candidates.size(); ++f) {
        // A farther file that cannot be read outranks nobody.
        const auto both = matches(candidates[f], {winner, *claimed});
        if (both && *both) winner = candidates[f];
      }
      return levels_[winner].dir;
    }
    return levels_[candidates[0]].dir;
  }

 private:
  /// What a candidate lists. The workspace file is read only when asked for: it may need a JavaScript runtime.
  struct lists {
    bool members_read = false, projects_read = false;
    std::optional<member_globs> members, projects;
  };

  result<const member_globs*> members_of(std::size_t at) {
    lists& l = globs_[at];
    if (!l.members_read) {
      auto files = read_root_files(levels_[at].dir);
      if (!files) return located(std::move(files).error(), at);
      if (files->members) {
        auto globs = compile_members(*files->members, levels_[at].dir);
        if (!globs) return located(std::move(globs).error(), at);
        l.members = std::move(*globs);
      }
      l.members_read = true;
    }
    return l.members ? &*l.members : nullptr;
  }

  /// A refusal names its file relative to that file's directory; here several directories are in play.
  tl::unexpected<failure> located(failure f, std::size_t at) const {
    if (f.code == errc::CONFIG) f.message = path::join(levels_[at].dir, f.message);
    return fail(std::move(f));
  }

  result<const member_globs*> projects_of(std::size_t at) {
    lists& l = globs_[at];
    if (!l.projects_read && levels_[at].workspace_file) {
      config_options options;
      options.root = levels_[at].dir;
      options.env = &env_;
      config_loader loader(std::move(options));
      VX_TRY_LET(const workspace_config config, loader.load_workspace(*levels_[at].workspace_file));
      loader.finish();
      if (!config.projects.empty()) {
        VX_TRY_LET(l.projects, compile_members({*levels_[at].workspace_file, "projects", config.projects}, levels_[at].dir));
      }
    }
    l.projects_read = true;
    return l.projects ? &*l.projects : nullptr;
  }

  std::string_view below(std::size_t candidate, std::size_t dir) const {
    return path::relative_to(levels_[dir].dir, levels_[candidate].dir);
  }

  bool member(const member_globs* globs, std::size_t candidate, std::size_t dir) const {
    return globs != nullptr && levels_[dir].manifest && globs->lists(below(candidate, dir), "package.json");
  }

  bool listed(const member_globs* globs, std::size_t candidate, std::size_t dir) const {
    if (globs == nullptr) return false;
    const auto config = config_loader::find(levels_[dir].dir, "", "vx.config");
    return config && globs->lists(below(candidate, dir), path::base_name(*config));
  }

  /// The directory nearest to the start that the candidate lists.
  result<std::optional<std::size_t>> claim(std::size_t candidate) {
    VX_TRY_LET(const member_globs* members, members_of(candidate));
    for (std::size_t d = 0; d < candidate; ++d) {
      if (member(members, candidate, d)) return std::optional<std::size_t>(d);
    }
    VX_TRY_LET(const member_globs* projects, projects_of(candidate));
    for (std::size_t d = 0; d < candidate; ++d) {
      if (listed(projects, candidate, d)) return std::optional<std::size_t>(d);
    }
    return std::optional<std::size_t>();
  }

  result<bool> matches(std::size_t candidate, std::initializer_list<std::size_t> dirs) {
    VX_TRY_LET(const member_globs* members, members_of(candidate));
    bool all = true;
    for (const std::size_t d : dirs) all = all && member(members, candidate, d);
    if (all) return true;
    VX_TRY_LET(const member_globs* projects, projects_of(candidate));
    for (const std::size_t d : dirs) {
      if (!member(members, candidate, d) && !listed(projects, candidate, d)) return false;
    }
    return true;
  }

  std::vector<level> levels_;
  const environment& env_;
  std::vector<lists> globs_;
};

}  // namespace

result<std::string> find_root(const std::string& cwd, const environment& env) {
  auto start = fs::real_path(cwd);
  if (!start) return fail(unreadable(std::move(start).error()));
  std::vector<level> levels;
  bool candidate = false;
  for (std::string dir = *start;; dir = std::string(path::parent(dir))) {
    if (dir.empty()) dir = "/";
    level l;
    l.dir = dir;
    l.manifest = is_file(dir, "package.json");
    l.pnpm = is_file(dir, "pnpm-workspace.yaml");
    l.workspace_file = config_loader::find(dir, "", "vx.workspace");
    candidate = candidate || l.candidate();
    const bool last = l.hard() || dir == "/";
    levels.push_back(std::move(l));
    if (last) break;
  }
  if (candidate) return search(std::move(levels), env).run();
  for (const level& l : levels) {
    if (config_loader::find(l.dir, "", "vx.config")) return l.dir;
  }
  return fail(errc::NO_WORKSPACE, "no workspace at or above " + text::escape(*start, true) +
                                      ": there is no package.json, pnpm-workspace.yaml, vx.workspace or vx.config file");
}

}  // namespace vx::workspace
