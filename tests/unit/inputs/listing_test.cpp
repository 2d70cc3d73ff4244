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

}  // namespace

TEST_CASE("every name valid on the file system is an input") {
  inputs_fixture f;
  const list names = {"日本語", "a\"b", "n\nl", "bad\xff", " lead", "trail ", "-dash", "back\\slash", "*star", "[x]", "\ttab"};
  for (const std::string& n : names) f.dir.write("p/src/" + n, "1");
  const auto check = [&](const char* state) {
    CAPTURE(state);
    identities before = f.now({"p", {"src/**"}});
    CHECK(before.size() == names.size());
    for (const std::string& n : names) {
      f.dir.write("p/src/" + n, state + n);
      identities after = f.now({"p", {"src/**"}});
      CHECK(after.at("p/src/" + n) != before.at("p/src/" + n));
      before = after;
    }
  };
  check("untracked");
  f.commit();
  check("tracked");
}

TEST_CASE("the states of a path that git and the disk disagree about") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p/d p/e p/moved; echo 1 >p/gone; echo 1 >p/d/x; echo 1 >p/was-file; echo 1 >p/e/y; echo 1 >p/fifo; echo 1 "
      ">p/moved/z; echo moved >>.gitignore; git add -f p/moved/z");
  f.commit();
  f.sh(
      "rm p/gone; rm p/was-file; mkdir p/was-file; echo 1 >p/was-file/inner; rm p/fifo; mkfifo p/fifo; mv p/e p/real; ln -s "
      "real p/e; "
      "mv p/moved elsewhere; ln -s ../elsewhere p/moved; rm -r p/d; echo 1 >p/d");
  CHECK(paths(f.now({"p"})) == list{"p/d", "p/e", "p/real/y", "p/was-file/inner"});
}

TEST_CASE("a repository without a commit, and one without anything") {
  inputs_fixture f;
  CHECK(f.now().empty());
  f.sh("mkdir p; echo 1 >p/a; git add p/a; echo 1 >p/b");
  CHECK(paths(f.now({"p"})) == list{"p/a", "p/b"});
}

TEST_CASE("every form of the index gives the same identities") {
  identities want;
  const std::pair<const char*, const char*> forms[] = {
      {"git init -q .", "git update-index --index-version 2"},
      {"git init -q .", "git update-index --index-version 4"},
      {"git init -q .", "git update-index --split-index; echo 9 >p/later; git add p/later"},
      {"git init -q .", "git update-index --force-untracked-cache; git status >/dev/null"},
      {"git init -q .", "git config feature.manyFiles true; git status >/dev/null"},
  };
  for (const auto& [init, script] : forms) {
    CAPTURE(script);
    inputs_fixture f(init);
    f.sh("mkdir -p p/s; for n in 1 2 3 4 5; do echo $n >p/s/f$n; done; echo 9 >p/later");
    f.commit(script);
    f.sh("echo u >p/untracked; echo 2 >p/s/f1");
    const identities got = f.now({"p"});
    if (want.empty()) want = got;
    CHECK(got == want);
    CHECK(got.size() == 7);
  }
}

TEST_CASE("a SHA-256 repository has SHA-256 identities") {
  inputs_fixture f("git init -q --object-format=sha256 .");
  f.sh("mkdir p; echo 1 >p/a; echo 2 >p/x; chmod +x p/x");
  f.commit("echo 3 >p/b");
  const identities got = f.now({"p"});
  CHECK(got.at("p/a") == f.blob("p/a"));
  CHECK(got.at("p/b") == f.blob("p/b"));
  CHECK(got.at("p/b").size() == 64);
  CHECK(got.at("p/x").size() == 71);
}

