// What moved between two explanations (cache.md 16): a full outer join on (kind, name). Nothing is evaluated or hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "key/fold.hpp"

namespace vx::key {

enum class change : std::uint8_t { changed, added, removed };
std::string_view change_name(change c) noexcept;

struct component_change {
  component_kind kind;
  std::string name;
  change what;
  std::string before, after;  ///< digests as recorded; "" on the side that lacks it
};

struct component_diff {
  std::vector<component_change> changes;  ///< by kind, then name bytewise
  std::size_t unchanged = 0;
};

/// Both as explain_sink::take() gives them: sorted by (kind, name). Items of one name are paired in their order.
component_diff diff(const std::vector<component>& before, const std::vector<component>& after);

/// A digest for people: of the kinds that hold salted values the first 8 digits only (keys.md 7), others as they are.
std::string shown_digest(component_kind kind, const std::string& digest);

}  // namespace vx::key
