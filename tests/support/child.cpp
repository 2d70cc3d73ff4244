#include "support/child.hpp"

#include <limits.h>
#include <unistd.h>

#include <cstring>
#include <map>

namespace vx::test {
namespace {
std::map<std::string, child_fn>& registry() {
  static std::map<std::string, child_fn> map;
  return map;
}
}  // namespace

bool register_child(const std::string& name, child_fn fn) {
  registry()[name] = fn;
  return true;
}

std::optional<int> run_child_if_asked(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], "--vx-child") != 0) return std::nullopt;
  const auto found = registry().find(argv[2]);
  if (found == registry().end()) return 99;
  return found->second(std::vector<std::string>(argv + 3, argv + argc));
}

std::string self_path() {
  char buffer[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
}

}  // namespace vx::test
