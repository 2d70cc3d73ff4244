#include "workspace/manifest.hpp"

#include "base/text.hpp"

namespace vx::workspace {

namespace {

constexpr std::array<std::string_view, k_dep_kinds> k_dep_fields = {"dependencies", "devDependencies", "optionalDependencies",
                                                                    "peerDependencies"};

}  // namespace

failure unreadable(failure f) {
  if (f.code != errc::FDS) f.code = errc::FS;
  return f;
}

result<json::value> parse_manifest(std::string_view text, std::string_view file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  json::parse_options options;
  options.refuse_duplicates = false;
  auto parsed = json::parse(text, options);
  if (!parsed) {
    const json::position at = json::locate(text, parsed.error().offset);
    failure f{errc::CONFIG,
              0,
              std::string(file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                  " does not parse: " + parsed.error().message,
              std::string(file),
              {}};
    return fail(std::move(f));
  }
  if (!parsed->is_object()) return fail(errc::CONFIG, std::string(file) + " must hold a JSON object");
  return std::move(*parsed);
}

const json::value* last_member(const json::value& v, std::string_view name) {
  if (!v.is_object()) return nullptr;
  const json::value* found = nullptr;
  for (const json::member& m : v.as_object()) {
    if (m.name == name) found = &m.val;
  }
  return found;
}

result<manifest_head> manifest_head_of(const json::value& v, std::string_view file) {
  manifest_head head;
  head.exists = true;
  if (const json::value* version = last_member(v, "version"); version != nullptr && version->is_string())
    head.version = version->as_string();
  const json::value* name = last_member(v, "name");
  if (name == nullptr) return head;
  const std::string where = std::string(file) + ": `name` ";
  if (!name->is_string()) return fail(errc::CONFIG, where + "must be a string");
  const std::string& text = name->as_string();
  if (text.empty()) return fail(errc::CONFIG, where + "is empty; remove it or give the package a name");
  if (text::has_surrounding_space(text)) return fail(errc::CONFIG, where + "has surrounding white space: \"" + text + "\"");
  if (text.find('#') != std::string::npos) {
    return fail(errc::CONFIG, where + "contains '#': \"" + text + "\"; a task id is split at the first '#'");
  }
  if (const std::string why = check_project_name(text); !why.empty()) {
    return fail(errc::CONFIG, where + "\"" + text + "\" cannot name a project: " + why);
  }
  head.named = true;
  head.name = text;
  return head;
}

dep_maps manifest_deps_of(const json::value& v) {
  dep_maps maps;
  for (std::size_t k = 0; k < k_dep_kinds; ++k) {
    const json::value* field = last_member(v, k_dep_fields[k]);
    if (field == nullptr || !field->is_object()) continue;
    maps[k].reserve(field->as_object().size());
    for (const json::member& m : field->as_object()) {
      if (m.val.is_string()) maps[k].emplace_back(m.name, m.val.as_string());
    }
  }
  return maps;
}

}  // namespace vx::workspace
