// The remembered answer about untracked files: never different from git's own, and no question where nothing moved.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "inputs/untracked.hpp"
#include "inputs_fixture.hpp"

using namespace vx;
using namespace vx::test;

namespace {

/// A repository and a git that keeps a list of what it was asked.
struct remembering : inputs_fixture {
  temp_dir tools;
  std::unique_ptr<cache::index> index;

  remembering() {
    tools.write("git", "#!/bin/sh\ncase \"$*\" in *--others*) echo \"$*\" >>'" + tools.path() +
                           "/asked';; esac\nexec \"$REAL_GIT\" \"$@\"\n");
    tools.sh("chmod +x git");
    env.set("REAL_GIT", git::program::find(environment::of_process())->path());
    env.set("PATH", tools.path() + ":" + env.get("PATH"));
    index = std::move(*cache::index::open(root(), {}));
    sh("mkdir -p p/src p/dist p/empty p/logs q/deep/er; echo 1 >p/src/a; echo 1 >p/src/b; echo 1 >q/deep/er/f; echo 1 >top; "
       "printf 'dist/\\n*.log\\n.vx\\n' >.gitignore; git add -A; git commit -qm x; "
       "echo o >p/dist/out; echo l >p/logs/only.log; echo u >p/src/new; mkdir -p r/s; echo u >r/s/untracked; sleep 0.07");
    (void)seen();
    sh("sleep 0.07");
  }

  identities seen() {
    auto facts = start_facts(root(), env, index.get());
    identities got = select(*facts, {});
    facts->flush_memos();
    facts->remember_listing();
    index->flush();
    return got;
  }
  /// Questions since the last call: "" none, "all", or the directories.
  std::string asked() {
    std::string log = tools.sh("test ! -f asked || { cat asked; rm asked; }");
    std::string out;
    while (!log.empty()) {
      const std::size_t end = log.find('\n');
      const std::string line = log.substr(0, end);
      const std::size_t dirs = line.find(" -- ");
      out += (out.empty() ? "" : "; ") + (dirs == std::string::npos ? "all" : line.substr(dirs + 4));
      log.erase(0, end + 1);
    }
    return out;
  }
};

}  // namespace

TEST_CASE("what git said of untracked files is not asked again while nothing moved") {
  remembering f;
  CHECK(f.asked() == "all");
  const identities first = f.seen();
  CHECK(f.asked().empty());
  CHECK(first.count("r/s/untracked") == 1);
  CHECK(first.count("p/dist/out") == 0);
  CHECK(first == f.now());
  f.sh("echo 2 >p/src/a; echo 2 >p/src/new; echo o >p/dist/more; mkdir -p p/dist/x/y; echo 1 >.vx/whatever");
  CHECK(f.asked() == "all");  // now() has no memo
  const identities second = f.seen();
  CHECK(f.asked().empty());
  CHECK(second == f.now());
  CHECK(second != first);
}

TEST_CASE("whatever changes the untracked files is seen, and git is asked about as little as will do") {
  struct edit {
    const char *script, *question;
  };
  const std::vector<edit> edits = {
      {"echo 1 >p/src/c", "p/src/"},
      {"echo 1 >p/empty/c", "p/empty/"},
      {"echo 1 >p/logs/c", "p/logs/"},
      {"echo 1 >r/s/c", "r/s/"},
      {"mkdir -p p/a/b/c; echo 1 >p/a/b/c/d", "p/"},
      {"rm p/src/new", "p/src/"},
      {"rm p/src/a", "p/src/"},
      {"rm -r q", "all"},
      {"mv p/src/new p/src/new2", "p/src/"},
      {"mv p/src/new q/deep/new", "p/src/ q/deep/"},
      {"mv r/s q/deep/s", "q/deep/ r/"},
      {"rm -r r/s; ln -s ../p/src r/s", "r/"},
      {"rmdir p/empty; mkdir p/empty; echo 1 >p/empty/c", "p/"},
      {"rm -r p/dist; echo 1 >p/dist", "p/"},
      {"echo '*.c' >p/src/.gitignore; echo 1 >p/src/x.c", "p/src/"},
      {"echo '!only.log' >p/logs/.gitignore", "p/logs/"},
      {"printf 'dist/\\n.vx\\n' >.gitignore", "all"},
      {"printf '*.log\\n.vx\\n' >.gitignore; touch -d @1 .gitignore", "all"},
      {"rm .gitignore", "all"},
      {"echo 'new' >.git/info/exclude", "all"},
      {"rm -r .git/info", ""},  // the exclude file of the template says nothing, yet it was there
      {"mkdir -p ~/.config/git; echo new >~/.config/git/ignore", "all"},
      {"git config core.excludesFile ~/rules; echo new >~/rules", "all"},
      {"git rm -q --cached p/src/a", "all"},
      {"git add p/src/new", "all"},
      {"git mv p/src/a p/src/z", "all"},
      {"echo 1 >at-root", "all"},
      {"git init -q r/s", "r/s/; all"},  // git will not answer about the inside of a repository
      {"git init -q p/src", "p/src/"},
      {"chmod 000 r/s; chmod 755 r/s", "r/s/"},
  };
  for (const edit& e : edits) {
    INFO(e.script);
    remembering f;
    (void)f.asked();
    f.sh(e.script);
    const identities seen = f.seen();
    if (*e.question != '\0')
      CHECK(f.asked() == e.question);
    else
      (void)f.asked();
    CHECK(seen == f.now());
    f.sh("sleep 0.07");
    CHECK(f.seen() == f.now());  // the memo that this one left
    f.sh("sleep 0.07");
    CHECK(f.seen() == f.now());
  }
}

