#include <doctest/doctest.h>

#include <thread>

#include "inputs_fixture.hpp"

using namespace vx;
using namespace vx::test;
using inputs::facts;

namespace {

std::vector<std::string> paths(const identities& m) {
  std::vector<std::string> out;
  for (const auto& [p, id] : m) out.push_back(p);
  return out;
}
using list = std::vector<std::string>;

/// Facts over a small repository with two projects, one nested.
struct forget_fixture : inputs_fixture {
  std::unique_ptr<facts> known;
  forget_fixture() {
    sh("mkdir -p p/src p/nested q; printf 'dist/\\n*.log\\n' >.gitignore; for x in p/a p/src/b p/nested/n q/c; do echo $x >$x; "
       "done");
    commit();
    known = start_facts(root(), env);
  }
  /// What the living facts say equals what a new run would say.
  void agree(const char* what) {
    CAPTURE(what);
    for (const declaration& d : {declaration{"p", {"**"}, {}, {}, {}, {"nested"}}, declaration{"p/nested"}, declaration{"q"},
                                 declaration{"q", {"**"}, {"**"}}, declaration{}}) {
      CHECK(select(*known, d) == now(d));
    }
  }
};

}  // namespace

TEST_CASE("facts are believed until they are forgotten") {
  forget_fixture f;
  const identities before = select(*f.known, {"p"});
  f.dir.write("p/a", "changed");
  CHECK(select(*f.known, {"p"}) == before);
  f.known->forget_paths({"p/a"});
  CHECK(select(*f.known, {"p"}) != before);
  f.agree("one path");
}

TEST_CASE("after forgetting exact paths the facts are those of a new run") {
  forget_fixture f;
  f.sh(
      "mkdir -p p/dist q/dist; echo 1 >p/dist/o; echo 1 >p/new; echo 1 >p/x.log; rm p/src/b; echo 2 >q/c; chmod +x q/c; mkdir "
      "-p p/made/deep; echo 1 >p/made/deep/f; ln -s a p/link");
  f.known->forget_paths({"p/dist/o", "p/new", "p/x.log", "p/src/b", "q/c", "p/made/deep/f", "p/link", "q/dist/none"});
  f.agree("written and removed");
  f.sh("echo p/src/b >p/src/b; rm p/new");
  f.known->forget_paths({"p/src/b", "p/new"});
  f.agree("put back");
  f.sh("rm p/a; mkdir p/a; echo 1 >p/a/inner; rm -r p/made; echo 1 >p/made; rm -r p/src");
  f.known->forget_paths({"p/a", "p/made", "p/src"});
  f.agree("files become directories, directories files");
  f.sh("mkdir -p p/src p/tree/x; echo 1 >p/src/again; echo 1 >p/tree/x/y");
  f.known->forget_paths({"p/src", "p/tree"});
  f.agree("directories named as paths");
}

TEST_CASE("after forgetting a project, a directory of rules or the workspace the facts are those of a new run") {
  forget_fixture f;
  f.sh("echo 2 >p/a; echo 1 >p/src/new; mkdir p/dist; echo 1 >p/dist/x; rm p/src/b");
  f.known->forget_project("p", std::make_shared<const list>(list{"nested"}));
  f.agree("project");
  const std::string nested = select(*f.known, {"p/nested"}).at("p/nested/n");
  f.sh("echo 2 >p/nested/n");
  f.known->forget_project("p", std::make_shared<const list>(list{"nested"}));
  CHECK(select(*f.known, {"p/nested"}).at("p/nested/n") == nested);  // beyond the fence
  f.known->forget_project("p/nested", nullptr);
  f.agree("nested project");
  f.sh("echo a >p/.gitignore; echo 1 >p/src/a; git rm -q --cached p/a");
  f.known->forget_paths({"p/.gitignore"});
  CHECK(paths(select(*f.known, {"p"})) == list{"p/.gitignore", "p/nested/n", "p/src/new"});
  f.agree("rules");
  f.sh("echo 3 >q/c; echo 1 >top; rm -r p");
  f.known->forget_workspace();
  f.agree("workspace");
}

TEST_CASE("rules rewritten during the run decide about files written after them") {
  forget_fixture f;
  f.sh("mkdir q/out; echo 1 >q/out/x");
  f.known->forget_paths({"q/out/x"});
  CHECK(paths(select(*f.known, {"q"})) == list{"q/c", "q/out/x"});
  f.sh("echo out >q/.gitignore");
  f.known->forget_paths({"q/.gitignore"});
  CHECK(paths(select(*f.known, {"q"})) == list{"q/.gitignore", "q/c"});
  f.sh("rm q/.gitignore; echo 1 >q/out/y");
  f.known->forget_paths({"q/.gitignore", "q/out/y"});
  CHECK(paths(select(*f.known, {"q"})) == list{"q/c", "q/out/x", "q/out/y"});
  f.agree("rules gone");
}

