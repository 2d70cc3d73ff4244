#include "workspace/changed.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "glob/glob.hpp"
#include "workspace/base_graph.hpp"
#include "workspace/lockfile/closure.hpp"
#include "workspace/manifest.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;

std::string_view first_line(std::string_view text) noexcept { return text.substr(0, text.find('\n')); }

/// Root files that re-key every task, those bun's lockfile lists included, whether or not they are still there.
bool keys_everything(const workspace& ws, const std::vector<std::string>& present, std::string_view path) {
  static constexpr std::array<std::string_view, 10> k_names = {
      "pnpm-lock.yaml", "package-lock.json",   "npm-shrinkwrap.json", "yarn.lock", "bun.lock",
      "bun.lockb",      "pnpm-workspace.yaml", ".yarnrc.yml",         ".npmrc",    "bunfig.toml"};
  if (std::find(k_names.begin(), k_names.end(), path) != k_names.end()) return true;
  if (std::find(present.begin(), present.end(), path) != present.end()) return true;
  if (path.starts_with("vx.workspace.") && path.find('/') == std::string_view::npos) return true;
  const auto& reads = ws.settings.reads;
  return std::find(reads.begin(), reads.end(), path) != reads.end();
}

std::string workspaces_text(const std::optional<std::string>& manifest) {
  if (!manifest) return {};
  const auto parsed = parse_manifest(*manifest, "package.json");
  if (!parsed) return *manifest;
  const json::value* v = last_member(*parsed, "workspaces");
  return v == nullptr ? std::string() : json::write_canonical(*v);
}

/// The root package.json counts for everything only when its `workspaces` differ.
result<bool> workspaces_moved(const workspace& ws, const git_view& git, const std::string& base) {
  VX_TRY_LET(const auto before, git.files_at(base, {"package.json"}));
  std::optional<std::string> now;
  if (auto text = fs::read_file_at(fs::k_cwd, path::join(ws.root, "package.json"))) now = std::move(*text);
  return workspaces_text(before[0]) != workspaces_text(now);
}

/// Whether anything the closures are made of may have changed.
bool reaches_closure(const lockfile::closure& now, const std::string& file, const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& p) {
    return p == file || path::base_name(p) == "package.json" ||
           std::find(now.patches.begin(), now.patches.end(), p) != now.patches.end();
  });
}

/// With closure keys a project is reached iff its digest differs from that of the base (init.md 9.3).
status mark_lockfile(const workspace& ws, const git_view& git, const fingerprint& fp, change_set& out) {
  if (!ws.settings.closure_keys()) return {};
  const lockfile::read_files_fn at_base = [&](const std::vector<std::string>& paths) { return git.files_at(out.base, paths); };
  const std::vector<std::string> asked = {"package.json",        "pnpm-lock.yaml", "package-lock.json",
                                          "npm-shrinkwrap.json", "yarn.lock",      "bun.lock"};
  VX_TRY_LET(const auto texts, at_base(asked));
  const auto place = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(asked.begin(), asked.end(), name) - asked.begin());
  };
  const std::string file(lockfile::claimed(texts[0] ? lockfile::package_manager_of(*texts[0]) : std::string(),
                                           [&](std::string_view n) { return texts[place(n)].has_value(); }));
  const std::string now_file = fp.lockfile ? fp.lockfile->first : std::string();
  const auto everything = [&] {
    out.everything = true;
    out.because = now_file.empty() ? file : now_file;
    return status{};
  };
  if (file != now_file) return everything();
  if (file.empty()) return {};
  VX_TRY_LET(const std::optional<lockfile::closure> now, read_closure(ws, fp));
  if (!reaches_closure(*now, file, out.paths)) return {};
  const std::string& text = *texts[place(file)];
  if (!now->notice.empty()) return text == fp.lockfile->second ? status{} : everything();
  VX_TRY_LET(const std::vector<lockfile::member> members, lockfile::members_for(file, text, project_dirs(ws), at_base));
  VX_TRY_LET(const lockfile::closure before, lockfile::digest_lockfile(file, text, members, at_base));
  if (!before.notice.empty()) return everything();
  for (id i = 0; i < ws.projects.size(); ++i)
    if (!lockfile::same_for(ws.projects[i].dir, *now, before)) out.whole[i] = true;
  return {};
}

void mark_contained(const workspace& ws, change_set& out) {
  for (const std::string& p : out.paths) {
    if (const auto owner = owner_of_change(ws, p)) out.contained[*owner] = true;
    const auto st = fs::lstat_at(fs::k_cwd, path::join(ws.root, p));
    if (!st || st->kind != fs::kind::dir) continue;
    // A nested repository is one path: it reaches the project that holds it and every project below.
    if (const auto holder = ws.owner_of(path::parent(p))) out.whole[*holder] = true;
    for (id i = 0; i < ws.projects.size(); ++i) {
      if (path::is_within(ws.projects[i].dir, p)) out.whole[i] = true;
    }
  }
}

void mark_config_reads(const workspace& ws, change_set& out) {
  std::unordered_map<std::string_view, std::vector<id>> readers;
  for (id i = 0; i < ws.projects.size(); ++i) {
    if (ws.projects[i].config == nullptr) continue;
    for (const std::string& read : ws.projects[i].config->reads) readers[read].push_back(i);
  }
  for (const std::string& p : out.paths) {
    const auto it = readers.find(p);
    if (it == readers.end()) continue;
    for (const id i : it->second) out.whole[i] = true;
  }
}

