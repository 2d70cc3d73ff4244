// bun.lock, lockfileVersion 0 and 1: `workspaces` by directory, `packages` by hoisted place ("a", "a/b", "@s/a/b").
#include "workspace/lockfile/graph.hpp"

namespace vx::workspace::lockfile {

namespace {

/// A place without its last package name; "" above the outermost. A scoped name holds a slash of its own.
std::string_view outer(std::string_view place) noexcept {
  std::size_t cut = place.rfind('/');
  if (cut == std::string_view::npos) return {};
  const std::size_t scope = cut == 0 ? std::string_view::npos : place.rfind('/', cut - 1);
  const std::size_t begin = scope == std::string_view::npos ? 0 : scope + 1;
  if (place[begin] == '@') cut = begin == 0 ? 0 : begin - 1;
  return place.substr(0, cut);
}

class reader {
 public:
  explicit reader(const json::object& doc) : doc_(doc) {}

  result<graph> run() {
    const json::value* version = doc_.find("lockfileVersion");
    if (version == nullptr || !version->is_int() || version->as_int() < 0 || version->as_int() > 1)
      return fail(errc::UNSUPPORTED, version != nullptr && version->is_int()
                                         ? "its lockfileVersion " + std::to_string(version->as_int()) + " is not known"
                                         : "its lockfileVersion is missing");
    const json::value* members = doc_.find("workspaces");
    const json::value* packages = doc_.find("packages");
    if (members == nullptr || !members->is_object() || packages == nullptr || !packages->is_object())
      return fail(errc::CONFIG, "it has no `workspaces` or no `packages`");
    for (const json::member& m : members->as_object())
      g_.importers.emplace(m.name, g_.add("i:" + m.name, json::write_canonical(m.val)));
    for (const json::member& m : packages->as_object()) VX_TRY(package(m));
    for (const json::member& m : members->as_object())
      VX_TRY(edges(g_.importers.at(m.name), m.name.empty() ? std::string() : text_of(m.val.get("name")), m.val));
    for (const json::member& m : packages->as_object()) {
      const json::array& entry = m.val.as_array();
      for (const json::value& part : entry)
        if (part.is_object()) VX_TRY(edges(places_.at(m.name), m.name, part));
    }
    patches();
    g_.remainder += without(doc_, {"workspaces", "packages", "patchedDependencies"});
    return std::move(g_);
  }

 private:
  status package(const json::member& m) {
    if (!m.val.is_array() || m.val.as_array().empty() || !m.val.as_array()[0].is_string())
      return fail(errc::CONFIG, "the package " + m.name + " has no id");
    const std::string& id = m.val.as_array()[0].as_string();
    const std::uint32_t at = g_.add("p:" + m.name, json::write_canonical(m.val));
    places_.emplace(m.name, at);
    ids_.emplace(id, at);
    const std::size_t cut = id.find("@workspace:");
    if (cut == std::string::npos) return {};
    const auto to = g_.importers.find(std::string_view(id).substr(cut + 11));
    if (to != g_.importers.end()) g_.nodes[at].needs.push_back(to->second);
    return {};
  }

  status edges(std::uint32_t at, const std::string& place, const json::value& entry) {
    for (const std::string_view map : {"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}) {
      const json::value* deps = entry.get(map);
      if (deps == nullptr || !deps->is_object()) continue;
      for (const json::member& m : deps->as_object()) {
        if (const auto to = resolve(place, m.name); to != places_.end())
          g_.nodes[at].needs.push_back(to->second);
        else if (map == "dependencies" || map == "devDependencies")
          return not_held(g_.nodes[at], m.name);
      }
    }
    return {};
  }

  std::unordered_map<std::string, std::uint32_t>::const_iterator resolve(std::string_view from, const std::string& name) const {
    for (std::string_view at = from; !at.empty(); at = outer(at)) {
      const auto found = places_.find(std::string(at) + "/" + name);
      if (found != places_.end()) return found;
    }
    return places_.find(name);
  }

  void patches() {
    const json::value* all = doc_.find("patchedDependencies");
    if (all == nullptr || !all->is_object()) return;
    for (const json::member& m : all->as_object()) {
      graph::patch p;
      p.path = text_of(&m.val);
      for (auto [at, end] = ids_.equal_range(m.name); at != end; ++at) {
        g_.nodes[at->second].record += "\n" + p.path;
        p.nodes.push_back(at->second);
      }
      if (p.nodes.empty()) g_.remainder += m.name + "\n" + json::write_canonical(m.val) + "\n";
      if (!p.path.empty()) g_.patches.push_back(std::move(p));
    }
  }

  const json::object& doc_;
  graph g_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::unordered_multimap<std::string, std::uint32_t> ids_;
};

}  // namespace

result<graph> read_bun(std::string_view text) {
  json::parse_options options;
  options.comments = true;
  const auto doc = json::parse(text, options);
  if (!doc) return fail(errc::CONFIG, doc.error().message);
  if (!doc->is_object()) return fail(errc::CONFIG, "it is no object");
  return reader(doc->as_object()).run();
}

}  // namespace vx::workspace::lockfile
