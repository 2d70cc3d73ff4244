#include "workspace/root_files.hpp"

#include <cerrno>

#include "base/fs.hpp"
#include "workspace/manifest.hpp"

namespace vx::workspace {

namespace {

constexpr std::size_t k_file_max = std::size_t{64} << 20;
constexpr const char* k_pnpm_file = "pnpm-workspace.yaml";
constexpr const char* k_manifest_file = "package.json";

result<std::optional<std::string>> read_if_there(const std::string& dir, const char* name) {
  auto text = fs::read_file_at(fs::k_cwd, dir + "/" + name, k_file_max);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().sys == ENOENT || text.error().sys == ENOTDIR) return std::optional<std::string>();
  return fail(unreadable(std::move(text).error()));
}

result<std::vector<std::string>> string_list(const json::value& v, const std::string& field) {
  std::vector<std::string> out;
  const std::string shape = std::string(k_manifest_file) + ": `" + field + "` must be an array of strings";
  if (!v.is_array()) return fail(errc::CONFIG, shape);
  for (const json::value& item : v.as_array()) {
    if (!item.is_string()) return fail(errc::CONFIG, shape);
    out.push_back(item.as_string());
  }
  return out;
}

status read_workspaces(const json::value& manifest, root_files& out) {
  const json::value* v = last_member(manifest, "workspaces");
  if (v == nullptr || v->is_null()) return {};
  std::string field = "workspaces";
  if (v->is_object()) {
    v = last_member(*v, "packages");
    if (v == nullptr) return {};
    field = "workspaces.packages";
  }
  VX_TRY_LET(std::vector<std::string> entries, string_list(*v, field));
  if (!entries.empty() && !out.members) out.members = member_list{k_manifest_file, field, std::move(entries)};
  return {};
}

void add_catalog(const json::value* from, const std::string& name, catalog_map& into) {
  if (from == nullptr || !from->is_object()) return;
  for (const json::member& m : from->as_object()) {
    if (m.val.is_string()) into[name].try_emplace(m.name, m.val.as_string());
  }
}

/// A catalog that the pnpm file names wins whole; package.json fills in the others.
void add_manifest_catalogs(const json::value& manifest, catalog_map& into) {
  catalog_map found;
  for (const json::value* at : {&manifest, last_member(manifest, "workspaces")}) {
    if (at == nullptr) continue;
    add_catalog(last_member(*at, "catalog"), "default", found);
    const json::value* many = last_member(*at, "catalogs");
    if (many == nullptr || !many->is_object()) continue;
    for (const json::member& m : many->as_object()) add_catalog(&m.val, m.name, found);
  }
  for (auto& [name, entries] : found) {
    auto& target = into[name];
    for (auto& [key, spec] : entries) target.try_emplace(key, spec);
  }
}

}  // namespace

result<root_files> read_root_files(const std::string& dir) {
  root_files out;
  VX_TRY_LET(const std::optional<std::string> yaml, read_if_there(dir, k_pnpm_file));
  if (yaml) {
    VX_TRY_LET(pnpm_file pnpm, parse_pnpm_yaml(*yaml, k_pnpm_file));
    out.has_pnpm = true;
    if (!pnpm.packages.empty()) out.members = member_list{k_pnpm_file, "packages", std::move(pnpm.packages)};
    out.catalogs = std::move(pnpm.catalogs);
  }
  VX_TRY_LET(const std::optional<std::string> text, read_if_there(dir, k_manifest_file));
  if (text) {
    VX_TRY_LET(out.manifest, parse_manifest(*text, k_manifest_file));
    VX_TRY(read_workspaces(*out.manifest, out));
    add_manifest_catalogs(*out.manifest, out.catalogs);
  }
  return out;
}

std::string detect_package_manager(const std::string& dir, const root_files& files) {
  if (files.manifest) {
    const json::value* field = last_member(*files.manifest, "packageManager");
    if (field != nullptr && field->is_string()) {
      const std::string_view name = std::string_view(field->as_string()).substr(0, field->as_string().find('@'));
      for (const char* known : {"pnpm", "npm", "yarn", "bun"}) {
        if (name == known) return known;
      }
    }
  }
  if (files.has_pnpm) return "pnpm";
  if (!files.manifest) return "";
  static constexpr std::pair<const char*, const char*> k_locks[] = {
      {"pnpm-lock.yaml", "pnpm"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}, {"yarn.lock", "yarn"}};
  for (const auto& [file, manager] : k_locks) {
    if (fs::exists_at(fs::k_cwd, dir + "/" + file)) return manager;
  }
  return "npm";
}

}  // namespace vx::workspace
