// Which workspace packages a manifest's entries link (config.md 3). Pure: no file system.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workspace/manifest.hpp"
#include "workspace/pnpm_yaml.hpp"

namespace vx::workspace {

struct package {
  std::string_view name, version, dir;  ///< dir is root-relative
  bool linked = false;                  ///< may be the target of name-and-range specs
  const dep_maps* deps = nullptr;       ///< null: no manifest
};

struct package_edges {
  std::vector<std::vector<std::uint32_t>> order, reach;  ///< sorted, without self-references
};

/// `root` is the absolute root, for absolute path specs. Near-linear in packages and entries.
package_edges link_packages(std::span<const package> packages, const catalog_map& catalogs, std::string_view root);

/// Splits candidate edges (in order of trial) into those that close no cycle over `order` and those that do; accepted ones are
/// added to `order` (unsorted). Returns one flag per candidate.
std::vector<bool> add_acyclic(std::vector<std::vector<std::uint32_t>>& order,
                              std::span<const std::pair<std::uint32_t, std::uint32_t>> candidates);

/// Strongly connected components of `adjacency`: a component number per node, and the number of components. No recursion.
struct components {
  std::vector<std::uint32_t> of;
  std::uint32_t count = 0;
};
components strong_components(const std::vector<std::vector<std::uint32_t>>& adjacency);

}  // namespace vx::workspace
