#include "workspace/selection.hpp"

#include <doctest/doctest.h>

#include "open_workspace.hpp"

using namespace vx::test;
using vx::workspace::selection;
using vx::workspace::selection_request;

namespace {

struct outcome {
  std::string text;  ///< "a#x b#y", or "!CODE message"
  std::string notices;
  bool none_affected = false, broad = false;
};

outcome run(const temp_dir& d, selection_request r, const std::string& cwd = "") {
  outcome out;
  auto l = open_at(d.path());
  REQUIRE(l);
  r.cwd = cwd.empty() ? d.path() : d / cwd;
  const auto s = vx::workspace::select(**l, test_env(), r);
  if (!s) {
    out.text = "!" + std::string(vx::status_name(s.error().code)) + " " + s.error().message;
    return out;
  }
  for (const auto& q : s->requests)
    out.text += (out.text.empty() ? "" : " ") + (*l)->ws().projects[q.project].name + "#" + q.task;
  for (const std::string& n : s->notices) out.notices += n + "\n";
  out.none_affected = s->none_affected;
  out.broad = s->broad;
  return out;
}

selection_request names(std::vector<std::string> list) {
  selection_request r;
  r.names = std::move(list);
  return r;
}
selection_request all(std::vector<std::string> list) {
  selection_request r = names(std::move(list));
  r.all = true;
  return r;
}
selection_request filtered(std::vector<std::string> list, std::vector<std::string> filters) {
  selection_request r = names(std::move(list));
  r.filters = std::move(filters);
  return r;
}
selection_request affected(std::vector<std::string> list, std::string base = "") {
  selection_request r = names(std::move(list));
  r.affected = true;
  r.affected_base = std::move(base);
  return r;
}

void fill(const small_workspace& d) {
  d.package("a", {"b"}, config_json({task_json("build"), task_json("test")}));
  d.package("b", {}, config_json({task_json("build")}));
  d.package("@s/cart", {}, config_json({task_json("lint")}));
  d.mkdir("packages/a/src");
  d.mkdir("docs");
}

std::string cached(const std::string& name, const std::vector<std::string>& deps, const std::string& files) {
  return task_json(name, deps, R"(, "cache": {"inputs": {"files": [)" + files + R"(]}, "outputs": {"files": []}})");
}

void git_init(const temp_dir& d) {
  d.sh(
      "git init -q -b main . && git config user.name t && git config user.email t@t && git config commit.gpgsign false && "
      "git add -A && git commit -qm base");
}

}  // namespace

TEST_CASE("a bare name follows the scope, an anchored one does not") {
  small_workspace d;
  fill(d);
  CHECK(run(d, names({"build"}), "packages/a/src").text == "a#build");
  CHECK(run(d, names({"build", "test"}), "packages/a").text == "a#build a#test");
  CHECK(run(d, names({"b#build"}), "packages/a").text == "b#build");
  CHECK(run(d, names({"b#build", "build", "b#build"}), "packages/a").text == "b#build a#build");
  CHECK(run(d, all({"build"})).text == "a#build b#build");
  CHECK(run(d, all({"test"})).text == "a#test");
  CHECK(run(d, filtered({"build"}, {"b"})).text == "b#build");
  CHECK(run(d, filtered({"build"}, {"!b"})).text == "a#build");
  selection_request both = filtered({"build"}, {"a"});
  both.all = true;
  CHECK(run(d, both).text == "a#build");
  CHECK(run(d, names({"a#build"})).text == "a#build");
  CHECK_FALSE(run(d, names({"a#build"})).broad);
  CHECK(run(d, all({"build"})).broad);
}

TEST_CASE("outside every project a bare name is refused with the three ways") {
  small_workspace d;
  fill(d);
  const std::string said = run(d, names({"build"}), "docs").text;
  CHECK(has(said, "!VX_E_USAGE"));
  CHECK(has(said, "--all"));
  CHECK(has(said, "--filter"));
  CHECK(has(said, "cd into"));
  CHECK(run(d, names({"b#build"}), "docs").text == "b#build");
}

