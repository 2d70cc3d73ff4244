// The workspace fingerprint (config.md 4, keys.md 3.4): the root files an install resolves from.
#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/json.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "key/fold.hpp"
#include "workspace/lockfile/closure.hpp"
#include "workspace/manifest.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

namespace {

constexpr std::array<std::string_view, 10> k_files = {
    "pnpm-lock.yaml", "package-lock.json",   "npm-shrinkwrap.json", "yarn.lock", "bun.lock",
    "bun.lockb",      "pnpm-workspace.yaml", ".yarnrc.yml",         ".npmrc",    "bunfig.toml"};
constexpr std::size_t k_file_max = std::size_t{1} << 30;

/// Adds the file when it is there; links are followed, and a link to nothing is as good as no file.
status add(int root, std::string name, fingerprint& out) {
  auto text = fs::read_file_at(root, name, k_file_max);
  if (text) {
    out.files.emplace_back(std::move(name), std::move(*text));
    return {};
  }
  if (text.error().sys == ENOENT || text.error().sys == ENOTDIR) return {};
  failure f = unreadable(std::move(text).error());
  f.message += "; it is part of every key";
  return fail(std::move(f));
}

/// Bun's lockfile names patches by path only, so their content counts as well.
result<std::vector<std::string>> bun_patches(std::string_view lock) {
  std::vector<std::string> out;
  if (lock.find("patchedDependencies") == std::string_view::npos) return out;
  json::parse_options options;
  options.comments = true;
  options.refuse_duplicates = false;
  const auto parsed = json::parse(lock, options);
  if (!parsed) {
    const json::position at = json::locate(lock, parsed.error().offset);
    return fail(errc::CONFIG, "bun.lock:" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                                  " does not parse: " + parsed.error().message);
  }
  const json::value* patches = last_member(*parsed, "patchedDependencies");
  if (patches == nullptr || !patches->is_object()) return out;
  for (const json::member& m : patches->as_object()) {
    if (m.val.is_string() && m.val.as_string().find('\0') == std::string::npos && !m.val.as_string().empty())
      out.push_back(m.val.as_string());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// With closure keys one lockfile leaves the fingerprint, and with it the patches it lists.
void claim(int root, fingerprint& out) {
  const auto manifest = fs::read_file_at(root, "package.json", k_file_max);
  const auto there = [&](std::string_view name) {
    return std::any_of(out.files.begin(), out.files.end(), [&](const auto& f) { return f.first == name; });
  };
  const std::string_view name = lockfile::claimed(manifest ? lockfile::package_manager_of(*manifest) : std::string(), there);
  const auto at = std::find_if(out.files.begin(), out.files.end(), [&](const auto& f) { return f.first == name; });
  if (at == out.files.end()) return;
  out.lockfile = std::move(*at);
  out.files.erase(at);
}

}  // namespace

result<fingerprint> read_fingerprint(const std::string& root, bool closure) {
  fingerprint out;
  out.read_ns = wall_ns();  // before the reads: a later write is then seen as later
  auto dir = fs::open_dir_at(fs::k_cwd, root);
  if (!dir) return fail(unreadable(std::move(dir).error()));
  for (const std::string_view name : k_files) {
    if (mutated("no-lockfile") && name == "pnpm-lock.yaml") continue;
    if (mutated("no-yarnrc") && name == ".yarnrc.yml") continue;
    if (mutated("no-npmrc") && (name == ".npmrc" || name == "bunfig.toml")) continue;
    VX_TRY(add(dir->get(), std::string(name), out));
  }
  if (closure) claim(dir->get(), out);
  std::vector<std::string> patches;
  for (const auto& [name, text] : out.files) {
    if (name != "bun.lock" || mutated("no-patches")) continue;
    VX_TRY_LET(patches, bun_patches(text));
  }
  for (std::string& name : patches) VX_TRY(add(dir->get(), std::move(name), out));
  out.digest = key::fold_fingerprint(out.files);
  return out;
}

result<std::optional<lockfile::closure>> read_closure(const workspace& ws, const fingerprint& fp) {
  if (!fp.lockfile) return std::optional<lockfile::closure>();
  const auto& [file, text] = *fp.lockfile;
  const lockfile::read_files_fn read =
      [&](const std::vector<std::string>& paths) -> result<std::vector<std::optional<std::string>>> {
    std::vector<std::optional<std::string>> out;
    for (const std::string& path : paths) {
      auto bytes = fs::read_file_at(fs::k_cwd, path::join(ws.root, path), k_file_max);
      if (!bytes && bytes.error().sys != ENOENT && bytes.error().sys != ENOTDIR)
        return fail(unreadable(std::move(bytes).error()));
      out.push_back(bytes ? std::optional(std::move(*bytes)) : std::nullopt);
    }
    return out;
  };
  VX_TRY_LET(const std::vector<lockfile::member> members, lockfile::members_for(file, text, project_dirs(ws), read));
  VX_TRY_LET(lockfile::closure out, lockfile::digest_lockfile(file, text, members, read));
  return std::optional(std::move(out));
}

std::vector<std::string> project_dirs(const workspace& ws) {
  std::vector<std::string> dirs;
  for (const project& p : ws.projects) dirs.push_back(p.dir);
  if (std::find(dirs.begin(), dirs.end(), std::string()) == dirs.end()) dirs.emplace_back();
  return dirs;
}

}  // namespace vx::workspace
