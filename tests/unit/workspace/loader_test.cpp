#include <doctest/doctest.h>
#include <sys/stat.h>
#include <utime.h>

#include "open_workspace.hpp"

using namespace vx::test;
namespace workspace = vx::workspace;

namespace {

std::string edges(const workspace::workspace& ws, const std::vector<std::vector<std::uint32_t>>& graph, const std::string& of) {
  return joined(names_of(ws, graph[ws.by_name.at(of)]));
}

std::string loaded(const workspace::workspace& ws) {
  std::string out;
  for (const workspace::project& p : ws.projects) {
    if (p.loaded && !p.config_path.empty()) out += (out.empty() ? "" : " ") + p.name;
  }
  return out;
}

std::vector<std::uint32_t> ids(const workspace::workspace& ws, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> out;
  for (const std::string& n : names) out.push_back(ws.by_name.at(n));
  return out;
}

/// Makes every file old enough that its stamps may be trusted.
void age(const temp_dir& d) { d.sh("find . -exec touch -h -d '1 hour ago' {} + && sleep 0.06"); }

std::string graph_of(const workspace::workspace& ws) {
  std::string out;
  for (std::size_t i = 0; i < ws.projects.size(); ++i) {
    out +=
        ws.projects[i].name + "@" + ws.projects[i].dir + "@" + ws.projects[i].version + "@" + ws.projects[i].config_path + ":";
    out += joined(names_of(ws, ws.order[i])) + "/" + joined(names_of(ws, ws.reach[i])) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("manifest edges, spec by spec, over real files") {
  small_workspace d;
  d.write("pnpm-workspace.yaml", "packages: ['packages/*']\ncatalog:\n  shared: ^2\n");
  d.write(
      "packages/app/package.json",
      R"({"name": "app", "dependencies": {"shared": "^1.0.0", "luigi": "workspace:../waluigi"}, "devDependencies": {"tool": "catalog:gone"}})");
  d.write("packages/web/package.json", R"({"name": "web", "dependencies": {"shared": "catalog:"}})");
  d.write("packages/shared/package.json", R"({"name": "shared", "version": "2.0.0"})");
  d.write("packages/waluigi/package.json", R"({"name": "waluigi"})");
  d.write("packages/luigi/package.json", R"({"name": "luigi"})");
  d.write("packages/tool/package.json", R"({"name": "tool"})");
  const auto l = open_at(d.path());
  REQUIRE(l);
  const auto& ws = (*l)->ws();
  CHECK(edges(ws, ws.order, "app") == "tool waluigi");
  CHECK(edges(ws, ws.order, "web") == "shared");
}

TEST_CASE("catalogs of the root package.json, at the top level and under workspaces") {
  const temp_dir d;
  d.write("package.json",
          R"({"workspaces": {"packages": ["p/*"], "catalog": {"lib": "^1"}}, "catalogs": {"old": {"lib": "^0.1"}}})");
  d.write("p/app/package.json", R"({"name": "app", "dependencies": {"lib": "catalog:"}})");
  d.write("p/old/package.json", R"({"name": "old", "dependencies": {"lib": "catalog:old"}})");
  d.write("p/lib/package.json", R"({"name": "lib", "version": "1.2.0"})");
  const auto l = open_at(d.path());
  REQUIRE(l);
  CHECK(edges((*l)->ws(), (*l)->ws().order, "app") == "lib");
  CHECK(edges((*l)->ws(), (*l)->ws().order, "old").empty());
}

TEST_CASE("a run loads its seeds and their dependencies, then what pkg#task names, to a fixpoint") {
  small_workspace d;
  d.package("a", {"b"}, config_json({task_json("t", {"x#gen"})}));
  d.package("b", {}, config_json({task_json("t")}));
  d.package("x", {"y"}, config_json({task_json("gen")}));
  d.package("y", {}, config_json({task_json("t", {"z#t"})}));
  d.package("z", {}, config_json({task_json("t")}));
  d.package("other", {"a"}, "{broken");
  auto l = open_at(d.path());
  REQUIRE(l);
  const auto& ws = (*l)->ws();
  CHECK(loaded(ws).empty());
  CHECK((*l)->load_scope(ids(ws, {"b"})));
  CHECK(loaded(ws) == "b");
  CHECK((*l)->load_scope(ids(ws, {"a"})));
  CHECK(loaded(ws) == "a b x y z");
  CHECK_FALSE((*l)->all_loaded());
  CHECK(edges(ws, ws.reach, "a") == "b x");
  CHECK(edges(ws, ws.order, "a") == "b");
}

TEST_CASE("a broken config fails the run that needs it, and only that") {
  small_workspace d;
  d.package("a", {}, config_json({task_json("t")}));
  d.package("b", {}, "{broken");
  d.package("c", {"b"}, config_json({task_json("t")}));
  d.package("z", {}, "{\"tasks\": 1}");
  auto l = open_at(d.path());
  REQUIRE(l);
  auto& ws = (*l)->ws();
  CHECK((*l)->load_scope(ids(ws, {"a"})));
  const auto c = (*l)->load_scope(ids(ws, {"c"}));
  REQUIRE_FALSE(c);
  CHECK(has(c.error().message, "packages/b/vx.config.json"));
  // The first in request order, whatever the order of names.
  const auto first = (*open_at(d.path()))->load_scope(ids(ws, {"z", "b"}));
  REQUIRE_FALSE(first);
  CHECK(has(first.error().message, "packages/z/vx.config.json"));
  auto all = open_at(d.path());
  CHECK_FALSE((*all)->load_all());
  auto tolerant = open_at(d.path());
  (*tolerant)->load_all_tolerant();
  CHECK((*tolerant)->all_loaded());
  const auto& t = (*tolerant)->ws();
  CHECK(t.projects[t.by_name.at("b")].config_failure);
  CHECK(t.projects[t.by_name.at("c")].config != nullptr);
  CHECK(t.find_task(t.by_name.at("b"), "build") == nullptr);
}

TEST_CASE("config dependencies add order, in packages as well") {
  temp_dir d;
  d.write("vx.workspace.json", R"({"projects": ["crates/*"]})");
  d.write("crates/core/vx.config.json", config_json({task_json("build")}, R"("name": "core", )"));
  d.write("crates/app/vx.config.json",
          config_json({task_json("build", {"^build"})}, R"("name": "app", "dependencies": ["core"], )"));
  auto l = open_at(d.path());
  REQUIRE(l);
  CHECK(edges((*l)->ws(), (*l)->ws().order, "app") == "core");
  CHECK(edges((*l)->ws(), (*l)->ws().reach, "app") == "core");

  d.write("crates/app/vx.config.json", config_json({}, R"("name": "app", "dependencies": ["coer"], )"));
  l = open_at(d.path());
  REQUIRE(l);
  auto failed = (*l)->load_all();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == vx::errc::CONFIG);
  CHECK(has(failed.error().message, "coer"));
  CHECK(has(failed.error().message, "did you mean core?"));
  CHECK((*l)->load_scope(ids((*l)->ws(), {"core"})));

  d.write("crates/app/vx.config.json", config_json({}, R"("name": "app", "dependencies": ["app"], )"));
  l = open_at(d.path());
  failed = (*l)->load_all();
  REQUIRE_FALSE(failed);
  CHECK_MESSAGE(has(failed.error().message, "\"app\""), failed.error().message);

  small_workspace js;
  js.package("one", {}, config_json({task_json("t")}, R"("dependencies": ["two"], )"));
  js.package("two");
  l = open_at(js.path());
  CHECK((*l)->load_scope(ids((*l)->ws(), {"one"})));
  CHECK(edges((*l)->ws(), (*l)->ws().order, "one") == "two");
}

TEST_CASE("the catalog holds the implicit build where none is declared, tasks sorted") {
  small_workspace d;
  d.package("a", {"b"}, config_json({task_json("test"), task_json("analyse")}));
  d.package("b");
  d.package("c", {}, config_json({task_json("build")}));
  auto l = open_at(d.path());
  REQUIRE(l);
  CHECK_FALSE((*l)->catalog().projects[0].loaded);
  CHECK((*l)->catalog().projects[0].tasks.empty());
  CHECK((*l)->catalog().projects[1].loaded);
  const vx::graph::catalog* before = &(*l)->catalog();
  CHECK((*l)->load_all());
  const vx::graph::catalog& c = (*l)->catalog();
  CHECK(&c == before);
  std::string shown;
  for (const auto& p : c.projects) {
    shown += p.name + ":";
    for (const auto& t : p.tasks) shown += " " + t.name + (t.implicit ? "*" : "");
    shown += "\n";
  }
  CHECK(shown == "a: analyse build* test\nb: build*\nc: build\n");
  const auto& implicit = c.projects[1].tasks[0];
  CHECK(implicit.keyed_group);
  CHECK(implicit.cached);
  CHECK_FALSE(implicit.has_exec);
  CHECK(implicit.depends_on == std::vector<std::string>{"^build"});
  CHECK(c.projects[0].order == std::vector<std::uint32_t>{1});
  CHECK(c.by_name.at("c") == 2);
}

TEST_CASE("a warm open parses nothing and yields the same workspace") {
  small_workspace d;
  d.package("a", {"b", "c"}, config_json({task_json("t")}));
  d.package("b", {"c"});
  d.package("c");
  d.write("packages/peer/package.json", R"({"name": "peer", "version": "1.0.0", "peerDependencies": {"a": "*"}})");
  d.write("packages/both/vx.config.json", "{}");
  d.write("packages/both/vx.config.jsonc", "{}");
  d.write("packages/both/package.json", R"({"name": "both"})");
  age(d);
  blob_memo memo;
  std::string cold;
  {
    auto l = open_at(d.path(), &memo);
    REQUIRE(l);
    cold = graph_of((*l)->ws());
    (*l)->finish();
  }
  CHECK(memo.blobs.size() == 2);
  CHECK(cold == graph_of((*open_at(d.path()))->ws()));
  // Content that no longer parses, under the stamps the memo knows: only a memo that is really served survives it.
  struct ::stat st {};
  REQUIRE(::stat((d / "packages/b/package.json").c_str(), &st) == 0);
  {
    auto l = open_at(d.path(), &memo);
    REQUIRE(l);
    CHECK(graph_of((*l)->ws()) == cold);
    CHECK(memo.reads["manifest-deps-1"] == 1);
    CHECK((*l)->ws().notices.size() == 1);
    (*l)->finish();
  }
  CHECK(memo.writes["manifests-1"] == 1);
  CHECK(memo.writes["manifest-deps-1"] == 1);
}

TEST_CASE("no memo outlives any of its four stamps") {
  small_workspace d;
  d.package("a", {"b"});
  d.package("b");
  d.package("c");
  age(d);
  blob_memo memo;
  const auto open = [&] {
    auto l = open_at(d.path(), &memo);
    REQUIRE(l);
    (*l)->finish();
    return graph_of((*l)->ws());
  };
  const std::string first = open();
  // Same size, same mtime; ctime differs.
  d.sh(
      "sed 's/\"b\": /\"c\": /' packages/a/package.json > t && cat t > packages/a/package.json && rm t && touch -d '1 hour "
      "ago' packages/a/package.json");
  CHECK(open() != first);
  CHECK(open() == graph_of((*open_at(d.path()))->ws()));
  // Another inode under the name.
  d.sh("sleep 0.06; sed 's/\"c\": /\"b\": /' packages/a/package.json > t && mv t packages/a/package.json");
  CHECK(open() == first);
  // A member comes and goes.
  d.package("d", {"a"});
  CHECK(has(open(), "d@packages/d"));
  d.remove("packages/d");
  CHECK(open() == first);
  // A config appears beside a manifest that did not change.
  d.sh("sleep 0.06");
  open();
  d.write("packages/c/vx.config.json", "{}");
  CHECK(has(open(), "packages/c/vx.config.json"));
  d.sh("sleep 0.06");
  CHECK(has(open(), "packages/c/vx.config.json"));
  d.remove("packages/c/vx.config.json");
  CHECK(open() == first);
}

TEST_CASE("a manifest written this instant is not remembered") {
  small_workspace d;
  d.package("a");
  age(d);
  d.write("packages/a/package.json", R"({"name": "x1"})");
  blob_memo memo;
  (*open_at(d.path(), &memo))->finish();
  d.write("packages/a/package.json", R"({"name": "x2"})");
  CHECK((*open_at(d.path(), &memo))->ws().projects[0].name == "x2");
  CHECK_FALSE(has(memo.blobs["manifests-1"], "x1"));
}

TEST_CASE("a blob that is damaged in any place is ignored") {
  small_workspace d;
  d.package("a", {"b"});
  d.package("b");
  age(d);
  blob_memo memo;
  const std::string truth = graph_of((*open_at(d.path()))->ws());
  (*open_at(d.path(), &memo))->finish();
  const auto good = memo.blobs;
  for (const auto& [name, blob] : good) {
    for (std::size_t cut = 0; cut < blob.size(); cut += 3) {
      memo.blobs = good;
      memo.blobs[name] = blob.substr(0, cut);
      REQUIRE(open_at(d.path(), &memo));
      CHECK(graph_of((*open_at(d.path(), &memo))->ws()) == truth);
    }
    memo.blobs = good;
    memo.blobs[name] = std::string(64, '\xFF');
    CHECK(graph_of((*open_at(d.path(), &memo))->ws()) == truth);
  }
}

TEST_CASE("a manifest behind a link is read every time") {
  small_workspace d;
  d.write("shared.json", R"({"name": "v1"})");
  d.mkdir("packages/a");
  d.symlink("../../shared.json", "packages/a/package.json");
  age(d);
  blob_memo memo;
  (*open_at(d.path(), &memo))->finish();
  d.write("shared.json", R"({"name": "v2"})");
  CHECK((*open_at(d.path(), &memo))->ws().projects[0].name == "v2");
  d.remove("shared.json");
  CHECK((*open_at(d.path(), &memo))->ws().projects.empty());
}
