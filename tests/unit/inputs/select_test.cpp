#include <doctest/doctest.h>

#include "inputs_fixture.hpp"

using namespace vx;
using namespace vx::test;

namespace {

std::vector<std::string> paths(const identities& m) {
  std::vector<std::string> out;
  for (const auto& [p, id] : m) out.push_back(p);
  return out;
}
using list = std::vector<std::string>;

bool is_error(const identities& m, std::string_view part) {
  const auto at = m.find("error");
  return at != m.end() && at->second.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("globs filter what git lists; spelling variants select the same files") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p/src/deep p/test other; for x in p/src/a p/src/deep/b p/src/.hid p/test/t p/package.json other/o "
      "'p/src/[id].ts'; do echo $x >\"$x\"; done; "
      "printf '*.local\\ndist/\\n' >.gitignore; mkdir p/dist; echo 1 >p/dist/x; echo 1 >p/.env.local; echo n >p/src/new");
  f.commit("echo u >p/src/untracked");
  const list src = {"p/src/.hid", "p/src/[id].ts", "p/src/a", "p/src/deep/b", "p/src/new", "p/src/untracked"};
  for (const char* entry : {"src/**", "./src/**", "src//**", "src", "src/", "src/./**"}) {
    CAPTURE(entry);
    CHECK(paths(f.now({"p", {entry}})) == src);
  }
  CHECK(paths(f.now({"p", {"src/[id].ts"}})) == list{"p/src/[id].ts"});
  CHECK(paths(f.now({"p", {"**", "!src/**", "!package.json"}})) == list{"p/test/t"});
  CHECK(paths(f.now({"p", {"{src/deep,test}/*"}})) == list{"p/src/deep/b", "p/test/t"});
  CHECK(paths(f.now({"p", {".env*"}})).empty());
  CHECK(paths(f.now({"p", {"nothing", "src/a"}})) == list{"p/src/a"});
  CHECK(paths(f.now({"", {"*"}})) == list{".gitignore"});
}

TEST_CASE("literals that name an existing path which can be no input are errors with the reason") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p/src p/empty p/dist p/inner p/node_modules/m p/.vx; echo 1 >p/src/a; printf "
      "'*.local\\ndist/\\nnode_modules\\n' >.gitignore; echo 1 >p/dist/x; "
      "echo 1 >p/.env.local; echo 1 >p/inner/x; echo 1 >p/node_modules/m/x; echo 1 >p/t.tsbuildinfo; mkfifo p/fifo; ln -s src "
      "p/link; mkdir p/hollow; echo 1 >p/hollow/a.local");
  f.commit();
  const declaration base{"p", {}, {}, {}, {}, {"inner"}};
  const auto with = [&](const char* entry) {
    declaration d = base;
    d.files = {entry};
    return f.now(d);
  };
  CHECK(is_error(with(".env.local"), "\".env.local\", which can be no input: git ignores it"));
  CHECK(is_error(with("dist"), "git ignores it"));
  CHECK(is_error(with("dist/x"), "git ignores it"));
  CHECK(is_error(with("empty"), "empty directory"));
  CHECK(is_error(with("inner"), "nested project"));
  CHECK(is_error(with("inner/x"), "nested project"));
  CHECK(is_error(with("node_modules"), "node_modules"));
  CHECK(is_error(with("node_modules/m/x"), "node_modules"));
  CHECK(is_error(with("t.tsbuildinfo"), "never takes"));
  CHECK(is_error(with(".vx"), "never takes"));
  CHECK(is_error(with("fifo"), "neither a file nor a symbolic link"));
  CHECK(is_error(with("link/a"), "behind a symbolic link"));
  CHECK(is_error(with("hollow"), "lists no file"));
  CHECK(paths(with("link")) == list{"p/link"});
  CHECK(paths(with("absent")).empty());
  CHECK(is_error(f.now({"p", {"src"}, {"p/.env.local"}}), "workspaceFiles"));
  // What the task's own outputs or a "!" entry take back is an input in itself.
  CHECK(paths(f.now({"p", {"src", "!src/*"}, {}, {}, {}, {}})).empty());
}

TEST_CASE("the probe for literals is live") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a; echo '*.local' >.gitignore");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  const declaration d{"p", {"a", "x.local", "late"}};
  CHECK(paths(select(*facts, d)) == list{"p/a"});
  f.dir.write("p/x.local", "1");
  CHECK(is_error(select(*facts, d), "git ignores it"));
  f.dir.remove("p/x.local");
  f.dir.write("p/late", "1");  // newer than the listing, and no input that was missed
  CHECK(paths(select(*facts, d)) == list{"p/a", "p/late"});
}

