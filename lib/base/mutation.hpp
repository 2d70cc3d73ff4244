// Rules that a test build can switch off one at a time, to prove that the tests notice their absence. Only with the meson option
// `mutations`; otherwise every question is `false` at compile time and the rule can't be switched.
#pragma once

#include <string_view>

#ifdef VX_MUTATIONS
#include <cstdlib>
#endif

namespace vx::mutation {

#ifdef VX_MUTATIONS
/// True when the environment's VX_MUTATION, names separated by commas, holds `rule`.
inline bool on(std::string_view rule) {
  const char* text = std::getenv("VX_MUTATION");
  for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == rule) return true;
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return false;
}
#else
constexpr bool on(std::string_view) noexcept { return false; }
#endif

}  // namespace vx::mutation
