// What a lockfile resolves, whatever its format: importers (project directories) and packages, and who needs whom (keys.md 20).
// A reader is one file here: it fills a graph or refuses, and what it does not understand goes into the remainder.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "workspace/manifest.hpp"

namespace vx::workspace::lockfile {

struct graph {
  struct node {
    std::string id;      ///< unique; members of a cycle are sorted by it
    std::string record;  ///< everything the file says of it
    std::vector<std::uint32_t> needs;
  };
  struct patch {
    std::string path;                  ///< root-relative
    std::vector<std::uint32_t> nodes;  ///< whom it changes; none: everyone
  };
  std::vector<node> nodes;
  std::map<std::string, std::uint32_t, std::less<>> importers;  ///< by directory, "" = the root
  std::vector<patch> patches;
  std::string remainder;  ///< what belongs to no importer and no package

  std::uint32_t add(std::string id, std::string record) {
    nodes.push_back({std::move(id), std::move(record), {}});
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
};

/// "<who> needs <what>, which it does not hold": a lockfile that is not whole.
tl::unexpected<failure> not_held(const graph::node& who, std::string_view what);

/// A project as its manifest tells it, for the format that has no importers of its own.
struct member {
  std::string dir, name;
  dep_maps deps;
};

/// A failure says what is not understood: then the whole file counts for everyone.
result<graph> read_pnpm(std::string_view text);
result<graph> read_npm(std::string_view text);
result<graph> read_bun(std::string_view text);
result<graph> read_yarn(std::string_view text, const std::vector<member>& members);  ///< classic or berry
result<graph> read_yarn_classic(std::string_view text, const std::vector<member>& members);

/// By node: XXH3-128 over the strongly connected component it belongs to and, through their digests, all that component needs.
std::vector<digest128> component_digests(const graph& g);

/// A YAML mapping as a value. A plain scalar that YAML may take for more than text becomes an object, so that `1.0` and `'1.0'`
/// differ; text_of() reads both. Refuses aliases, a second document and duplicate keys.
result<json::value> read_yaml(std::string_view text);
/// The text of a string or plain scalar; "" for anything else.
std::string text_of(const json::value* v);

/// The members of an object but for these, in canonical text.
std::string without(const json::object& from, std::initializer_list<std::string_view> names);
/// Where `name@version` ends its name: at the last '@' that does not open it; npos: nowhere.
std::size_t name_end(std::string_view id) noexcept;

}  // namespace vx::workspace::lockfile