TEST_CASE("what lies in submodules and nested repositories counts, at any depth") {
  inputs_fixture f("");
  f.sh(
      "git init -q -b main leaf; echo 1 >leaf/f; git -C leaf add f; git -C leaf commit -qm l; "
      "git init -q -b main mid; git -C mid submodule --quiet add \"$PWD/leaf\" deep 2>/dev/null; git -C mid commit -qm m; "
      "git init -q -b main ws; mkdir -p ws/p; echo 1 >ws/p/a; git -C ws submodule --quiet add \"$PWD/mid\" p/vendor "
      "2>/dev/null; "
      "git -C ws submodule --quiet update --init --recursive; git -C ws add -A; git -C ws commit -qm w");
  const auto now = [&] {
    auto facts = start_facts(f.root() + "/ws", f.env);
    return select(*facts, {"p"});
  };
  identities first = now();
  CHECK(paths(first) == list{"p/a", "p/vendor/.gitmodules", "p/vendor/deep/f"});
  f.sh("echo 2 >ws/p/vendor/deep/f");
  CHECK(now().at("p/vendor/deep/f") != first.at("p/vendor/deep/f"));
  f.sh(
      "git -C ws/p/vendor/deep commit -qam in; echo u >ws/p/vendor/new; echo i >ws/p/vendor/ign; echo ign "
      ">>ws/.git/modules/p/vendor/info/exclude");
  CHECK(paths(now()) == list{"p/a", "p/vendor/.gitmodules", "p/vendor/deep/f", "p/vendor/new"});
  f.sh("git -C ws submodule --quiet deinit -f p/vendor");
  CHECK(paths(now()) == list{"p/a"});
  f.sh("mkdir -p ws/p/vendor/sub; echo 1 >ws/p/vendor/sub/x; echo s.o >ws/p/vendor/.gitignore; echo 1 >ws/p/vendor/s.o");
  CHECK(paths(now()) == list{"p/a", "p/vendor/.gitignore", "p/vendor/sub/x"});
  f.sh(
      "git init -q ws/p/own; echo 1 >ws/p/own/x; git init -q ws/p/hidden; echo 1 >ws/p/hidden/x; echo p/hidden >ws/.gitignore");
  CHECK(paths(now()) == list{"p/a", "p/own/x", "p/vendor/.gitignore", "p/vendor/sub/x"});
}

TEST_CASE("a linked worktree inside the tree is no input; as a workspace it has the keys of the main checkout") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a");
  f.commit();
  const identities before = f.now();
  f.sh("git worktree add -q wt; git worktree add -q p/wt2; echo 2 >wt/p/a");
  CHECK(f.now() == before);
  f.sh("git -C wt checkout -q p/a; sleep 0.07; git -C wt update-index --refresh");
  auto facts = start_facts(f.root() + "/wt", f.env);
  CHECK(select(*facts, {}) == before);
}

TEST_CASE("a sparse checkout lacks the inputs outside its cone and says so") {
  inputs_fixture f;
  f.sh("mkdir -p a b c; echo 1 >a/x; echo 1 >b/y; echo 1 >c/z");
  f.commit();
  const identities full = f.now({"a"});
  for (const char* how : {"git sparse-checkout set --no-sparse-index a b", "git sparse-checkout set --sparse-index a b"}) {
    CAPTURE(how);
    f.sh(how);
    auto facts = start_facts(f.root(), f.env);
    CHECK(select(*facts, {"a"}) == full);
    CHECK(!facts->sparse_notice().has_value());
    CHECK(paths(select(*facts, {"a", {"**"}, {"c/**"}})) == list{"a/x"});
    REQUIRE(facts->sparse_notice().has_value());
    CHECK(facts->sparse_notice()->find("1 input file lies outside the sparse checkout") != std::string::npos);
  }
}

TEST_CASE("inherited git variables change nothing") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a");
  f.commit();
  const identities want = f.now({"p"});
  git_fixture other;
  other.sh("echo 1 >z; git add z");
  environment env = f.env;
  env.set("GIT_DIR", other.root() + "/.git");
  env.set("GIT_WORK_TREE", other.root());
  env.set("GIT_INDEX_FILE", other.root() + "/.git/index");
  env.set("GIT_LITERAL_PATHSPECS", "1");
  auto facts = start_facts(f.root(), env);
  CHECK(facts->uses_git());
  CHECK(select(*facts, {"p"}) == want);
}

