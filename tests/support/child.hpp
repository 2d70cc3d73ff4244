// Test binaries re-execute themselves as child fixtures: `unit-exec --vx-child <name> args...` runs the registered function.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vx::test {

using child_fn = int (*)(const std::vector<std::string>& args);
/// Registers a child fixture; use at namespace scope: `static const bool reg = register_child("sleepy", fn);`
bool register_child(const std::string& name, child_fn fn);
/// The exit code when argv asked for a child fixture, else nullopt.
std::optional<int> run_child_if_asked(int argc, char** argv);
/// Absolute path of this executable.
std::string self_path();

}  // namespace vx::test