TEST_CASE("the unscoped half of one scoped name is enough") {
  small_workspace d;
  fill(d);
  CHECK(run(d, names({"cart#lint"})).text == "@s/cart#lint");
  CHECK(run(d, filtered({"lint"}, {"cart"})).text == "@s/cart#lint");
  d.write("packages/other/package.json", R"({"name": "@t/cart"})");
  CHECK(has(run(d, names({"cart#lint"})).text, "!VX_E_AMBIGUOUS"));
  CHECK(has(run(d, names({"cart#lint"})).text, "@s/cart, @t/cart"));
}

TEST_CASE("unknown names refuse before anything starts, even when others resolved") {
  small_workspace d;
  fill(d);
  CHECK(has(run(d, names({"a#build", "missing"}), "packages/a").text,
            "!VX_E_UNKNOWN_TASK no project declares the task \"missing\""));
  CHECK(has(run(d, names({"a#missing"})).text, "!VX_E_UNKNOWN_TASK"));
  CHECK(has(run(d, names({"a#biuld"})).text, "did you mean build?"));
  CHECK(has(run(d, names({"z#build"})).text, "!VX_E_UNKNOWN_PROJECT"));
  CHECK(has(run(d, names({"cert#lint"})).text, "!VX_E_UNKNOWN_PROJECT"));
  CHECK(has(run(d, names({"//#build"})).text, "no root project"));
  CHECK(has(run(d, all({"biuld"})).text, "did you mean build?"));
  CHECK(has(run(d, all({"something"})).text, "build, lint, test"));
  CHECK(has(run(d, names({"#x"})).text, "!VX_E_USAGE"));
  CHECK(has(run(d, names({"x#"})).text, "!VX_E_USAGE"));
  CHECK(has(run(d, names({""})).text, "!VX_E_USAGE"));
}

TEST_CASE("a task that only others declare says so and names the flag") {
  small_workspace d;
  fill(d);
  const std::string said = run(d, names({"lint"}), "packages/a").text;
  CHECK(has(said, "!VX_E_UNKNOWN_TASK"));
  CHECK(has(said, "@s/cart"));
  CHECK(has(said, "--filter @s/cart"));
  CHECK(has(run(d, filtered({"lint"}, {"b"})).text, "--filter @s/cart"));
}

TEST_CASE("no name lists the tasks here") {
  small_workspace d;
  fill(d);
  const std::string said = run(d, names({}), "packages/a").text;
  CHECK(has(said, "!VX_E_USAGE missing task name"));
  CHECK(has(said, "build, test"));
  CHECK(has(run(d, names({}), "docs").text, "!VX_E_USAGE missing task name"));
}

TEST_CASE("a workspace without configs points at init, and the implicit build answers only to pkg#build") {
  small_workspace d;
  d.package("a", {"lib"});
  d.package("lib");
  CHECK(has(run(d, all({"test"})).text, "vx init"));
  CHECK(has(run(d, filtered({"build"}, {"lib"})).text, "!VX_E_UNKNOWN_TASK"));
  CHECK(run(d, names({"lib#build"})).text == "lib#build");
}

TEST_CASE("another runner's project:target is answered with what to type") {
  small_workspace d;
  fill(d);
  CHECK(has(run(d, all({"a:build"})).text, "vx run a#build"));
  small_workspace e;
  e.package("a", {}, config_json({task_json("lint:fix")}));
  CHECK(run(e, all({"lint:fix"})).text == "a#lint:fix");
}

TEST_CASE("a broken config outside the scope does not stop a run") {
  small_workspace d;
  fill(d);
  d.package("broken", {}, "{");
  CHECK(run(d, names({"build"}), "packages/b").text == "b#build");
  CHECK(has(run(d, all({"build"})).text, "packages/broken/vx.config.json"));
}

