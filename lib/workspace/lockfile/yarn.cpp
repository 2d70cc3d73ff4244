// yarn.lock of berry: YAML, an entry for each resolution under all the descriptors that lead to it; workspaces are entries like
// any.
#include "base/path.hpp"
#include "base/text.hpp"
#include "workspace/lockfile/graph.hpp"

namespace vx::workspace::lockfile {

namespace {

constexpr std::string_view k_workspace = "@workspace:";

int hex(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && hex(s[i + 1]) >= 0 && hex(s[i + 2]) >= 0) {
      out += static_cast<char>(hex(s[i + 1]) * 16 + hex(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
}

class reader {
 public:
  explicit reader(const json::object& doc) : doc_(doc) {}

  result<graph> run() {
    const json::value* meta = doc_.find("__metadata");
    const auto version = text::parse_uint(text_of(meta == nullptr ? nullptr : meta->get("version")));
    if (!version || *version < 4 || *version > 9) return fail(errc::UNSUPPORTED, "its __metadata version is not known");
    for (const json::member& m : doc_)
      if (m.name != "__metadata") entry(m);
    for (const json::member& m : doc_)
      if (m.name != "__metadata") VX_TRY(edges(m));
    g_.remainder = json::write_canonical(*meta);
    return std::move(g_);
  }

 private:
  void entry(const json::member& m) {
    const std::string resolution = text_of(m.val.get("resolution"));
    const std::uint32_t at = g_.add("p:" + m.name, m.name + "\n" + json::write_canonical(m.val));
    entries_.emplace(m.name, at);
    for (const std::string_view d : text::split(m.name, ',')) {
      const std::string descriptor(text::trim(d));
      by_descriptor_.emplace(descriptor, at);
      by_name_.emplace(descriptor.substr(0, descriptor.find('@', 1)), at);
    }
    if (const std::size_t cut = resolution.find(k_workspace); cut != std::string::npos) {
      const std::string dir = resolution.substr(cut + k_workspace.size());
      g_.importers.emplace(dir == "." ? std::string() : dir, at);
    }
    if (const std::size_t cut = resolution.find("@patch:"); cut != std::string::npos) patches(resolution.substr(cut), at);
  }

  /// "...#./a.patch&optional!builtin<x>::version=1&hash=...&locator=root%40workspace%3A."
  void patches(std::string_view text, std::uint32_t at) {
    const std::size_t begin = text.find('#'), end = text.find("::");
    if (begin == std::string_view::npos) return;
    std::string bound;
    if (const std::size_t cut = text.find("locator="); cut != std::string_view::npos) {
      const std::string locator = decoded(text.substr(cut + 8, text.find('&', cut) - cut - 8));
      if (const std::size_t w = locator.find(k_workspace); w != std::string::npos)
        bound = locator.substr(w + k_workspace.size());
    }
    for (std::string_view part :
         text::split(text.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1), '&')) {
      if (part.starts_with("optional!")) part.remove_prefix(9);
      std::string file = decoded(part);
      if (file.find('<') != std::string::npos || file.empty()) continue;  // built in
      file = file.starts_with("~/") ? file.substr(2) : path::join(bound, file);
      graph::patch p;
      p.nodes.push_back(at);
      if (path::normalize_within(file, p.path)) g_.patches.push_back(std::move(p));
    }
  }

  status edges(const json::member& m) {
    const std::uint32_t at = entries_.at(m.name);
    for (const std::string_view map : {"dependencies", "devDependencies", "optionalDependencies"}) {
      const json::value* deps = m.val.get(map);
      if (deps == nullptr || !deps->is_object()) continue;
      for (const json::member& dep : deps->as_object()) {
        const std::string range = text_of(&dep.val);
        auto found = by_descriptor_.find(dep.name + "@" + range);
        if (found == by_descriptor_.end()) found = by_descriptor_.find(dep.name + "@npm:" + range);
        if (found != by_descriptor_.end()) {
          g_.nodes[at].needs.push_back(found->second);
          continue;
        }
        // `resolutions` lead a descriptor elsewhere: to one of this name.
        const auto [from, to] = by_name_.equal_range(dep.name);
        if (from == to) return not_held(g_.nodes[at], dep.name + "@" + range);
        for (auto it = from; it != to; ++it) g_.nodes[at].needs.push_back(it->second);
      }
    }
    return {};
  }

  const json::object& doc_;
  graph g_;
  std::unordered_map<std::string, std::uint32_t> entries_, by_descriptor_;
  std::unordered_multimap<std::string, std::uint32_t> by_name_;
};

}  // namespace

result<graph> read_yarn(std::string_view text, const std::vector<member>& members) {
  const bool berry = text.starts_with("__metadata:") || text.find("\n__metadata:") != std::string_view::npos;
  if (!berry) return read_yarn_classic(text, members);
  VX_TRY_LET(const json::value doc, read_yaml(text));
  return reader(doc.as_object()).run();
}

}  // namespace vx::workspace::lockfile