TEST_CASE("nested projects own their files, whatever their names") {
  inputs_fixture f;
  f.sh(
      "mkdir -p foo/nested/src foo/src foo-utils 'foo/a*' foo/ab; for x in foo/x foo/src/y foo/nested/n foo/nested/src/m "
      "foo-utils/u 'foo/a*/s' foo/ab/t root; do echo $x >\"$x\"; done");
  f.commit();
  CHECK(paths(f.now({"foo", {"**"}, {}, {}, {}, {"a*", "nested"}})) == list{"foo/ab/t", "foo/src/y", "foo/x"});
  CHECK(paths(f.now({"", {"**"}, {}, {}, {}, {"foo", "foo-utils", "foo/nested"}})) == list{"root"});
  CHECK(paths(f.now({"", {"**"}, {}, {}, {}, {"foo", "foo/nested"}})) == list{"foo-utils/u", "root"});
  CHECK(paths(f.now({"foo", {"x"}, {"foo/nested/**"}, {}, {}, {"nested"}})) ==
        list{"foo/nested/n", "foo/nested/src/m", "foo/x"});
}

TEST_CASE("own outputs are no inputs, except what an output takes back") {
  inputs_fixture f;
  f.sh("mkdir -p p/out q; for x in p/a p/out/b p/out/keep q/c gen.txt; do echo $x >$x; done");
  f.commit();
  CHECK(paths(f.now({"p", {"**"}, {}, {"out/**"}})) == list{"p/a"});
  CHECK(paths(f.now({"p", {"**"}, {}, {"out/**", "!out/keep"}})) == list{"p/a", "p/out/keep"});
  CHECK(paths(f.now({"p", {"a"}, {"**"}, {"out/**"}, {"gen.txt"}})) == list{"p/a", "q/c"});
  CHECK(paths(f.now({"p", {"**"}, {}, {}, {"p/out/**"}})) == list{"p/a"});
  inputs::selector s = make_selector({"p", {"**"}, {}, {"out/**"}});
  s.subtract_outputs = false;
  auto facts = start_facts(f.root(), f.env);
  CHECK(paths(of(facts->select(s))) == list{"p/a", "p/out/b", "p/out/keep"});
}

TEST_CASE("workspace files join the list, each path once, without a fence") {
  inputs_fixture f;
  f.sh("mkdir -p p/src q/src; for x in p/src/a q/src/b tsconfig.json q/tsconfig.json; do echo $x >$x; done");
  f.commit();
  CHECK(paths(f.now({"p", {"src/**"}, {"tsconfig.json"}})) == list{"p/src/a", "tsconfig.json"});
  CHECK(paths(f.now({"p", {"src/**"}, {"**/tsconfig.json", "p/**"}})) == list{"p/src/a", "q/tsconfig.json", "tsconfig.json"});
  CHECK(paths(f.now({"p", {"src/**"}, {"q", "!q/src/**"}})) == list{"p/src/a", "q/tsconfig.json"});
  auto facts = start_facts(f.root(), f.env);
  for (int i = 0; i < 2; ++i) CHECK(paths(select(*facts, {"p", {"src/**"}, {"*.json"}})) == list{"p/src/a", "tsconfig.json"});
}

TEST_CASE("a declaration that selects nothing is legal and told") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  auto none = facts->select(make_selector({"p", {"src/**"}}));
  REQUIRE(none);
  CHECK(none->matched_nothing);
  CHECK(none->items.empty());
  CHECK(!facts->select(make_selector({"p", {"a"}}))->matched_nothing);
  CHECK(!facts->select(make_selector({"p", {}}))->matched_nothing);
}

TEST_CASE("dropped names and untracked files below node_modules are no inputs, tracked ones there are") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p/src/node_modules/m p/.vx; echo 1 >p/src/node_modules/m/tracked; git add -f p/src/node_modules; echo 1 >p/a; "
      "echo 1 >p/vx-lock.json; "
      "echo 1 >p/x.tsbuildinfo; git add -A");
  f.commit(
      "echo 1 >p/src/node_modules/m/untracked; echo 1 >p/.vx/x; mkdir p/.0123456789abcdef-01234567.tmp; echo 1 "
      ">p/.0123456789abcdef-01234567.tmp/x");
  CHECK(paths(f.now({"p"})) == list{"p/a", "p/src/node_modules/m/tracked"});
}

TEST_CASE("the manifest counts however narrow the globs, and when git ignores it") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p q r; echo '{}' >p/package.json; echo '{\"a\":1}' >q/package.json; echo 1 >r/x; echo q/package.json "
      ">.gitignore");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  CHECK(*facts->manifest_identity("p") == f.blob("p/package.json"));
  CHECK(*facts->manifest_identity("q") == f.blob("q/package.json"));
  CHECK(!facts->manifest_identity("r")->has_value());
  CHECK(!facts->manifest_identity("")->has_value());
  f.dir.write("q/package.json", "{}");
  facts->forget_paths({"q/package.json"});
  CHECK(*facts->manifest_identity("q") == f.blob("q/package.json"));
}

TEST_CASE("an unreadable input fails its reader by name and cause") {
  if (::geteuid() == 0) return;  // root reads everything
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a; chmod 000 p/a");
  CHECK(is_error(f.now({"p"}), "p/a"));
  CHECK(is_error(f.now({"p"}), "Permission denied"));
}