TEST_CASE("filters are resolved, and refuse, even when only anchored names were given") {
  small_workspace d;
  fill(d);
  CHECK(has(run(d, filtered({"a#build"}, {"nope"})).text, "!VX_E_UNKNOWN_PROJECT"));
  CHECK(run(d, filtered({"a#build"}, {"b"})).text == "a#build");
}

TEST_CASE("git references: moves, deletions and untracked files") {
  small_workspace d;
  fill(d);
  d.write("packages/a/x", "one\ntwo\nthree\n");
  d.write("packages/a/y", "y");
  git_init(d);
  const auto changed = [&](const char* filter) { return run(d, filtered({"build"}, {filter})); };
  CHECK(changed("[HEAD]").none_affected);
  CHECK(changed("[HEAD]").text.empty());
  CHECK(has(changed("[HEAD]").notices, "nothing affected since HEAD"));
  d.sh("git mv packages/a/x packages/b/x");
  CHECK(changed("[HEAD]").text == "a#build b#build");
  d.sh("git reset -q --hard && git rm -q packages/a/y");
  CHECK(changed("[HEAD]").text == "a#build");
  d.sh("git reset -q --hard && rm packages/a/y");
  CHECK(changed("[HEAD]").text == "a#build");
  d.sh("git reset -q --hard");
  d.write("packages/b/new", "n");
  CHECK(changed("[HEAD]").text == "b#build");
  CHECK(changed("...[HEAD]").text == "a#build b#build");
  CHECK(changed("a...[HEAD]").text == "a#build");
  CHECK(changed("a[HEAD]").text.empty());
  CHECK(changed("b[HEAD]").text == "b#build");
  CHECK(has(changed("nope[HEAD]").text, "!VX_E_UNKNOWN_PROJECT"));
  CHECK(changed("[main...HEAD]").text == "b#build");
  CHECK(has(run(d, filtered({"missing"}, {"[HEAD]"})).text, "!VX_E_UNKNOWN_TASK"));
  const outcome noted = run(d, filtered({"lint"}, {"[HEAD]"}));
  CHECK(noted.none_affected);
  CHECK(run(d, filtered({"a#test", "lint"}, {"[HEAD]"})).text == "a#test");
}

TEST_CASE("a base is the merge base, so main's later commits do not count") {
  small_workspace d;
  fill(d);
  git_init(d);
  d.sh(
      "git checkout -qb work && echo a > packages/a/f && git add -A && git commit -qm a && git checkout -q main && "
      "echo b > packages/b/f && git add -A && git commit -qm b && git checkout -q work");
  CHECK(run(d, affected({"build"}, "main")).text == "a#build");
  CHECK(run(d, filtered({"build"}, {"[main]"})).text == "a#build");
  CHECK(run(d, filtered({"build"}, {"[main..HEAD]"})).text == "a#build b#build");
  CHECK(run(d, affected({"build"}, "main...HEAD")).text == "a#build");
}

TEST_CASE("references are refused before git sees them") {
  small_workspace d;
  fill(d);
  git_init(d);
  for (const char* ref : {"--output=x", "a..b", "^x", "HEAD:f", " "}) {
    CAPTURE(ref);
    CHECK(has(run(d, affected({"build"}, ref)).text, "!VX_E_USAGE"));
  }
  CHECK(has(run(d, affected({"build"}, "no-such-ref")).text, "!VX_E_REFUSED"));
  CHECK_FALSE(d.exists("x"));
}

TEST_CASE("without git both ways of asking are refused in one line") {
  small_workspace d;
  fill(d);
  for (const auto& request : {affected({"build"}), filtered({"build"}, {"[HEAD]"})}) {
    const std::string said = run(d, request).text;
    CHECK(has(said, "!VX_E_REFUSED"));
    CHECK_FALSE(has(said, "\n"));
  }
}