TEST_CASE("an index written during the run is never trusted") {
  forget_fixture f;
  f.sh("echo 2 >q/c; sleep 0.07; git add q/c; git update-index --assume-unchanged q/c; echo 3 >q/c");
  f.known->forget_project("q", nullptr);
  CHECK(select(*f.known, {"q"}).at("q/c") == f.blob("q/c"));
}

TEST_CASE("forgetting works without git") {
  forget_fixture f;
  environment bare = f.env;
  bare.set("PATH", "/nonexistent");
  auto known = start_facts(f.root(), bare);
  f.sh("mkdir -p p/dist; echo 1 >p/dist/o; echo 1 >p/new; rm p/src/b; echo 2 >p/a");
  known->forget_paths({"p/dist/o", "p/new", "p/src/b", "p/a"});
  auto fresh = start_facts(f.root(), bare);
  CHECK(select(*known, {"p"}) == select(*fresh, {"p"}));
  f.sh("echo new >p/.gitignore");
  known->forget_paths({"p/.gitignore"});
  CHECK(paths(select(*known, {"p"})) == list{"p/.gitignore", "p/a", "p/nested/n"});
  known->forget_workspace();
  CHECK(paths(select(*known, {"p"})) == list{"p/.gitignore", "p/a", "p/nested/n"});
}

TEST_CASE("selections from many threads while facts die") {
  forget_fixture f;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 15; ++i) {
        const std::string name = "q/f" + std::to_string(t) + "-" + std::to_string(i);
        f.dir.write(name, name);
        f.known->forget_paths({name});
        if (i % 5 == 0) f.known->forget_project("p", nullptr);
        if (!f.known->select(make_selector({"q", {"**"}, {"p/**"}}))) std::abort();
        if (!f.known->manifest_identity("p")) std::abort();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(select(*f.known, {"q"}).size() == 61);
  f.agree("threads");
}

TEST_CASE("no reader sees the table of before while another thread lists what died") {
  forget_fixture f;
  for (int i = 0; i < 25; ++i) {
    const std::string name = "p/late" + std::to_string(i);
    f.dir.write(name, name);
    f.known->forget_project("p", nullptr);
    std::atomic<bool> listing{true};
    std::thread other([&] {
      if (!f.known->select(make_selector({"q", {"**"}, {"**"}}))) std::abort();
      listing = false;
    });
    int without = 0;
    while (listing) without += select(*f.known, {"p"}).count(name) == 0 ? 1 : 0;
    other.join();
    CHECK(without == 0);
  }
}

TEST_CASE("a listing of an ignored project that was under way when its facts died is not kept") {
  inputs_fixture f;
  f.sh(
      "mkdir -p gen/src other; printf 'gen\\n' >.gitignore; echo 1 >gen/src/a; echo 1 >other/o; for i in $(seq 800); do mkdir "
      "gen/src/d$i; done");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      if (!facts->select(make_selector({"gen"}))) std::abort();
    }
  });
  int without = 0;
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < i * 200; ++k) (void)f.dir.exists("gen/src/a");  // every time a little later in the other's listing
    const std::string name = "gen/late" + std::to_string(i);
    f.dir.write(name, name);
    facts->forget_project("gen", nullptr);
    without += select(*facts, {"gen"}).count(name) == 0 ? 1 : 0;
  }
  stop = true;
  other.join();
  CHECK(without == 0);
}

namespace {

struct truth_fixture : inputs_fixture {
  std::unique_ptr<facts> known;
  declaration d{"p", {"src/**", "late.txt"}, {"shared/**"}, {"dist/**"}, {}, {"nested"}};
  truth_fixture() {
    sh("mkdir -p p/src/deep p/nested p/dist p/src/old shared; printf 'dist/\\n*.tmp\\n' >.gitignore; for x in p/src/a p/src/b "
       "p/src/deep/c p/nested/n p/package.json shared/s; do echo $x >$x; done; echo 1 >p/src/old/x.tmp");
    commit();
    sh("sleep 0.07");
    known = start_facts(root(), env);
  }
  std::string after(std::string_view script, facts::strictness how = facts::strictness::immutable) {
    auto described = known->describe(make_selector(d));
    if (!described) return "!" + described.error().message;
    sh(script);
    return known->moved(make_selector(d), *described, how).value_or("-");
  }
};

}  // namespace