TEST_CASE("without git the walk gives the identities of a clone, and one notice") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p/src/deep p/node_modules/m p/dist p/keep; echo 1 >p/src/a; echo 2 >p/src/deep/b; chmod +x p/src/a; ln -s a "
      "p/src/l; echo 1 >p/node_modules/m/x; "
      "echo 1 >p/dist/o; echo 1 >p/keep/log.txt; echo 1 >p/x.log; printf 'dist/\\n*.log\\nnode_modules\\n' >.gitignore; printf "
      "'!x.log\\n' >p/.gitignore; git add -A -f p/src .gitignore p/.gitignore p/x.log p/keep");
  f.commit();
  const identities want = f.now({"p"});
  CHECK(want.size() == 6);
  f.sh("mv .git ../$(basename $PWD).git");
  auto facts = start_facts(f.root(), f.env);
  CHECK(!facts->uses_git());
  REQUIRE(facts->notices().size() == 1);
  CHECK(facts->notices()[0].find("not a git work tree") != std::string::npos);
  CHECK(select(*facts, {"p"}) == want);
  environment bare = f.env;
  bare.set("PATH", "/nonexistent");
  auto without = start_facts(f.root(), bare);
  CHECK(select(*without, {"p"}) == want);
  CHECK(without->notices()[0].find("git is not on PATH") != std::string::npos);
  auto literal = without->select(make_selector({"p", {"dist"}}));
  REQUIRE(!literal);
  CHECK(literal.error().message.find("ignores it") != std::string::npos);
  f.sh("mv ../$(basename $PWD).git .git");
}

TEST_CASE("a root the enclosing repository ignores is walked") {
  inputs_fixture f;
  f.sh("mkdir -p out/ws/p; echo out >.gitignore; echo 1 >out/ws/p/a; echo b >out/ws/.gitignore; echo 1 >out/ws/p/b");
  f.commit();
  auto facts = start_facts(f.root() + "/out/ws", f.env);
  REQUIRE(facts->notices().size() == 1);
  CHECK(facts->notices()[0].find("ignores") != std::string::npos);
  CHECK(paths(select(*facts, {"p"})) == list{"p/a"});
  CHECK(!facts->uses_git());
}

TEST_CASE("a project git ignores is walked for itself and stays invisible to others") {
  inputs_fixture f;
  f.sh(
      "mkdir -p gen/src gen/dist other; printf 'gen\\n' >.gitignore; echo 1 >gen/src/a; echo dist >gen/.gitignore; echo 1 "
      ">gen/dist/x; echo 1 >other/o; echo '{}' >gen/package.json");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  CHECK(paths(select(*facts, {"gen"})) == list{"gen/.gitignore", "gen/package.json", "gen/src/a"});
  CHECK(paths(select(*facts, {"", {"**"}})) == list{".gitignore", "other/o"});
  const identities before = select(*facts, {"gen"});
  f.dir.write("gen/src/a", "2");
  facts->forget_project("gen", nullptr);
  CHECK(select(*facts, {"gen"}).at("gen/src/a") != before.at("gen/src/a"));
  CHECK(f.now({"gen"}) == select(*facts, {"gen"}));
}

TEST_CASE("a project inside a repository of its own that the outer one ignores is asked of its own git") {
  inputs_fixture f;
  f.sh(
      "echo inner >.gitignore; echo 1 >a; git init -q inner; mkdir -p inner/p; echo 1 >inner/p/x; echo 1 >inner/p/i; echo i "
      ">inner/.gitignore");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  CHECK(paths(select(*facts, {"inner/p"})) == list{"inner/p/x"});
  CHECK(paths(select(*facts, {})) == list{".gitignore", "a"});
}

TEST_CASE("vx takes no lock and writes nothing into the repository") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a");
  f.commit("touch p/a; touch .git/index.lock");
  const std::string before = f.sh("find .git -type f | sort | xargs sha256sum; stat -c '%y %i' .git/index");
  CHECK(f.now({"p"}).size() == 1);
  CHECK(f.sh("find .git -type f | sort | xargs sha256sum; stat -c '%y %i' .git/index") == before);
}
