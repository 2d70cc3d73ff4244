#include "workspace/lockfile/closure.hpp"

#include <algorithm>
#include <array>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "key/fold.hpp"

namespace vx::workspace::lockfile {

namespace {

constexpr auto k_schema = static_cast<key::tag>(0x0040), k_own = static_cast<key::tag>(0x0041),
               k_record = static_cast<key::tag>(0x0042), k_root = static_cast<key::tag>(0x0043),
               k_remainder = static_cast<key::tag>(0x0044), k_whole = static_cast<key::tag>(0x0045),
               k_file = static_cast<key::tag>(0x0046);

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> k_files{{{"pnpm", "pnpm-lock.yaml"},
                                                                                {"npm", "package-lock.json"},
                                                                                {"npm", "npm-shrinkwrap.json"},
                                                                                {"yarn", "yarn.lock"},
                                                                                {"bun", "bun.lock"}}};

result<graph> read_graph(std::string_view file, std::string_view text, const std::vector<member>& members) {
  if (file == "pnpm-lock.yaml") return read_pnpm(text);
  if (file == "yarn.lock") return read_yarn(text, members);
  if (file == "bun.lock") return read_bun(text);
  return read_npm(text);
}

/// Patches are recorded by path: their bytes are part of what they change.
status add_patches(graph& g, const read_files_fn& read) {
  std::vector<std::string> paths;
  for (const graph::patch& p : g.patches) paths.push_back(p.path);
  if (paths.empty() || mutated("no-patches")) return {};
  VX_TRY_LET(const auto texts, read(paths));
  for (std::size_t i = 0; i < g.patches.size(); ++i) {
    const std::string record = "\npatch " + g.patches[i].path + (texts[i] ? " " + key::xxh3_128(*texts[i]).hex() : " absent");
    if (g.patches[i].nodes.empty()) g.remainder += record;
    for (const std::uint32_t n : g.patches[i].nodes) g.nodes[n].record += record;
  }
  return {};
}

digest128 project_digest(std::string_view file, const graph& g, const std::vector<digest128>& components,
                         std::optional<std::uint32_t> own) {
  const auto root = g.importers.find("");
  key::digest_sink out;
  out.item(k_schema, "vx-lock-1");
  out.item(k_file, file);
  if (own) {
    out.item(k_own, components[*own].view());
    out.item(k_record, g.nodes[*own].record);  // members of one cycle stay apart
  }
  if (root != g.importers.end() && !mutated("no-root-importer")) out.item(k_root, components[root->second].view());
  out.item(k_remainder, mutated("no-remainder") ? std::string_view() : g.remainder);
  return out.finish();
}

}  // namespace

std::string_view claimed(std::string_view package_manager, const std::function<bool(std::string_view)>& there) {
  for (const auto& [manager, file] : k_files)
    if ((package_manager.empty() || manager == package_manager) && there(file)) return file;
  return {};
}

std::string package_manager_of(std::string_view manifest) {
  const auto parsed = parse_manifest(manifest, "package.json");
  const json::value* field = parsed && parsed->is_object() ? last_member(*parsed, "packageManager") : nullptr;
  if (field == nullptr || !field->is_string()) return {};
  const std::string name = field->as_string().substr(0, field->as_string().find('@'));
  return std::any_of(k_files.begin(), k_files.end(), [&](const auto& f) { return f.first == name; }) ? name : std::string();
}

result<std::vector<member>> members_for(std::string_view file, std::string_view text, const std::vector<std::string>& dirs,
                                        const read_files_fn& read) {
  std::vector<member> out;
  if (file != "yarn.lock" || text.starts_with("__metadata:") || text.find("\n__metadata:") != std::string_view::npos)
    return out;
  std::vector<std::string> paths;
  for (const std::string& dir : dirs) paths.push_back(path::join(dir, "package.json"));
  VX_TRY_LET(const auto texts, read(paths));
  for (std::size_t i = 0; i < dirs.size(); ++i) {
    if (!texts[i]) continue;
    const auto parsed = parse_manifest(*texts[i], paths[i]);
    if (!parsed || !parsed->is_object()) continue;
    const json::value* name = last_member(*parsed, "name");
    out.push_back(
        {dirs[i], name != nullptr && name->is_string() ? name->as_string() : std::string(), manifest_deps_of(*parsed)});
  }
  return out;
}

result<closure> digest_lockfile(std::string_view file, std::string_view text, const std::vector<member>& members,
                                const read_files_fn& read) {
  closure out;
  result<graph> g = read_graph(file, text, members);
  if (!g) {
    out.notice =
        std::string(file) + ": " + g.error().message + "; with lockfile \"closure\" the whole file counts for every project";
    key::digest_sink whole;
    whole.item(k_schema, "vx-lock-1");
    whole.item(k_file, file);
    whole.item(k_whole, text);
    out.others = whole.finish();
    return out;
  }
  for (const graph::patch& p : g->patches) out.patches.push_back(p.path);
  VX_TRY(add_patches(*g, read));
  const std::vector<digest128> components = component_digests(*g);
  for (const auto& [dir, node] : g->importers) out.importers.emplace(dir, project_digest(file, *g, components, node));
  const auto root = g->importers.find("");
  out.others = project_digest(file, *g, components, root == g->importers.end() ? std::nullopt : std::optional(root->second));
  return out;
}

}  // namespace vx::workspace::lockfile