TEST_CASE("what a command may do without moving an input") {
  truth_fixture f;
  for (const char* script :
       {"true", "echo 1 >p/dist/out", "mkdir -p p/dist/x/y; echo 1 >p/dist/x/y/z", "touch p/src/tmp.mjs; rm p/src/tmp.mjs",
        "echo 1 >p/src/ignored.tmp", "echo 1 >p/nested/new", "echo 1 >p/other", "echo 1 >unrelated", "mkdir p/src/empty",
        "mkdir -p p/src/node_modules; echo 1 >p/src/node_modules/x", "echo 1 >p/src/x.tsbuildinfo", "cat p/src/a >/dev/null"}) {
    CAPTURE(script);
    CHECK(f.after(script) == "-");
  }
}

TEST_CASE("what moves an input, and which file is named") {
  const std::pair<const char*, const char*> rows[] = {
      {"echo 2 >p/src/a", "p/src/a"},
      {"cp p/src/a k; echo 2 >p/src/a; cat k >p/src/a; rm k", "p/src/a"},  // edited and reverted
      {"cat p/src/a >k; cat k >p/src/a; rm k", "p/src/a"},                 // rewritten with equal bytes
      {"cp -p p/src/a k; echo p/src/x >p/src/a; touch -r k p/src/a; rm k", "p/src/a"},
      {"rm p/src/deep/c", "p/src/deep/c"},
      {"rm p/src/a; ln -s b p/src/a", "p/src/a"},
      {"rm p/src/a; mkdir p/src/a", "p/src/a"},
      {"chmod +x p/src/b", "p/src/b"},
      {"echo '{}' >p/package.json", "p/package.json"},
      {"rm p/package.json", "p/package.json"},
      {"echo 2 >shared/s", "shared/s"},
      {"echo 1 >p/src/new", "p/src/new"},
      {"ln -s x p/src/newlink", "p/src/newlink"},
      {"mkdir -p p/src/made/deep; echo 1 >p/src/made/deep/f", "p/src/made/deep/f"},
      {"echo 1 >shared/new", "shared/new"},
      {"echo 1 >p/late.txt", "p/late.txt"},
      {"mkdir p/late.txt; echo 1 >p/late.txt/x", "p/late.txt/x"},
      {"mv p/src p/away; mkdir p/src; cp -rp p/away/. p/src", "p/src/a"},
      {"mv p/src/deep p/away; ln -s ../away p/src/deep", "p/src/deep/c"},
  };
  for (const auto& [script, want] : rows) {
    CAPTURE(script);
    truth_fixture f;
    CHECK(f.after(script) == want);
  }
}

TEST_CASE("what was written a moment before the describe is not the command's doing, what is written after it is") {
  truth_fixture f;
  for (int i = 0; i < 5; ++i) {
    f.dir.write("p/src/a", std::to_string(i));
    f.known->forget_paths({"p/src/a"});
    CHECK(f.after("true") == "-");
    CHECK(f.after("cat p/src/a >k; cat k >p/src/a; rm k") == "p/src/a");
  }
}

TEST_CASE("a directory swapped for an older one has moved although its files are old") {
  truth_fixture f;
  f.sh(
      "mkdir -p p/spare; for x in a b; do echo other >p/spare/$x; done; mkdir p/spare/deep; echo o >p/spare/deep/c; sleep "
      "0.07");
  f.known = start_facts(f.root(), f.env);
  CHECK(f.after("mv p/src p/away; mv p/spare p/src") == "p/src");
}

TEST_CASE("a task may wipe and make its own listed output directories") {
  truth_fixture f;
  f.sh("mkdir -p p/made/x; echo 1 >p/made/x/o; sleep 0.07");  // outputs that git does not ignore
  f.known = start_facts(f.root(), f.env);
  f.d = {"p", {"**"}, {}, {"made/**", "dist/**"}, {}, {"nested"}};
  CHECK(f.after("rm -r p/made; mkdir -p p/made/x; echo 2 >p/made/x/o; echo 2 >p/made/new") == "-");
  CHECK(f.after("echo 1 >p/else") == "p/else");
}

TEST_CASE("edits between the listing and the describe are seen after the command") {
  truth_fixture f;
  auto first = f.known->select(make_selector(f.d));
  f.sh("echo 2 >p/src/a; sleep 0.07");
  CHECK(f.after("true") == "p/src/a");
  truth_fixture g;
  g.sh("echo 2 >p/src/new; sleep 0.07");
  CHECK(g.after("true") == "p/src/new");
  truth_fixture h;
  h.sh("echo 2 >p/src/a; sleep 0.07");
  h.known->forget_paths({"p/src/a"});
  CHECK(h.after("true") == "-");
}

