// Broken on purpose: each name switches one rule off, so that tests/conformance/mutate.sh can see its test fail. Only a build
// with -Dmutations=true knows them (VX_MUTATION names the one that is on); every other build compiles them away.
#pragma once

#ifdef VX_MUTATIONS
#include <cstdlib>
#include <cstring>
#endif

namespace vx {

#ifdef VX_MUTATIONS
inline bool mutated(const char* name) noexcept {
  const char* on = std::getenv("VX_MUTATION");
  return on != nullptr && std::strcmp(on, name) == 0;
}
#else
constexpr bool mutated(const char*) noexcept { return false; }
#endif

}  // namespace vx
