#include <doctest/doctest.h>

#include "base/fs.hpp"
#include "open_workspace.hpp"

using vx::test::has;
using vx::test::temp_dir;

namespace {

/// The root found from a directory, relative to the test's directory; "." for itself, "!..." for a failure.
std::string root_from(const temp_dir& d, const std::string& start) {
  const auto root = vx::workspace::find_root(start.empty() ? d.path() : d / start, vx::test::test_env());
  if (!root) return "!" + std::string(vx::status_name(root.error().code)) + " " + root.error().message;
  if (*root == d.path()) return ".";
  return root->starts_with(d.path() + "/") ? root->substr(d.path().size() + 1) : *root;
}

}  // namespace

TEST_CASE("a member of an npm workspace finds the outer root, also from deep inside") {
  const temp_dir d;
  d.write("package.json", R"({"workspaces": ["packages/*"]})");
  d.write("packages/a/package.json", R"({"name": "a"})");
  d.mkdir("packages/a/src/deep");
  CHECK(root_from(d, "packages/a") == ".");
  CHECK(root_from(d, "packages/a/src/deep") == ".");
  CHECK(root_from(d, "packages") == ".");
  CHECK(root_from(d, "") == ".");
}

TEST_CASE("a package that nobody lists is its own workspace") {
  const temp_dir d;
  d.write("package.json", R"({"workspaces": ["packages/*"]})");
  d.write("tools/x/package.json", R"({"name": "x"})");
  CHECK(root_from(d, "tools/x") == "tools/x");
  d.write("package.json", R"({"workspaces": ["packages/*", "!tools/x", "tools/*"]})");
  CHECK(root_from(d, "tools/x") == "tools/x");
  d.write("package.json", R"({"workspaces": ["tools/*"]})");
  CHECK(root_from(d, "tools/x") == ".");
}

TEST_CASE("an inner directory with its own pnpm file is the root") {
  const temp_dir d;
  d.write("pnpm-workspace.yaml", "packages: ['apps/*']\n");
  d.write("apps/inner/package.json", R"({"name": "inner"})");
  d.write("apps/inner/pnpm-workspace.yaml", "packages: ['libs/*']\n");
  d.write("apps/inner/libs/l/package.json", R"({"name": "l"})");
  CHECK(root_from(d, "apps/inner") == "apps/inner");
  CHECK(root_from(d, "apps/inner/libs/l") == "apps/inner");
}

TEST_CASE("a member that carries a stray workspaces field is outranked by the root that lists both") {
  const temp_dir d;
  d.write("package.json", R"({"workspaces": ["packages/*", "packages/a/lib"]})");
  d.write("packages/a/package.json", R"({"name": "a", "workspaces": ["lib"]})");
  d.write("packages/a/lib/package.json", R"({"name": "lib"})");
  CHECK(root_from(d, "packages/a/lib") == ".");
  d.write("package.json", R"({"workspaces": ["packages/*"]})");
  CHECK(root_from(d, "packages/a/lib") == "packages/a");
}

TEST_CASE("the implied single package claims nothing") {
  const temp_dir d;
  d.write("package.json", R"({"name": "outer"})");
  d.write("inner/package.json", R"({"name": "inner"})");
  CHECK(root_from(d, "inner") == "inner");
  d.mkdir("src");
  CHECK(root_from(d, "src") == ".");
}

TEST_CASE("a workspace file is a hard root and its projects claim by their vx.config") {
  const temp_dir d;
  d.write("vx.workspace.json", R"({"projects": ["crates/*"]})");
  d.write("crates/core/vx.config.json", R"({})");
  d.mkdir("crates/core/src");
  CHECK(root_from(d, "crates/core/src") == ".");
  d.write("crates/core/package.json", R"({"name": "core"})");
  CHECK(root_from(d, "crates/core") == ".");
  d.write("other/package.json", R"({"name": "other"})");
  CHECK(root_from(d, "other") == "other");
}

TEST_CASE("without any candidate the nearest vx.config is a workspace of one project") {
  const temp_dir d;
  d.write("vx.config.json", R"({"name": "top"})");
  d.mkdir("a/b");
  CHECK(root_from(d, "a/b") == ".");
  d.write("a/vx.config.json", R"({"name": "a"})");
  CHECK(root_from(d, "a/b") == "a");
}

TEST_CASE("nothing at or above is refused, naming the start") {
  const temp_dir d;
  d.mkdir("empty");
  const std::string found = root_from(d, "empty");
  CHECK(has(found, "VX_E_NO_WORKSPACE"));
  CHECK(has(found, d / "empty"));
}

TEST_CASE("a start behind a link is resolved first") {
  const temp_dir d;
  d.write("package.json", R"({"workspaces": ["packages/*"]})");
  d.write("packages/a/package.json", R"({"name": "a"})");
  d.mkdir("elsewhere");
  d.symlink("../packages/a", "elsewhere/link");
  CHECK(root_from(d, "elsewhere/link") == ".");
}

TEST_CASE("a broken file on the way is refused with its directory when the search needs it") {
  const temp_dir d;
  d.write("package.json", "{broken");
  d.write("packages/a/package.json", R"({"name": "a"})");
  const std::string found = root_from(d, "packages/a");
  CHECK(has(found, "VX_E_CONFIG"));
  CHECK(has(found, d / "package.json"));
}
