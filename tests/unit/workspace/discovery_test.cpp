#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/fs.hpp"
#include "open_workspace.hpp"

using vx::test::has;
using vx::test::notices_of;
using vx::test::projects_of;
using vx::test::small_workspace;
using vx::test::temp_dir;

namespace {

void package(const temp_dir& d, const std::string& dir, const std::string& name) {
  d.write(dir + "/package.json", "{\"name\": \"" + name + "\"}");
}
void pnpm(const temp_dir& d, const std::string& list) { d.write("pnpm-workspace.yaml", "packages: [" + list + "]\n"); }

std::string g_fault_path;
int g_fault_errno = 0;
int fault_at_path(const char*, const char* path) { return g_fault_path == path ? g_fault_errno : 0; }

/// Fails every call on one path, as it is handed to the system, while it lives.
struct fault {
  fault(std::string path, int error) {
    g_fault_path = std::move(path);
    g_fault_errno = error;
    vx::fs::set_fault_hook(fault_at_path);
  }
  ~fault() { vx::fs::set_fault_hook(nullptr); }
};

}  // namespace

TEST_CASE("members come from where each package manager writes them") {
  struct row {
    const char *file, *text;
  };
  const row rows[] = {
      {"pnpm-workspace.yaml", "packages:\n  - packages/*\n"},
      {"package.json", R"({"workspaces": ["packages/*"]})"},
      {"package.json", R"({"workspaces": {"packages": ["./packages/*/"]}})"},
      {"package.json", R"({"workspaces": ["packages//a", "packages/b"]})"},
      {"vx.workspace.json", R"({"projects": ["packages/*"]})"},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    const temp_dir d;
    d.write(r.file, r.text);
    package(d, "packages/a", "a");
    package(d, "packages/b", "b");
    d.write("packages/a/vx.config.json", "{}");
    d.write("packages/b/vx.config.json", "{}");
    CHECK(projects_of(d) == "a@packages/a b@packages/b");
  }
}

TEST_CASE("a pnpm file without a list leaves the decision to package.json") {
  for (const char* yaml : {"catalog: {a: '1'}\n", "packages: []\n", "packages:\n", ""}) {
    CAPTURE(yaml);
    const temp_dir d;
    d.write("pnpm-workspace.yaml", yaml);
    d.write("package.json", R"({"workspaces": ["packages/*"]})");
    package(d, "packages/a", "a");
    CHECK(projects_of(d) == "a@packages/a");
  }
}

TEST_CASE("a package.json without workspaces is a single project") {
  const temp_dir d;
  package(d, ".", "only");
  CHECK(projects_of(d) == "only@");
  d.write("package.json", "{}");
  CHECK(projects_of(d).empty());
}

TEST_CASE("misshapen member files are refused by file and field") {
  struct row {
    const char *file, *text, *say;
  };
  const row rows[] = {
      {"package.json", "{", "package.json:1:"},
      {"package.json", "[]", "package.json must hold a JSON object"},
      {"package.json", R"({"workspaces": "packages/*"})", "package.json: `workspaces` must be an array of strings"},
      {"package.json", R"({"workspaces": [1]})", "package.json: `workspaces` must be an array of strings"},
      {"package.json", R"({"workspaces": {"packages": {}}})",
       "package.json: `workspaces.packages` must be an array of strings"},
      {"pnpm-workspace.yaml", "packages: x\n", "pnpm-workspace.yaml: `packages` must be an array of strings"},
      {"pnpm-workspace.yaml", "- a\n", "pnpm-workspace.yaml must be a mapping"},
      {"pnpm-workspace.yaml", "packages: ['a\n", "pnpm-workspace.yaml does not parse"},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    const temp_dir d;
    d.write(r.file, r.text);
    const std::string said = projects_of(d);
    CHECK(has(said, "!VX_E_CONFIG"));
    CHECK(has(said, r.say));
  }
}

TEST_CASE("the member dialect: wildcards, brace sets, classes, exclusions") {
  struct row {
    const char *list, *expected;
  };
  const row rows[] = {
      {"'packages/*'", "a ab b test"},
      {"'packages/a*'", "a ab"},
      {"'packages/?'", "a b"},
      {"'packages/[ab]'", "a b"},
      {"'packages/{a,ab}'", "a ab"},
      {"'{packages/a,deep/x/y}'", "a y"},
      {"'packages/*', '!packages/a'", "ab b test"},
      {"'!packages/a', 'packages/*'", "ab b test"},
      {"'packages/*', '!**/test/**'", "a ab b"},
      {"'packages/*', '!packages/a*'", "b test"},
      {"'**'", "a ab b bracket in-test test y"},
      {"'**', '!packages'", "bracket y"},
      {"'deep/**'", "y"},
      {"'deep/*/*'", "y"},
      {"'packages/**'", "a ab b in-test test"},
      {"'app/\\[id]'", "bracket"},
      {"'.hidden/*'", "h"},
      {"'packages/none'", ""},
      {"'nowhere/*'", ""},
  };
  const temp_dir d;
  for (const char* name : {"a", "b", "ab", "test"}) package(d, std::string("packages/") + name, name);
  package(d, "packages/test/in-test", "in-test");
  package(d, "deep/x/y", "y");
  package(d, "app/[id]", "bracket");
  package(d, ".hidden/h", "h");
  package(d, "packages/.dot", "dot");
  package(d, "packages/node_modules/nm", "nm");
  package(d, "node_modules/top", "top");
  package(d, ".vx/v", "v");
  d.write("packages/file", "no directory");
  for (const row& r : rows) {
    CAPTURE(r.list);
    pnpm(d, r.list);
    const auto l = vx::test::open_at(d.path());
    REQUIRE(l);
    CHECK(vx::test::joined((*l)->ws().project_names()) == r.expected);
  }
}

TEST_CASE("members outside the root and extended globs are refused by entry and field") {
  struct row {
    const char *list, *say;
  };
  const row rows[] = {
      {"'../ext/*'", "../ext/*"},
      {"'/abs/x'", "/abs/x"},
      {"'packages/../../x'", "packages/../../x"},
      {"'packages/!(a|b)'", "!packages/a"},
      {"'packages/@(a|b)'", "packages/{a,b}"},
      {"'packages/+(a)'", "packages/+(a)"},
  };
  for (const row& r : rows) {
    CAPTURE(r.list);
    const temp_dir d;
    pnpm(d, r.list);
    const std::string said = projects_of(d);
    CHECK(has(said, "!VX_E_CONFIG pnpm-workspace.yaml: `packages` "));
    CHECK(has(said, r.say));
  }
  const temp_dir d;
  pnpm(d, "'../ext'");
  CHECK(has(projects_of(d), d.path()));
  pnpm(d, "'packages/*', '!../ext'");
  package(d, "packages/a", "a");
  CHECK(projects_of(d) == "a@packages/a");
}

TEST_CASE("links to members are found by plain globs and not followed under a globstar") {
  const temp_dir d;
  package(d, "real/a", "a");
  d.mkdir("packages");
  d.symlink("../real/a", "packages/linked");
  pnpm(d, "'packages/*'");
  CHECK(projects_of(d) == "a@packages/linked");
  pnpm(d, "'packages/**'");
  CHECK(projects_of(d).empty());
  pnpm(d, "'packages/*', 'real/*'");
  CHECK(projects_of(d) == "a@real/a");
  d.symlink("loop", "packages/loop");
  d.symlink("../packages", "packages/up");
  CHECK(projects_of(d) == "a@real/a");
  d.symlink("real", "through");
  pnpm(d, "'through/*', 'real/*'");
  CHECK(projects_of(d) == "a@real/a");
}

TEST_CASE("a linked worktree inside the tree is skipped, a submodule is not") {
  const temp_dir d;
  pnpm(d, "'**'");
  package(d, "packages/a", "a");
  d.sh(
      "git init -q . && git -c user.name=t -c user.email=t@t add -A && git -c user.name=t -c user.email=t@t commit -qm x && "
      "git worktree add -q trees/one 2>/dev/null");
  CHECK(projects_of(d) == "a@packages/a");
  pnpm(d, "'packages/*', 'trees/*/packages/*'");
  CHECK(projects_of(d) == "a@packages/a");
  package(d, "sub", "sub");
  d.write("sub/.git", "gitdir: ../.git/modules/sub\n");
  d.mkdir(".git/modules/sub");
  pnpm(d, "'packages/*', 'sub'");
  CHECK(projects_of(d) == "a@packages/a sub@sub");
}

TEST_CASE("a starred directory with a config and no manifest is skipped and reported") {
  const temp_dir d;
  pnpm(d, "'packages/*'");
  d.write("packages/c/vx.config.json", "{}");
  CHECK(projects_of(d).empty());
  CHECK(has(notices_of(d), "packages/c"));
  CHECK(has(notices_of(d), "`projects`"));
  d.write("vx.workspace.json", R"({"projects": ["packages/c"]})");
  CHECK(projects_of(d) == "packages/c@packages/c");
  CHECK(notices_of(d).empty());
}

TEST_CASE("an unsearchable directory is skipped below a star and refused elsewhere") {
  const temp_dir d;
  package(d, "packages/a", "a");
  package(d, "packages/secret", "secret");
  {
    pnpm(d, "'packages/*'");
    const fault f("packages/secret/package.json", EACCES);
    CHECK(projects_of(d) == "a@packages/a");
    CHECK(has(notices_of(d), "packages/secret is skipped"));
  }
  {
    pnpm(d, "'packages/**'");
    const fault f("packages/secret", EACCES);
    CHECK(has(projects_of(d), "!VX_E_FS"));
    CHECK(has(projects_of(d), "packages/secret"));
  }
  {
    pnpm(d, "'packages/*'");
    const fault f("packages", EACCES);
    CHECK(has(projects_of(d), "!VX_E_FS"));
  }
}

TEST_CASE("an unreadable manifest is refused by path") {
  const temp_dir d;
  pnpm(d, "'packages/*'");
  d.mkdir("packages/a/package.json");
  CHECK(has(projects_of(d), "!VX_E_FS"));
  CHECK(has(projects_of(d), "packages/a/package.json"));
}

TEST_CASE("out of descriptors is refused with the advice, never an empty workspace") {
  const temp_dir d;
  pnpm(d, "'packages/*'");
  package(d, "packages/a", "a");
  for (const char* path : {"packages", "packages/a", "packages/a/package.json"}) {
    CAPTURE(path);
    const fault f(path, EMFILE);
    CHECK(has(projects_of(d), "!VX_E_FDS"));
    CHECK(has(projects_of(d), "ulimit -n 4096"));
  }
}

TEST_CASE("names of manifests are checked, nameless manifests skipped") {
  struct row {
    const char *manifest, *say;
  };
  const row rows[] = {
      {R"({"name": 1})", "`name` must be a string"}, {R"({"name": ""})", "`name` is empty"},
      {R"({"name": " a"})", "white space"},          {R"({"name": "a#b"})", "contains '#'"},
      {"{", "packages/x/package.json:1:"},           {"[]", "must hold a JSON object"},
      {R"({"name": "*"})", "cannot name a project"},
  };
  for (const row& r : rows) {
    CAPTURE(r.manifest);
    const temp_dir d;
    pnpm(d, "'packages/*'");
    d.write("packages/x/package.json", r.manifest);
    CHECK(has(projects_of(d), "!VX_E_CONFIG"));
    CHECK(has(projects_of(d), "packages/x/package.json"));
    CHECK(has(projects_of(d), r.say));
  }
  const temp_dir d;
  pnpm(d, "'packages/*'");
  d.write("packages/x/package.json", R"({"private": true})");
  CHECK(projects_of(d).empty());
  d.write("packages/x/package.json", "\xEF\xBB\xBF{\"name\": \"first\", \"name\": \"last\"}");
  CHECK(projects_of(d) == "last@packages/x");
}

TEST_CASE("projects without a package manager") {
  const temp_dir d;
  d.write("vx.workspace.json", R"({"projects": ["crates/*", "tools/gen"]})");
  d.write("crates/core/vx.config.json", R"({"tasks": {"build": {"exec": {"command": "true"}}}})");
  d.write("crates/app/vx.config.jsonc", R"({"name": "the-app"})");
  d.mkdir("crates/empty");
  d.write("tools/gen/vx.config.json", "{}");
  d.write("tools/gen/package.json", R"({"name": "gen"})");
  CHECK(projects_of(d) == "crates/core@crates/core gen@tools/gen the-app@crates/app");
  const auto l = vx::test::open_at(d.path());
  REQUIRE(l);
  const auto& ws = (*l)->ws();
  CHECK_FALSE(ws.projects[0].has_manifest);
  CHECK(ws.projects[0].loaded);
  CHECK_FALSE(ws.projects[1].linked_member);
  CHECK(ws.package_manager.empty());
}

TEST_CASE("a literal project without a config is refused, a glob without one is silent") {
  const temp_dir d;
  d.write("vx.workspace.json", R"({"projects": ["tools/gne"]})");
  CHECK(has(projects_of(d), "!VX_E_CONFIG"));
  CHECK(has(projects_of(d), "tools/gne"));
  d.mkdir("tools/gne");
  CHECK(has(projects_of(d), "tools/gne"));
  package(d, "tools/gne", "gne");
  CHECK(has(projects_of(d), "!VX_E_CONFIG"));
  pnpm(d, "'tools/*'");
  CHECK(projects_of(d) == "gne@tools/gne");
  d.write("vx.workspace.json", R"({"projects": ["tools/*"]})");
  d.remove("pnpm-workspace.yaml");
  CHECK(projects_of(d).empty());
  CHECK(notices_of(d).empty());
}

TEST_CASE("a path that cannot be a name needs one") {
  const temp_dir d;
  d.write("vx.workspace.json", R"({"projects": ["crates/*"]})");
  d.write("crates/a#b/vx.config.json", "{}");
  CHECK(has(projects_of(d), "!VX_E_CONFIG crates/a#b/vx.config.json"));
  d.write("crates/a#b/vx.config.json", R"({"name": "ab"})");
  CHECK(projects_of(d) == "ab@crates/a#b");
}

TEST_CASE("a config that does not load leaves its project at its path until it is in scope") {
  const temp_dir d;
  d.write("vx.workspace.json", R"({"projects": ["crates/*"]})");
  d.write("crates/bad/vx.config.json", "{nope");
  d.write("crates/good/vx.config.json", "{}");
  CHECK(projects_of(d) == "crates/bad@crates/bad crates/good@crates/good");
  const auto l = vx::test::open_at(d.path());
  REQUIRE(l);
  CHECK((*l)->load_scope({1}));
  const auto all = (*l)->load_all();
  REQUIRE_FALSE(all);
  CHECK(has(all.error().message, "crates/bad/vx.config.json"));
}

TEST_CASE("the root project: named by the list, or by a config at the root") {
  const temp_dir d;
  package(d, ".", "root");
  package(d, "packages/a", "a");
  pnpm(d, "'packages/*'");
  CHECK(projects_of(d) == "a@packages/a");
  pnpm(d, "'.', 'packages/*'");
  CHECK(projects_of(d) == "a@packages/a root@");
  pnpm(d, "'packages/*'");
  d.write("vx.config.json", "{}");
  CHECK(projects_of(d) == "a@packages/a root@");
  d.write("package.json", "{}");
  CHECK(projects_of(d) == "a@packages/a");
  CHECK(has(notices_of(d), "`name`"));
  d.write("vx.config.json", R"({"name": "chosen"})");
  CHECK(projects_of(d) == "a@packages/a chosen@");
  CHECK(notices_of(d).empty());
}

TEST_CASE("two projects of one name") {
  const temp_dir d;
  pnpm(d, "'packages/*'");
  package(d, "packages/a", "same");
  package(d, "packages/b", "same");
  package(d, "packages/c", "c");
  CHECK(projects_of(d) == "c@packages/c");
  CHECK(has(notices_of(d), "packages/a, packages/b"));
  CHECK(notices_of(d).find("left out") == notices_of(d).rfind("left out"));
  d.write("packages/b/vx.config.json", "{}");
  const std::string said = projects_of(d);
  CHECK(has(said, "!VX_E_CONFIG"));
  CHECK(has(said, "same"));
  CHECK(has(said, "packages/a, packages/b"));
}

TEST_CASE("spellings beside the one that is read are reported") {
  const temp_dir d;
  pnpm(d, "'packages/*'");
  package(d, "packages/a", "a");
  d.write("packages/a/vx.config.json", "{}");
  d.write("packages/a/vx.config.jsonc", "{}");
  CHECK(has(notices_of(d), "packages/a/vx.config.jsonc is not read"));
  d.write("vx.workspace.json", "{}");
  d.write("vx.workspace.jsonc", "{}");
  CHECK(has(notices_of(d), "vx.workspace.jsonc is not read"));
}

TEST_CASE("a single project with packages that nothing lists gets a hint") {
  const temp_dir d;
  package(d, ".", "root");
  package(d, "node_modules/x", "x");
  package(d, ".cache/x", "x");
  CHECK(notices_of(d).empty());
  package(d, "packages/a", "a");
  CHECK(has(notices_of(d), "packages/a"));
  CHECK(has(notices_of(d), "workspaces"));
}

TEST_CASE("the package manager's name") {
  const temp_dir d;
  const auto name = [&] { return (*vx::test::open_at(d.path()))->ws().package_manager; };
  CHECK(name() == "");
  d.write("package.json", "{}");
  CHECK(name() == "npm");
  d.write("yarn.lock", "");
  CHECK(name() == "yarn");
  d.write("bun.lock", "{}");
  CHECK(name() == "bun");
  d.write("pnpm-workspace.yaml", "packages: [a]\n");
  CHECK(name() == "pnpm");
  d.write("package.json", R"({"packageManager": "yarn@4.1.0"})");
  CHECK(name() == "yarn");
}