status mark_workspace_files(const workspace& ws, change_set& out) {
  for (const project& p : ws.projects) {
    if (p.config == nullptr) continue;
    out.asks_every_project =
        out.asks_every_project || std::any_of(p.config->tasks.begin(), p.config->tasks.end(),
                                              [](const task_config& t) { return !t.input_workspace_files.empty(); });
  }
  std::vector<std::string_view> loose;
  for (const std::string& p : out.paths) {
    const auto owner = ws.owner_of(p);
    if (!owner || owner == ws.root_project) loose.push_back(p);
  }
  if (loose.empty()) return {};
  for (id i = 0; i < ws.projects.size(); ++i) {
    if (ws.projects[i].config == nullptr) continue;
    for (const task_config& t : ws.projects[i].config->tasks) {
      if (t.input_workspace_files.empty() || out.declared[i]) continue;
      VX_TRY_LET(const glob::matcher globs, glob::matcher::compile(t.input_workspace_files));
      out.declared[i] = std::any_of(loose.begin(), loose.end(), [&](std::string_view p) { return globs.match(p); });
    }
  }
  return {};
}

}  // namespace

result<git_view> git_view::open(const environment& env, const std::string& root) {
  auto program = git::program::find(env);
  if (!program) return fail(errc::REFUSED, "comparing with a git reference needs git, and there is none on PATH");
  VX_TRY_LET(std::optional<git::repository> repo, git::find_repository(*program, root));
  if (!repo) return fail(errc::REFUSED, "comparing with a git reference needs a git work tree, and " + root + " lies in none");
  return git_view{std::move(*program), std::move(*repo)};
}

result<std::string> git_view::base_commit(std::string_view ref) const {
  VX_TRY_LET(const git::checked_ref wanted, git::check_ref(ref));
  const std::string dir = git::asked_dir(repo);
  if (!wanted.direct) {
    VX_TRY_LET(const git::program::output common, program.run(dir, {"merge-base", "--end-of-options", wanted.ref, "HEAD"}));
    if (common.exit_code == 0) return std::string(first_line(common.out));
  }
  VX_TRY_LET(const git::program::output own,
             program.run(dir, {"rev-parse", "--verify", "--quiet", "--end-of-options", wanted.ref}));
  std::string_view line = first_line(own.out);
  if (line == "--end-of-options") line = first_line(std::string_view(own.out).substr(line.size() + 1));
  return std::string(line);
}

result<std::vector<std::optional<std::string>>> git_view::files_at(const std::string& commit,
                                                                   const std::vector<std::string>& paths) const {
  std::vector<std::optional<std::string>> out(paths.size());
  std::string ask;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].find('\n') != std::string::npos) continue;  // the protocol is line by line
    ask += commit + ":" + repo.prefix + paths[i] + "\n";
    asked.push_back(i);
  }
  if (asked.empty()) return out;
  VX_TRY_LET(const git::program::output got,
             program.run(git::asked_dir(repo), {"cat-file", "--batch=%(objecttype) %(objectsize)"}, ask));
  std::string_view rest = got.out;
  for (const std::size_t i : asked) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const auto space = line.rfind(' ');
    const auto size = space == std::string_view::npos ? std::nullopt : text::parse_uint(line.substr(space + 1));
    if (!size || *size >= rest.size()) continue;  // "... missing"
    if (line.substr(0, space) == "blob") out[i] = std::string(rest.substr(0, *size));
    rest.remove_prefix(*size + 1);
  }
  return out;
}

std::vector<bool> change_set::projects() const {
  std::vector<bool> out(contained.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = everything || contained[i] || whole[i] || declared[i];
  return out;
}

std::optional<std::uint32_t> owner_of_change(const workspace& ws, const std::string& p) {
  if (const auto linked = ws.linked_owner_of(path::join(ws.root, p))) return linked;
  return ws.owner_of(p);
}

result<change_set> changes_since(loader& l, const git_view& git, std::string_view ref) {
  const workspace& ws = l.ws();
  change_set out;
  out.contained.resize(ws.projects.size());
  out.whole.resize(ws.projects.size());
  out.declared.resize(ws.projects.size());
  VX_TRY_LET(out.paths, git::changed_since(git.program, git.repo, ref));
  if (out.paths.empty()) return out;
  VX_TRY_LET(out.base, git.base_commit(ref));
  VX_TRY_LET(const fingerprint fp, read_fingerprint(ws.root, ws.settings.closure_keys()));
  std::vector<std::string> present;
  for (const auto& [name, text] : fp.files) present.push_back(name);
  for (const std::string& p : out.paths) {
    if (fp.lockfile && p == fp.lockfile->first) continue;
    bool all = keys_everything(ws, present, p);
    if (!all && p == "package.json") {
      VX_TRY_LET(all, workspaces_moved(ws, git, out.base));
    }
    if (!all) continue;
    out.everything = true;
    out.because = p;
    return out;
  }
  VX_TRY(mark_lockfile(ws, git, fp, out));
  if (out.everything) return out;
  mark_contained(ws, out);
  mark_config_reads(ws, out);
  VX_TRY(mark_workspace_files(ws, out));
  VX_TRY(mark_moved_edges(l, git, out));
  return out;
}

}  // namespace vx::workspace
