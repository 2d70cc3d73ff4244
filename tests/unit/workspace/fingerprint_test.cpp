#include <doctest/doctest.h>

#include "open_workspace.hpp"

using vx::test::has;
using vx::test::temp_dir;
using vx::workspace::read_fingerprint;

namespace {

std::string files(const temp_dir& d) {
  const auto f = read_fingerprint(d.path(), false);
  if (!f) return "!" + std::string(vx::status_name(f.error().code)) + " " + f.error().message;
  std::string out;
  for (const auto& [name, text] : f->files) out += (out.empty() ? "" : " ") + name + "=" + text;
  return out;
}

}  // namespace

TEST_CASE("the fingerprint folds the root files that exist, in their order") {
  const temp_dir d;
  CHECK(files(d).empty());
  const auto none = read_fingerprint(d.path(), false)->digest;
  for (const char* name : {"bunfig.toml", ".npmrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bun.lockb", "yarn.lock",
                           "npm-shrinkwrap.json", "package-lock.json", "pnpm-lock.yaml"}) {
    d.write(name, "1");
  }
  d.write("package.json", "{}");
  d.write("Cargo.lock", "x");
  d.write("vx-lock.json", "x");
  d.write("vx.workspace.json", "{}");
  d.write("packages/a/pnpm-lock.yaml", "inner");
  CHECK(files(d) ==
        "pnpm-lock.yaml=1 package-lock.json=1 npm-shrinkwrap.json=1 yarn.lock=1 bun.lockb=1 pnpm-workspace.yaml=1 "
        ".yarnrc.yml=1 .npmrc=1 "
        "bunfig.toml=1");
  const auto all = read_fingerprint(d.path(), false)->digest;
  CHECK_FALSE(all == none);
  d.write("packages/a/pnpm-lock.yaml", "edited");
  CHECK(read_fingerprint(d.path(), false)->digest == all);
  d.write("yarn.lock", "2");
  CHECK_FALSE(read_fingerprint(d.path(), false)->digest == all);
}

TEST_CASE("a lockfile may be a link, a link to nothing is no lockfile") {
  const temp_dir d;
  d.write("shared/lock", "v1");
  d.symlink("shared/lock", "pnpm-lock.yaml");
  d.symlink("nowhere", "yarn.lock");
  CHECK(files(d) == "pnpm-lock.yaml=v1");
}

TEST_CASE("an unreadable root file refuses the run by name") {
  const temp_dir d;
  d.mkdir("yarn.lock");
  CHECK(has(files(d), "!VX_E_FS"));
  CHECK(has(files(d), "yarn.lock"));
}

TEST_CASE("patches that bun's lockfile lists are part of it, sorted, missing ones skipped") {
  const temp_dir d;
  const char* lock =
      R"({"lockfileVersion": 1, "patchedDependencies": {"z@1": "patches/b.patch", "a@1": "patches/a.patch", "n@1": "patches/none",},})";
  d.write("bun.lock", lock);
  d.write("patches/a.patch", "A");
  d.write("patches/b.patch", "B");
  d.write("patches/other.patch", "O");
  CHECK(files(d) == "bun.lock=" + std::string(lock) + " patches/a.patch=A patches/b.patch=B");
  d.write("bun.lock", R"({"patchedDependencies": )");
  CHECK(has(files(d), "!VX_E_CONFIG bun.lock:"));
  d.write("bun.lock", "{ not json, but names no patch");
  CHECK(has(files(d), "bun.lock={ not json"));
}