TEST_CASE("an answer younger than the clock can tell is not believed") {
  remembering f;
  f.sh("echo 1 >p/src/c");
  (void)f.seen();  // the directory moved a moment ago
  f.sh("echo 1 >p/src/d");
  CHECK(f.seen() == f.now());
  f.sh("sleep 0.07");
  (void)f.seen();
  (void)f.asked();
  CHECK(f.seen() == f.now());
}

TEST_CASE("a remembered answer is bytes: damage is no answer") {
  inputs::untracked_memo m;
  m.dirs = {{"", 1, 2}, {"a", 3, 4}};
  m.rules = {{".gitignore", 5, 6}, {"/none", 0, 0}};
  m.answer = std::string_view("x\0y\0", 4);
  const std::string bytes = m.encode();
  const auto back = inputs::untracked_memo::decode(std::make_shared<const std::string>(bytes));
  REQUIRE(back);
  CHECK(back->answer == m.answer);
  CHECK(back->dirs.size() == 2);
  CHECK(back->dirs[1].path == "a");
  CHECK(back->rules[1].ino == 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    CHECK_FALSE(inputs::untracked_memo::decode(std::make_shared<const std::string>(flipped)));
    CHECK_FALSE(inputs::untracked_memo::decode(std::make_shared<const std::string>(bytes.substr(0, i))));
  }
}

TEST_CASE("splicing keeps what lies elsewhere, whatever the neighbours are called") {
  const std::string old("a/1\0a-b/2\0a/b/3\0ab\0", 19), fresh("a/9\0", 4);
  CHECK(inputs::splice_answer(old, {"a"}, fresh) == std::string("a-b/2\0ab\0a/9\0", 13));
  CHECK(inputs::splice_answer(old, {}, "") == old);
}

TEST_CASE("random edits: the memo's answer is git's") {
  std::mt19937 random(20261130);
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  remembering f;
  for (int step = 0; step < 120; ++step) {
    const std::string dir =
        pick({"p", "p/src", "p/empty", "p/logs", "p/dist", "q/deep", "q/deep/er", "r", "r/s", "r/n", ".", "w/x"});
    const std::string file = dir + "/" + pick({"a", "b", "f", "new", "x.log", "dist", "k"});
    std::string script;
    switch (random() % 12) {
      case 0: script = "rm -rf " + dir + "/[a-z]*"; break;
      case 1: script = "git add -A " + dir; break;
      case 2: script = "git rm -rq --cached " + dir; break;
      case 3: script = "rm -rf " + file + "; mkdir -p " + file; break;
      case 4: script = "echo '" + pick({"new", "*.log", "!x.log", "s/", "k", "empty"}) + "' >" + dir + "/.gitignore"; break;
      case 5: script = "rm -f " + dir + "/.gitignore"; break;
      case 6: script = "mv " + dir + "/a " + file; break;
      case 7: script = "echo '" + pick({"new", "k", ""}) + "' >.git/info/exclude"; break;
      case 8: script = "rm -rf " + file + "; ln -s ../src " + file; break;
      default: script = "mkdir -p " + dir + "; echo " + std::to_string(step) + " >" + file; break;
    }
    f.sh("{ test -d " + dir + " || mkdir -p " + dir + "; " + script + "; } >/dev/null 2>&1 || true" +
         (random() % 3 == 0 ? "; sleep 0.06" : ""));
    INFO("step ", step, ": ", script);
    CHECK(f.seen() == f.now());
  }
}