TEST_CASE("a shallow clone without a base is refused with the fetch advice") {
  small_workspace d;
  fill(d);
  git_init(d);
  temp_dir c;
  c.sh("git clone -q --depth 1 file://" + d.path() +
       " w && cd w && git remote remove origin && git checkout -q -b only && git branch -qD main");
  auto l = open_at(c / "w");
  REQUIRE(l);
  selection_request r = affected({"build"});
  r.cwd = c / "w";
  const auto s = vx::workspace::select(**l, test_env(), r);
  REQUIRE_FALSE(s);
  CHECK(has(s.error().message, "unshallow"));
}

TEST_CASE("a change outside the workspace affects nothing") {
  temp_dir repo;
  repo.write("ws/pnpm-workspace.yaml", "packages: ['packages/*']\n");
  repo.write("ws/packages/a/package.json", R"({"name": "a"})");
  repo.write("ws/packages/a/vx.config.json", config_json({task_json("build")}));
  repo.write("outside", "1");
  git_init(repo);
  repo.write("outside", "2");
  const auto ask = [&] {
    auto l = open_at(repo / "ws");
    REQUIRE(l);
    selection_request r = affected({"build"}, "HEAD");
    r.cwd = repo / "ws";
    auto s = vx::workspace::select(**l, test_env(), r);
    REQUIRE(s);
    return *s;
  };
  CHECK(ask().none_affected);
  CHECK(has(ask().notices.front(), "nothing affected since HEAD"));
  CHECK(has(ask().notices.front(), "HEAD~1"));
  repo.write("ws/packages/a/new", "1");
  CHECK(ask().requests.size() == 1);
}

