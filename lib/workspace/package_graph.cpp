#include "workspace/package_graph.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/path.hpp"
#include "workspace/semver.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;

bool is_path(std::string_view spec) noexcept {
  return spec.starts_with("./") || spec.starts_with("../") || spec.starts_with('/') || spec == "." || spec == "..";
}

/// "name@range" or "name" as an alias spells it; the '@' of a scope is no separator.
std::pair<std::string_view, std::string_view> split_alias(std::string_view text) noexcept {
  const auto at = text.rfind('@');
  if (at == std::string_view::npos || at == 0) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

class linker {
 public:
  linker(std::span<const package> packages, const catalog_map& catalogs, std::string_view root)
      : packages_(packages), catalogs_(catalogs), root_(root) {
    by_name_.reserve(packages.size());
    by_dir_.reserve(packages.size());
    versions_.resize(packages.size());
    for (id i = 0; i < packages.size(); ++i) {
      if (packages[i].linked) by_name_.emplace(packages[i].name, i);
      by_dir_.emplace(packages[i].dir, i);
      versions_[i] = semver::parse_version(packages[i].version);
    }
  }

  /// The package that an entry of `from` links, if any.
  std::optional<id> resolve(id from, std::string_view key, std::string_view spec) const {
    if (spec.starts_with("catalog:")) {
      std::string_view catalog = spec.substr(8);
      if (catalog.empty()) catalog = "default";
      const auto it = catalogs_.find(catalog);
      if (it == catalogs_.end()) return named(key);
      const auto entry = it->second.find(key);
      if (entry == it->second.end() || entry->second.starts_with("catalog:")) return named(key);
      return direct(from, key, entry->second);
    }
    return direct(from, key, spec);
  }

  std::optional<id> named(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? std::nullopt : std::optional<id>(it->second);
  }

 private:
  std::optional<id> direct(id from, std::string_view key, std::string_view spec) const {
    if (spec.starts_with("workspace:")) return workspace(from, key, spec.substr(10));
    for (const std::string_view scheme : {"file:", "link:", "portal:"}) {
      if (spec.starts_with(scheme)) return at(from, spec.substr(scheme.size()));
    }
    if (is_path(spec)) return at(from, spec);
    if (spec.starts_with("npm:")) {
      const std::string_view rest = spec.substr(4);
      // A bare range after "npm:" speaks of the key's package.
      if (semver::range::parse(rest)) return satisfied(key, rest);
      const auto [name, range] = split_alias(rest);
      return satisfied(name, range);
    }
    return satisfied(key, spec);
  }

  std::optional<id> workspace(id from, std::string_view key, std::string_view rest) const {
    if (rest.empty() || rest == "*" || rest == "^" || rest == "~") return named(key);
    if (is_path(rest)) return at(from, rest);
    if (semver::range::parse(rest)) return satisfied(key, rest);
    const auto [name, range] = split_alias(rest);
    if (!range.empty()) return range == "^" || range == "~" ? named(name) : satisfied(name, range);
    return rest.find('/') != std::string_view::npos ? at(from, rest) : std::nullopt;
  }

  std::optional<id> satisfied(std::string_view name, std::string_view range) const {
    const auto target = named(name);
    if (!target || range.empty() || range == "*") return target;
    const auto& version = versions_[*target];
    if (!version) return std::nullopt;
    const auto parsed = semver::range::parse(range);
    return parsed && parsed->contains(*version) ? target : std::nullopt;
  }

  std::optional<id> at(id from, std::string_view where) const {
    while (where.starts_with("//")) where.remove_prefix(1);
    std::string dir;
    if (where.starts_with('/')) {
      const std::string absolute = path::normalize(where);
      if (!path::is_within(absolute, root_)) return std::nullopt;
      dir = path::relative_to(absolute, root_);
    } else if (!path::normalize_within(path::join(packages_[from].dir, where), dir)) {
      return std::nullopt;
    }
    if (dir == ".") dir.clear();
    const auto it = by_dir_.find(dir);
    return it == by_dir_.end() ? std::nullopt : std::optional<id>(it->second);
  }

  std::span<const package> packages_;
  const catalog_map& catalogs_;
  std::string_view root_;
  std::unordered_map<std::string_view, id> by_name_, by_dir_;
  std::vector<std::optional<semver::version>> versions_;
};

using pairs = std::vector<std::pair<std::string, std::string>>;

bool names(const pairs& map, std::string_view key) {
  return std::any_of(map.begin(), map.end(), [&](const auto& e) { return e.first == key; });
}

void sort_unique(std::vector<id>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

const pairs& field(const dep_maps& deps, dep_kind k) { return deps[static_cast<std::size_t>(k)]; }

}  // namespace

package_edges link_packages(std::span<const package> packages, const catalog_map& catalogs, std::string_view root) {
  const linker link(packages, catalogs, root);
  package_edges edges;
  edges.order.resize(packages.size());
  std::vector<std::pair<id, id>> peers;  // (package, peer): the order of trial
  for (id from = 0; from < packages.size(); ++from) {
    const dep_maps* deps = packages[from].deps;
    if (deps == nullptr) continue;
    auto& out = edges.order[from];
    const auto take = [&](const std::string& key, const std::string& spec) {
      if (const auto to = link.resolve(from, key, spec); to && *to != from) out.push_back(*to);
    };
    for (const auto& [key, spec] : field(*deps, dep_kind::dev)) take(key, spec);
    const pairs& optional = field(*deps, dep_kind::optional);
    for (const auto& [key, spec] : optional) take(key, spec);
    for (const auto& [key, spec] : field(*deps, dep_kind::plain)) {
      if (optional.empty() || !names(optional, key)) take(key, spec);
    }
    const std::size_t first = peers.size();
    for (const auto& [key, spec] : field(*deps, dep_kind::peer)) {
      const auto to = link.named(key);
      if (!to || *to == from) continue;
      const bool installed =
          names(field(*deps, dep_kind::plain), key) || names(field(*deps, dep_kind::dev), key) || names(optional, key);
      if (!installed) peers.emplace_back(from, *to);
    }
    std::sort(peers.begin() + static_cast<std::ptrdiff_t>(first), peers.end());
    sort_unique(out);
  }
  add_acyclic(edges.order, peers);
  for (auto& list : edges.order) sort_unique(list);
  edges.reach = edges.order;
  for (const auto& [from, to] : peers) edges.reach[from].push_back(to);
  for (const auto& [from, to] : peers) sort_unique(edges.reach[from]);
  return edges;
}

}  // namespace vx::workspace
