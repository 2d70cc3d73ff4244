#include "base/environment.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "support/temp_dir.hpp"

using namespace vx;

TEST_CASE("a snapshot keeps the first of repeated names and drops what has no name") {
  const char* pairs[] = {"A=1", "A=2", "B=", "=C:=x", "novalue", "D=a=b", nullptr};
  const environment env = environment::of_pairs(pairs);
  CHECK(env.vars().size() == 3);
  CHECK(env.get("A") == "1");
  REQUIRE(env.find("B") != nullptr);
  CHECK(env.find("B")->empty());
  CHECK(env.get("D") == "a=b");
  CHECK(env.find("C") == nullptr);
  CHECK(env.get("nope", "fallback") == "fallback");
  CHECK(env.to_block() == std::vector<std::string>{"A=1", "B=", "D=a=b"});
  CHECK(environment::of_pairs(nullptr).vars().empty());
}

TEST_CASE("changing a snapshot changes the snapshot only") {
  environment env = environment::of_process();
  REQUIRE(env.find("PATH") != nullptr);
  env.set("VX_UNIT_NEVER_SET", "x");
  CHECK(std::getenv("VX_UNIT_NEVER_SET") == nullptr);
  env.unset("VX_UNIT_NEVER_SET");
  env.unset("VX_UNIT_NEVER_SET");
  CHECK(env.find("VX_UNIT_NEVER_SET") == nullptr);
}

TEST_CASE("a program is an executable file on an absolute entry of PATH") {
  const test::temp_dir dir;
  dir.write("bin/tool", "#!/bin/sh\n", 0755);
  dir.write("bin2/tool", "#!/bin/sh\n", 0755);
  dir.write("bin/data", "x", 0644);
  dir.mkdir("bin/folder");
  dir.symlink("tool", "bin/link");
  dir.symlink("nowhere", "bin/dangling");
  environment env;
  CHECK(find_program(env, "tool").empty());
  env.set("PATH", "/nonexistent-vx::.:" + (dir / "bin") + ":" + (dir / "bin2"));
  CHECK(find_program(env, "tool") == dir / "bin/tool");
  CHECK(find_program(env, "link") == dir / "bin/link");
  CHECK(find_program(env, "folder").empty());
  CHECK(find_program(env, "dangling").empty());
  CHECK(find_program(env, "absent").empty());
  CHECK(find_program(env, "").empty());
  CHECK(find_program(env, "./tool") == "./tool");
  CHECK(find_program(env, "/x/y") == "/x/y");
  CHECK(find_program(env, "data").empty());
  env.set("PATH", (dir / "bin2/"));
  CHECK(find_program(env, "tool") == dir / "bin2/tool");
}