TEST_CASE("mutable inputs are judged by their bytes, unchecked ones not at all") {
  truth_fixture f;
  CHECK(f.after("cat p/src/a >k; cat k >p/src/a; rm k", facts::strictness::mutable_) == "-");
  CHECK(f.after("echo 2 >p/src/a", facts::strictness::mutable_) == "p/src/a");
  truth_fixture g;
  CHECK(g.after("echo 2 >p/src/a; rm p/src/b; echo 1 >p/src/new", facts::strictness::unchecked) == "-");
}

TEST_CASE("files listed but gone fold as absent, and their return is a move") {
  truth_fixture f;
  f.sh("echo u >p/src/u; sleep 0.07");
  auto known = start_facts(f.root(), f.env);
  f.sh("rm p/src/u");
  const identities got = select(*known, f.d);
  CHECK(got.at("p/src/u").empty());
  f.known = std::move(known);
  CHECK(f.after("true") == "-");
  CHECK(f.after("echo u >p/src/u") == "p/src/u");
}

namespace {

struct exact_fixture : truth_fixture {
  std::string elsewhere;
  temp_dir other;
  exact_fixture() {
    other.write("sys.h", "sys");
    elsewhere = *fs::real_path(other.path() + "/sys.h");
    sh("sleep 0.07");
    known = start_facts(root(), env);
  }
  list exact = {"p/src/old/x.tmp", "p/src/a", "p/none", "p/src/a"};
  std::string after(std::string_view script) {
    list files = exact;
    files.push_back(elsewhere);
    auto described = known->describe_paths(files);
    if (!described) return "!" + described.error().message;
    sh(script);
    return known->moved({}, *described, facts::strictness::immutable).value_or("-");
  }
};

}  // namespace

TEST_CASE("exact files are described whatever git thinks of them, also outside the root") {
  exact_fixture f;
  list files = f.exact;
  files.push_back(f.elsewhere);
  const auto d = f.known->describe_paths(files);
  REQUIRE(d);
  const identities got = of(d->files);
  CHECK(paths(got) == list{f.elsewhere, "p/none", "p/src/a", "p/src/old/x.tmp"});
  CHECK(got.at("p/src/a") == f.blob("p/src/a"));
  CHECK(got.at("p/src/old/x.tmp") == f.blob("p/src/old/x.tmp"));  // ignored
  CHECK(got.at(f.elsewhere) == key::git_blob_id("sys", key::object_format::sha1).hex());
  CHECK(got.at("p/none").empty());
}

TEST_CASE("what moves an exact file, and what does not") {
  const auto told = [](const std::string& script) {
    exact_fixture f;
    std::string text = script;
    if (const auto at = text.find("$SYS"); at != std::string::npos) text.replace(at, 4, f.elsewhere);
    const std::string moved = f.after(text);
    return moved == f.elsewhere ? std::string("$SYS") : moved;
  };
  for (const char* script : {"true", "echo 1 >p/src/new", "echo 2 >p/src/b", "echo '{}' >p/package.json"}) {
    CAPTURE(script);
    CHECK(told(script) == "-");
  }
  CHECK(told("echo 2 >p/src/a") == "p/src/a");
  CHECK(told("echo 2 >p/src/old/x.tmp") == "p/src/old/x.tmp");
  CHECK(told("echo 1 >p/none") == "p/none");
  CHECK(told("echo 2 >$SYS") == "$SYS");
  CHECK(told("rm $SYS") == "$SYS");
}

TEST_CASE("facts about exact files die with the others") {
  exact_fixture f;
  const auto first = f.known->describe_paths({f.elsewhere, "p/src/old/x.tmp"});
  f.sh("echo 2 >'" + f.elsewhere + "'; echo 2 >p/src/old/x.tmp");
  CHECK(of(f.known->describe_paths({f.elsewhere, "p/src/old/x.tmp"})->files) == of(first->files));
  f.known->forget_paths({f.elsewhere, "p/src/old/x.tmp"});
  const identities now = of(f.known->describe_paths({f.elsewhere, "p/src/old/x.tmp"})->files);
  CHECK(now.at("p/src/old/x.tmp") == f.blob("p/src/old/x.tmp"));
  CHECK(now.at(f.elsewhere) != of(first->files).at(f.elsewhere));
  f.sh("echo 3 >'" + f.elsewhere + "'");
  f.known->forget_workspace();
  CHECK(of(f.known->describe_paths({f.elsewhere})->files).at(f.elsewhere) != now.at(f.elsewhere));
}
