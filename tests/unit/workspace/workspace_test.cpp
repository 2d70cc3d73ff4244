#include "workspace/workspace.hpp"

#include <doctest/doctest.h>

#include "open_workspace.hpp"

using namespace vx::workspace;
using vx::test::temp_dir;

namespace {

/// A workspace value without files: projects at directories, named by them.
vx::workspace::workspace of_dirs(std::vector<std::string> dirs) {
  vx::workspace::workspace ws;
  ws.root = "/nowhere";
  for (std::string& d : dirs) {
    project p;
    p.name = d.empty() ? "root" : d;
    p.dir = std::move(d);
    p.loaded = true;
    ws.projects.push_back(std::move(p));
  }
  ws.index();
  return ws;
}

std::string nested(const vx::workspace::workspace& ws, const std::string& name) {
  const auto list = ws.nested_of(ws.by_name.at(name));
  return list == nullptr ? "-" : vx::test::joined(*list);
}

std::string owner(const vx::workspace::workspace& ws, const std::string& path) {
  const auto p = ws.owner_of(path);
  return p ? ws.projects[*p].name : "-";
}

}  // namespace

TEST_CASE("nested projects are listed by their own paths, siblings with a common prefix are not nested") {
  const auto ws = of_dirs({"foo", "foo-utils", "foo/nested", "foo/nested/deep", "foo.x", "bar", "", "a*b", "a*b/c"});
  CHECK(nested(ws, "foo") == "nested nested/deep");
  CHECK(nested(ws, "foo/nested") == "deep");
  CHECK(nested(ws, "foo-utils") == "-");
  CHECK(nested(ws, "bar") == "-");
  CHECK(nested(ws, "a*b") == "c");
  CHECK(nested(ws, "root") == "a*b a*b/c bar foo foo-utils foo.x foo/nested foo/nested/deep");
}

TEST_CASE("a file belongs to the deepest project that holds it") {
  const auto ws = of_dirs({"foo", "foo-utils", "foo/nested"});
  CHECK(owner(ws, "foo/a") == "foo");
  CHECK(owner(ws, "foo/nested/a/b") == "foo/nested");
  CHECK(owner(ws, "foo/nestedx") == "foo");
  CHECK(owner(ws, "foo-utils/x") == "foo-utils");
  CHECK(owner(ws, "foo") == "foo");
  CHECK(owner(ws, "other") == "-");
  CHECK(owner(of_dirs({"", "a"}), "other") == "root");
  CHECK(owner(of_dirs({"", "a"}), "") == "root");
}

TEST_CASE("the current project is the deepest that holds the directory, through a link too") {
  const temp_dir d;
  d.write("pnpm-workspace.yaml", "packages: ['packages/*', 'packages/a/inner']\n");
  d.write("packages/a/package.json", R"({"name": "a"})");
  d.write("packages/a/inner/package.json", R"({"name": "inner"})");
  d.mkdir("packages/a/inner/src");
  d.mkdir("docs");
  d.symlink("packages/a/inner", "shortcut");
  d.write("real/z/package.json", R"({"name": "z"})");
  d.symlink("../real/z", "packages/z");
  d.mkdir("real/z/src");
  const auto l = vx::test::open_at(d.path());
  REQUIRE(l);
  const auto& ws = (*l)->ws();
  const auto current = [&](const std::string& at) {
    const auto p = ws.current_project(d / at);
    return p ? ws.projects[*p].name : "-";
  };
  CHECK(current("packages/a") == "a");
  CHECK(current("packages/a/inner/src") == "inner");
  CHECK(current("shortcut") == "inner");
  CHECK(current("docs") == "-");
  CHECK(current("packages/z/src") == "z");
  CHECK(current("real/z") == "z");
}

TEST_CASE("a project is named in full, as the root, or by the unscoped half of exactly one") {
  auto ws = of_dirs({"@s/cart", "@t/two", "@u/two", "plain", "@s/plain"});
  const auto found = [&](const char* name) {
    const auto p = ws.find_project(name);
    return p ? ws.projects[*p].name : "-";
  };
  CHECK(found("@s/cart") == "@s/cart");
  CHECK(found("cart") == "@s/cart");
  CHECK(found("two") == "-");
  CHECK(found("plain") == "plain");
  CHECK(found("//") == "-");
  CHECK(found("") == "-");
  CHECK(found("car") == "-");
  ws = of_dirs({"", "a"});
  CHECK(found("//") == "root");
}
