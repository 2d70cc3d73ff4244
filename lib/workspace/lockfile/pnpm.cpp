// pnpm-lock.yaml, lockfileVersion 6 and 9. In 9 `snapshots` say what a package needs in its place and `packages` what it is; in
// 6 one entry says both, under "/name@version(peers)".
#include <optional>

#include "base/path.hpp"
#include "workspace/lockfile/graph.hpp"

namespace vx::workspace::lockfile {

namespace {

constexpr std::string_view k_maps[] = {"dependencies", "devDependencies", "optionalDependencies"};

/// "name@1.0.0(peer@2.0.0)" without its peers.
std::string_view base_id(std::string_view id) noexcept { return id.substr(0, id.find('(')); }

class reader {
 public:
  explicit reader(const json::object& doc) : doc_(doc) {}

  result<graph> run() {
    const std::string version = text_of(doc_.find("lockfileVersion"));
    const std::string major = version.substr(0, version.find('.'));
    if (major != "6" && major != "9")
      return fail(errc::UNSUPPORTED, "its lockfileVersion " + (version.empty() ? "is missing" : version + " is not known"));
    six_ = major == "6";
    packages();
    importers();
    VX_TRY(edges());
    patches();
    return std::move(g_);
  }

 private:
  static const json::object* object_in(const json::object& from, std::string_view name) {
    const json::value* v = from.find(name);
    return v != nullptr && v->is_object() ? &v->as_object() : nullptr;
  }

  void packages() {
    const json::object* all = object_in(doc_, "packages");
    const json::object* places = six_ ? all : object_in(doc_, "snapshots");
    std::unordered_map<std::string_view, const json::value*> what;
    if (all != nullptr)
      for (const json::member& m : *all) what.emplace(m.name, &m.val);
    if (places == nullptr) return;
    for (const json::member& m : *places) {
      std::string record = json::write_canonical(m.val);
      const auto described = six_ ? what.end() : what.find(base_id(m.name));
      if (described != what.end()) record += "\n" + json::write_canonical(*described->second);
      by_id_.emplace(m.name, g_.add("p:" + m.name, std::move(record)));
      sources_.push_back({static_cast<std::uint32_t>(g_.nodes.size() - 1), &m.val, std::nullopt});
    }
  }

  void importers() {
    const auto add = [&](const std::string& dir, const json::value* v, std::string record) {
      const std::uint32_t at = g_.add("i:" + dir, std::move(record));
      g_.importers.emplace(dir, at);
      sources_.push_back({at, v, dir});
    };
    if (const json::object* all = object_in(doc_, "importers")) {
      for (const json::member& m : *all) {
        std::string dir;
        if (path::normalize_within(m.name, dir)) add(dir == "." ? std::string() : dir, &m.val, json::write_canonical(m.val));
      }
      g_.remainder = without(doc_, {"importers", "packages", "snapshots", "patchedDependencies"});
      return;
    }
    // A workspace of one project says at the top what an importer would.
    whole_ = doc_;
    json::object own;
    for (const std::string_view name :
         {"dependencies", "devDependencies", "optionalDependencies", "specifiers", "dependenciesMeta", "publishDirectory"})
      if (const json::value* v = doc_.find(name)) own.add(std::string(name), *v);
    add("", &whole_, json::write_canonical(own));
    g_.remainder = without(doc_, {"packages", "snapshots", "patchedDependencies", "dependencies", "devDependencies",
                                  "optionalDependencies", "specifiers", "dependenciesMeta", "publishDirectory"});
  }

  status edges() {
    for (const source& s : sources_) {
      for (const std::string_view map : k_maps) {
        const json::value* deps = s.entry->get(map);
        if (deps == nullptr || !deps->is_object() || deps->get("\x01plain") != nullptr) continue;
        for (const json::member& m : deps->as_object()) VX_TRY(edge(s, m));
      }
    }
    return {};
  }

  struct source {
    std::uint32_t node;
    const json::value* entry;
    std::optional<std::string> dir;  ///< importers
  };

  status edge(const source& s, const json::member& dep) {
    const std::string plain = text_of(&dep.val), version = plain.empty() ? text_of(dep.val.get("version")) : plain;
    if (version.starts_with("link:")) {
      // Of a package (an injected member) links are relative to the root.
      link(s.node, path::join(s.dir.value_or(std::string()), version.substr(5)));
      return {};
    }
    const std::string id = (six_ ? "/" : "") + dep.name + "@" + version;
    for (const std::string& candidate : {id, version, dep.name + "@" + version}) {
      const auto found = by_id_.find(candidate);
      if (found == by_id_.end()) continue;
      g_.nodes[s.node].needs.push_back(found->second);
      const std::string_view base = base_id(version);
      if (base.starts_with("file:")) link(s.node, std::string(base.substr(5)));
      return {};
    }
    return not_held(g_.nodes[s.node], dep.name + "@" + version);
  }

  /// A link that leads to no importer is known by its text alone.
  void link(std::uint32_t from, const std::string& to) {
    std::string dir;
    if (!path::normalize_within(to, dir)) return;
    const auto found = g_.importers.find(dir == "." ? std::string() : dir);
    if (found != g_.importers.end()) g_.nodes[from].needs.push_back(found->second);
  }

  void patches() {
    const json::object* all = object_in(doc_, "patchedDependencies");
    if (all == nullptr) return;
    for (const json::member& m : *all) {
      graph::patch p;
      p.path = text_of(m.val.get("path"));
      for (auto& [id, at] : by_id_) {
        std::string_view base = base_id(id);
        if (base.starts_with("/")) base.remove_prefix(1);
        if (base != m.name && base.substr(0, name_end(base)) != m.name) continue;
        g_.nodes[at].record += "\n" + json::write_canonical(m.val);
        p.nodes.push_back(at);
      }
      if (p.nodes.empty()) g_.remainder += "\n" + m.name + "\n" + json::write_canonical(m.val);
      if (!p.path.empty()) g_.patches.push_back(std::move(p));
    }
  }

  const json::object& doc_;
  bool six_ = false;
  json::value whole_;
  graph g_;
  std::unordered_map<std::string, std::uint32_t> by_id_;
  std::vector<source> sources_;
};

}  // namespace

result<graph> read_pnpm(std::string_view text) {
  VX_TRY_LET(const json::value doc, read_yaml(text));
  return reader(doc.as_object()).run();
}

}  // namespace vx::workspace::lockfile