TEST_CASE("affected keeps tasks whose declared inputs, or whose dependencies, changed") {
  small_workspace d;
  const auto tasks = [&](const std::string& lint) {
    return config_json(
        {cached("build", {"^build"}, R"("src/**")"), cached("test", {"build"}, R"("src/**", "test/**")") + lint});
  };
  d.package("app", {"ui"}, tasks(""));
  d.package("ui", {}, tasks(""));
  for (const char* f : {"packages/app/src/i", "packages/ui/src/i", "packages/ui/test/x", "packages/app/README"})
    d.write(f, "1");
  git_init(d);
  const auto both = [&] { return run(d, affected({"build", "test"}, "HEAD")); };
  CHECK(both().none_affected);
  d.write("packages/ui/test/x", "2");
  CHECK(both().text == "ui#test");
  d.sh("git checkout -q .");
  d.write("packages/ui/src/i", "2");
  CHECK(both().text == "app#build ui#build app#test ui#test");
  d.sh("git checkout -q .");
  d.sh("sed -i 's/}$/, \"private\": true}/' packages/ui/package.json");
  CHECK(both().text == "app#build ui#build app#test ui#test");
  d.sh("git checkout -q .");
  d.write("packages/app/src/i", "2");
  CHECK(both().text == "app#build app#test");
  d.sh("git checkout -q .");
  // An anchored name runs with a note when nothing is affected.
  const outcome anchored = run(d, affected({"app#test", "build"}, "HEAD"));
  CHECK(anchored.text == "app#test");
  CHECK(has(anchored.notices, "nothing affected since HEAD"));
  CHECK_FALSE(anchored.none_affected);
  // Another include runs whether or not the change reaches it; an exclude takes away.
  d.write("packages/app/src/i", "2");
  selection_request more = affected({"build"}, "HEAD");
  more.filters = {"ui"};
  CHECK(run(d, more).text == "app#build ui#build");
  more.filters = {"!app"};
  CHECK(run(d, more).none_affected);
  CHECK(has(run(d, affected({"biuld"}, "HEAD")).text, "did you mean build?"));
}

TEST_CASE("root files affect everything, the lock of configs nothing") {
  small_workspace d;
  fill(d);
  d.write("pnpm-lock.yaml", "1");
  d.write("vx-lock.json", "{}");
  d.write("README", "1");
  git_init(d);
  const auto build = [&] { return run(d, affected({"build"}, "HEAD")).text; };
  d.write("vx-lock.json", "{ }");
  CHECK(build().empty());
  d.write("README", "2");
  CHECK(build().empty());
  d.write("pnpm-lock.yaml", "2");
  CHECK(build() == "a#build b#build");
  d.sh("git checkout -q . && git rm -q pnpm-lock.yaml");
  CHECK(build() == "a#build b#build");
  d.sh("git reset -q --hard");
  d.write("vx.workspace.json", "{}");
  CHECK(build() == "a#build b#build");
}

TEST_CASE("workspaceFiles reach the task that declares them, wherever they lie") {
  small_workspace d;
  d.package(
      "a", {},
      config_json(
          {task_json(
               "build", {},
               R"(, "cache": {"inputs": {"files": ["src/**"], "workspaceFiles": ["tsconfig.base.json", "packages/b/shared/**"]},
      "outputs": {"files": []}})"),
           cached("test", {}, R"("test/**")")}));
  d.package("b", {}, config_json({cached("build", {}, R"("src/**")")}));
  d.package("c", {"a"}, config_json({cached("build", {"^build"}, R"("src/**")")}));
  d.write("tsconfig.base.json", "1");
  d.write("packages/b/shared/x", "1");
  git_init(d);
  d.write("tsconfig.base.json", "2");
  CHECK(run(d, affected({"build", "test"}, "HEAD")).text == "a#build c#build");
  CHECK(run(d, filtered({"build"}, {"[HEAD]"})).text == "a#build");
  d.sh("git checkout -q .");
  d.write("packages/b/shared/x", "2");
  const std::string reached = run(d, affected({"build"}, "HEAD")).text;
  CHECK(has(reached, "a#build"));
  CHECK(has(reached, "c#build"));
}

TEST_CASE("a change in a package without the task is passed through to what lies above") {
  small_workspace d;
  d.package("a", {"b"}, config_json({cached("test", {"^test"}, R"("src/**")")}));
  d.package("b", {"c"}, config_json({cached("lint", {}, R"("src/**")")}));
  d.package("c", {}, config_json({cached("test", {}, R"("src/**")")}));
  git_init(d);
  d.write("packages/b/src/x", "1");
  CHECK(run(d, affected({"test"}, "HEAD")).text == "a#test");
}

TEST_CASE("a removed package selects what depended on it") {
  small_workspace d;
  d.package("c", {}, config_json({cached("build", {}, R"("src/**")")}));
  d.package("d", {"c"}, config_json({cached("build", {"^build"}, R"("src/**")")}));
  d.package("e", {}, config_json({cached("build", {}, R"("src/**")")}));
  git_init(d);
  d.sh("git rm -rq packages/c");
  CHECK(run(d, affected({"build"}, "HEAD")).text == "d#build");
}

TEST_CASE("a new nested project reaches the project above it") {
  temp_dir d;
  d.write("pnpm-workspace.yaml", "packages: ['p/**']\n");
  d.write("p/outer/package.json", R"({"name": "outer"})");
  d.write("p/outer/vx.config.json", config_json({cached("build", {}, R"("inner/**")")}));
  d.write("p/outer/inner/file", "1");
  git_init(d);
  d.write("p/outer/inner/package.json", R"({"name": "inner"})");
  CHECK(has(run(d, affected({"build"}, "HEAD")).text, "outer#build"));
}

TEST_CASE("an uncached task is reached by any change in its project") {
  small_workspace d;
  d.package("a", {}, config_json({task_json("go"), cached("build", {}, R"("src/**")")}));
  d.write("packages/a/src/i", "1");
  git_init(d);
  d.write("packages/a/src/i", "2");
  CHECK(run(d, affected({"go", "build"}, "HEAD")).text == "a#go a#build");
}
