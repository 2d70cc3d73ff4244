// Which directory is the store (cache.md 2.1). Reads the system, writes nothing.
#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/default_dir.hpp"
#include "cache/store.hpp"

namespace vx::cache {

std::string home_dir(const environment& env) {
  const std::string* home = env.find("HOME");
  if (home != nullptr && home->starts_with('/')) return path::normalize(*home);
  std::vector<char> buffer(16384);
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  const std::string dir = found->pw_dir != nullptr ? found->pw_dir : "";
  return dir.starts_with('/') ? path::normalize(dir) : std::string();
}

namespace {

constexpr std::string_view k_config_extensions[] = {"ts", "mts", "cts", "js", "mjs", "cjs", "json", "jsonc"};

bool is_workspace_file(std::string_view name) {
  if (name == "package.json" || name == "pnpm-workspace.yaml") return true;
  if (!name.starts_with("vx.config.") && !name.starts_with("vx.workspace.")) return false;
  const std::string_view ext = name.substr(name.rfind('.') + 1);
  return std::find(std::begin(k_config_extensions), std::end(k_config_extensions), ext) != std::end(k_config_extensions);
}

std::string workspace_file_in(int dir, const std::string& path, std::vector<std::string>* subdirs) {
  const auto listing = fs::list_dir_at(dir, path);
  if (!listing) return {};
  for (const fs::dir_entry& e : *listing) {
    if (is_workspace_file(e.name)) return e.name;
    if (subdirs != nullptr && e.kind == fs::kind::dir) subdirs->push_back(path::join(path, e.name));
  }
  return {};
}

tl::unexpected<failure> refuse(const std::string& named_by, const std::string& dir, const std::string& why) {
  return fail(errc::REFUSED, named_by + ": " + text::escape(dir) + " cannot be the cache directory: " + why);
}

/// The name of a workspace file directly in `dir`, without listing it: a store in use holds thousands of names.
std::string workspace_file_at(const std::string& dir) {
  std::vector<std::string> names = {"package.json", "pnpm-workspace.yaml"};
  for (const std::string_view ext : k_config_extensions)
    for (const std::string_view stem : {"vx.config.", "vx.workspace."}) names.push_back(std::string(stem).append(ext));
  for (std::string& name : names)
    if (fs::exists_at(fs::k_cwd, path::join(dir, name))) return std::move(name);
  return {};
}

/// The store gets a .gitignore of "*": sources must not lie in or around it.
status check_named(const std::string& named_by, const std::string& dir, const std::string& root) {
  const auto real = fs::real_path(dir);
  const auto real_root = fs::real_path(root);
  const std::string& where = real ? *real : dir;
  if (path::is_within(real_root ? *real_root : root, where)) return refuse(named_by, dir, "it contains the workspace");
  if (fs::exists_at(fs::k_cwd, path::join(where, "store-1.db"))) {  // its first use was checked below it, too
    const std::string found = workspace_file_at(where);
    return found.empty() ? status{} : refuse(named_by, dir, "it holds " + found);
  }
  std::vector<std::string> subdirs;
  std::string name = workspace_file_in(fs::k_cwd, where, &subdirs);
  if (!name.empty()) return refuse(named_by, dir, "it holds " + name);
  for (const std::string& sub : subdirs) {
    name = workspace_file_in(fs::k_cwd, sub, nullptr);
    if (!name.empty()) return refuse(named_by, dir, "it holds " + std::string(path::base_name(sub)) + "/" + name);
  }
  return {};
}

result<store_location> named(const location_request& q, const std::string& named_by, const std::string& value,
                             const std::string& base, store_source source) {
  if (text::trim(value).empty()) return fail(errc::REFUSED, named_by + ": the cache directory is blank");
  if (value.find('\0') != std::string::npos) return fail(errc::REFUSED, named_by + ": the cache directory holds NUL");
  std::string dir = value;
  if (dir == "~" || dir.starts_with("~/")) {
    const std::string home = home_dir(*q.env);
    if (home.empty()) return fail(errc::REFUSED, named_by + ": there is no home directory for " + dir);
    dir = dir == "~" ? home : path::join(home, dir.substr(2));
  }
  if (!dir.starts_with('/')) dir = path::join(base, dir);
  dir = path::normalize(dir);
  VX_TRY(check_named(named_by, dir, q.root));
  return store_location{dir, source};
}

/// A level we may use: absent, or a directory of ours that is no link.
bool usable_level(const std::string& dir) {
  const auto st = fs::lstat_at(fs::k_cwd, dir);
  if (!st) return false;
  if (!st->exists()) return true;
  struct ::stat raw;
  return st->kind == fs::kind::dir && ::lstat(dir.c_str(), &raw) == 0 && raw.st_uid == ::geteuid();
}

/// Names under a directory that everybody may write are anybody's.
bool others_can_write(const std::string& dir) {
  const auto st = fs::stat_at(fs::k_cwd, dir);
  return st && st->exists() && (st->mode & 0002) != 0;
}

std::string shared_default(const location_request& q) {
  if (q.repo_id.empty()) return {};
  const std::string base = user_cache_base(*q.env);
  if (base.empty() || others_can_write(base)) return {};
  const std::string home = home_dir(*q.env);
  if (!home.empty() && path::is_within(base, home) && others_can_write(home)) return {};
  const std::string level = path::join(base, "vx");
  const std::string dir = path::join(level, q.repo_id);
  if (!usable_level(level) || !usable_level(dir)) return {};
  // The first existing ancestor must take a new directory, unless everything is there.
  std::string at = dir;
  while (at.size() > 1 && !fs::exists_at(fs::k_cwd, at)) at = at.rfind('/') == 0 ? "/" : at.substr(0, at.rfind('/'));
  if (at != dir && ::access(at.c_str(), W_OK | X_OK) != 0) return {};
  return dir;
}

}  // namespace

result<store_location> locate_store(const location_request& q) {
  if (q.flag) return named(q, q.flag_name, *q.flag, q.cwd.empty() ? q.root : q.cwd, store_source::flag);
  if (q.config) return named(q, "cacheDir", *q.config, q.root, store_source::config);
  const std::string* env = q.env->find("VX_CACHE_DIR");
  if (env != nullptr && !env->empty()) return named(q, "VX_CACHE_DIR", *env, q.root, store_source::env);
  const std::string dir = shared_default(q);
  if (!dir.empty()) return store_location{dir, store_source::shared};
  return store_location{path::join(q.root, ".vx/cache"), store_source::workspace};
}

}  // namespace vx::cache
