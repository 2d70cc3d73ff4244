// One YAML document as nodes that refer to each other by index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::workspace::yaml {

inline constexpr std::uint32_t k_no_node = UINT32_MAX;

/// An alias is the index of its anchor's node, so it costs nothing however often it is repeated.
struct node {
  enum class kind : std::uint8_t { scalar, sequence, mapping } what = kind::scalar;
  bool plain = false;  ///< an unquoted scalar: subject to type resolution
  std::string text;
  std::vector<std::uint32_t> items;  ///< mapping: key, value, key, value ...
};

struct document {
  std::vector<node> nodes;
  std::uint32_t root = k_no_node;
  bool aliases = false;  ///< a node may be reached by more than one way
  bool more = false;     ///< another document follows
  const node& at(std::uint32_t i) const { return nodes[i]; }
};

/// Reads the first document; an error text with position, or "".
std::string read(std::string_view text, document& doc);

}  // namespace vx::workspace::yaml
