// package-lock.json and npm-shrinkwrap.json, lockfileVersion 2 and 3: `packages` by place. The old `dependencies` of version 2
// say the same once more.
#include "base/path.hpp"
#include "workspace/lockfile/graph.hpp"

namespace vx::workspace::lockfile {

namespace {

bool installed(std::string_view place) {
  return place.starts_with("node_modules/") || place.find("/node_modules/") != std::string_view::npos;
}

class reader {
 public:
  explicit reader(const json::object& doc) : doc_(doc) {}

  result<graph> run() {
    const json::value* version = doc_.find("lockfileVersion");
    const json::value* packages = doc_.find("packages");
    if (version == nullptr || !version->is_int() || (version->as_int() != 2 && version->as_int() != 3))
      return fail(errc::UNSUPPORTED, version != nullptr && version->is_int()
                                         ? "its lockfileVersion " + std::to_string(version->as_int()) + " is not known"
                                         : "its lockfileVersion is missing");
    if (packages == nullptr || !packages->is_object()) return fail(errc::CONFIG, "it has no `packages`");
    for (const json::member& m : packages->as_object()) {
      const std::uint32_t at = g_.add((installed(m.name) ? "p:" : "i:") + m.name, json::write_canonical(m.val));
      places_.emplace(m.name, at);
      if (!installed(m.name)) g_.importers.emplace(m.name, at);
    }
    for (const json::member& m : packages->as_object()) VX_TRY(edges(m.name, m.val));
    g_.remainder = without(doc_, {"packages", "dependencies"});
    return std::move(g_);
  }

 private:
  status edges(const std::string& place, const json::value& entry) {
    const std::uint32_t at = places_.at(place);
    if (const json::value* link = entry.get("link"); link != nullptr && link->is_bool() && link->as_bool()) {
      const auto to = places_.find(text_of(entry.get("resolved")));
      if (to != places_.end()) g_.nodes[at].needs.push_back(to->second);
      return {};
    }
    for (const std::string_view map : {"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}) {
      if (map == "devDependencies" && installed(place)) continue;
      const json::value* deps = entry.get(map);
      if (deps == nullptr || !deps->is_object()) continue;
      for (const json::member& m : deps->as_object()) {
        const auto to = resolve(place, m.name);
        if (to != places_.end()) {
          g_.nodes[at].needs.push_back(to->second);
          continue;
        }
        const bool optional =
            map == "optionalDependencies" || map == "peerDependencies" || listed(entry, "optionalDependencies", m.name);
        if (!optional) return not_held(g_.nodes[at], m.name);
      }
    }
    return {};
  }

  static bool listed(const json::value& entry, std::string_view map, std::string_view name) {
    const json::value* deps = entry.get(map);
    return deps != nullptr && deps->get(name) != nullptr;
  }

  /// As node looks: the nearest node_modules from here upwards that has it.
  std::unordered_map<std::string, std::uint32_t>::const_iterator resolve(std::string_view from, const std::string& name) const {
    for (std::string_view at = from;; at = path::parent(at)) {
      const auto found = places_.find(path::join(at, "node_modules/" + name));
      if (found != places_.end() || at.empty()) return found;
    }
  }

  const json::object& doc_;
  graph g_;
  std::unordered_map<std::string, std::uint32_t> places_;
};

}  // namespace

result<graph> read_npm(std::string_view text) {
  const auto doc = json::parse(text);
  if (!doc) return fail(errc::CONFIG, doc.error().message);
  if (!doc->is_object()) return fail(errc::CONFIG, "it is no object");
  return reader(doc->as_object()).run();
}

}  // namespace vx::workspace::lockfile
