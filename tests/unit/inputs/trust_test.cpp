#include <doctest/doctest.h>

#include "inputs_fixture.hpp"

using namespace vx;
using namespace vx::test;

TEST_CASE("a clean tracked file is taken from the index without a read") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a; echo 2 >p/x; chmod +x p/x; ln -s a p/l");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  const read_counter counter;
  const identities got = select(*facts, {"p"});
  CHECK(counter.reads() == 0);
  CHECK(got.at("p/a") == f.blob("p/a"));
  CHECK(got.at("p/x") == "100755:" + f.blob("p/x"));
  CHECK(got.at("p/l").starts_with("120000:"));
  CHECK(got.at("p/l") == "120000:" + f.sh("printf a | git hash-object --stdin").substr(0, 40));
}

TEST_CASE("whatever hides a change from git, the bytes on disk are the identity") {
  struct row {
    const char* name;
    const char* before;  // before the commit
    const char* after;   // hides, then edits p/a
  };
  const row rows[] = {
      {"plain edit", "", "echo 2 >p/a"},
      {"assume-unchanged", "", "git update-index --assume-unchanged p/a; echo 2 >p/a"},
      {"skip-worktree", "", "git update-index --skip-worktree p/a; echo 2 >p/a"},
      {"ignoreStat", "git config core.ignoreStat true", "echo 1 >p/b; git add p/b; echo 2 >p/a"},
      {"trustctime and checkStat", "git config core.trustctime false; git config core.checkStat minimal",
       "cp -p p/a keep; echo 2 >p/a; touch -r keep p/a; rm keep"},
      {"same size, mtime restored", "", "cp -p p/a keep; printf '2\\n' >p/a; touch -r keep p/a; rm keep"},
      {"file monitor",
       "printf '#!/bin/sh\\ntouch %s/monitored\\nprintf \"token\\\\0\"\\n' \"$PWD\" >hook; chmod +x hook; git config "
       "core.fsmonitor \"$PWD/hook\"; "
       "git config core.fsmonitorHookVersion 2; echo monitored >>.git/info/exclude",
       "git status >/dev/null; rm -f monitored; echo 2 >p/a"},
      {"untracked cache", "git update-index --force-untracked-cache", "git status >/dev/null; echo 2 >p/a"},
      {"intent-to-add", "", "git rm -q --cached p/a; git add -N p/a"},
      {"conflict", "",
       "git branch -M main; git checkout -qb o; echo o >p/a; git commit -qam o; git checkout -q main; echo m >p/a; git commit "
       "-qam m; git merge o >/dev/null 2>&1 || true"},
      {"hash of a removed filter", "echo '* text' >.gitattributes; printf '1\\r\\n2\\r\\n' >p/a",
       "git rm -q .gitattributes; git commit -qm y"},
  };
  for (const row& r : rows) {
    CAPTURE(r.name);
    inputs_fixture f;
    f.sh(std::string("mkdir p; echo 1 >p/a") + (*r.before != 0 ? std::string("; ") + r.before : std::string()));
    f.commit();
    f.sh(r.after);
    const identities got = f.now({"p"});
    CHECK(got.at("p/a") == f.blob("p/a"));
    CHECK(!f.dir.exists("monitored"));
  }
}

TEST_CASE("a same-size rewrite with its mtime restored is seen twenty times of twenty") {
  inputs_fixture f;
  f.sh("mkdir p; echo 00 >p/a; git add -A; git commit -qm x");
  for (int i = 10; i < 30; ++i) {
    const std::string want = f.sh("git update-index --refresh -q; cp -p p/a keep; printf '" + std::to_string(i) +
                                  "\\n' >p/a; touch -r keep p/a; rm keep; git hash-object p/a");
    CHECK(f.now({"p"}).at("p/a") == want.substr(0, 40));
    f.sh("git add p/a");
    CHECK(f.now({"p"}).at("p/a") == want.substr(0, 40));
  }
}

TEST_CASE("modes and links are part of the identity") {
  inputs_fixture f;
  f.sh("mkdir p; printf x >p/a; printf y >p/b; ln -s a p/l");
  f.commit();
  const identities first = f.now({"p"});
  f.sh("chmod +x p/a");
  CHECK(f.now({"p"}).at("p/a") == "100755:" + first.at("p/a"));
  f.sh("git config core.fileMode false");
  CHECK(f.now({"p"}).at("p/a") == "100755:" + first.at("p/a"));
  f.sh("chmod -x p/a; rm p/b; ln -s y p/b");
  CHECK(f.now({"p"}).at("p/a") == first.at("p/a"));
  CHECK(f.now({"p"}).at("p/b") == "120000:" + first.at("p/b"));
  f.sh("ln -sfn b p/l");
  CHECK(f.now({"p"}).at("p/l") != first.at("p/l"));
  f.sh("rm p/l; printf a >p/l");  // a file whose bytes are the link's text
  CHECK("120000:" + f.now({"p"}).at("p/l") == first.at("p/l"));
}

TEST_CASE("core.fileMode=false keeps the id of the index and takes the mode from disk") {
  inputs_fixture f;
  f.sh("git config core.fileMode false; mkdir p; printf x >p/a; chmod +x p/a");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  const read_counter counter;
  const identities got = select(*facts, {"p"});
  CHECK(counter.reads() == 0);
  CHECK(got.at("p/a").starts_with("100755:"));
}

TEST_CASE("files under a converting attribute are keyed by their bytes, wherever the attribute stands") {
  struct row {
    const char* name;
    const char* setup;  // in the top of the repository, before the commit
    const char* late;   // after it
  };
  const row rows[] = {
      {"eol in the root", "echo '*.t text eol=crlf' >.gitattributes", ""},
      {"old crlf name", "echo '*.t crlf' >.gitattributes", ""},
      {"in a directory", "echo '*.t text' >ws/p/.gitattributes", ""},
      {"above the workspace", "echo '*.t text' >.gitattributes", ""},
      {"ignored", "echo .gitattributes >.gitignore; echo '*.t text' >ws/p/.gitattributes", ""},
      {"untracked", "", "echo '*.t text' >ws/.gitattributes"},
      {"deleted on disk", "echo '*.t text' >ws/.gitattributes", "rm ws/.gitattributes"},
      {"info", "echo '*.t text' >.git/info/attributes", ""},
      {"global", "mkdir -p $HOME/.config/git; echo '*.t text' >$HOME/.config/git/attributes", ""},
      {"global by config", "echo '*.t text' >$HOME/attrs; git config --global core.attributesFile '~/attrs'", ""},
      {"autocrlf", "git config core.autocrlf input", ""},
      {"global autocrlf", "git config --global core.autocrlf input", ""},
      {"filter", "echo '*.t filter=f' >.gitattributes; git config filter.f.clean 'tr a-z A-Z'", ""},
      {"encoding", "echo '*.t working-tree-encoding=ISO-8859-1' >.gitattributes", ""},
      {"ident", "echo '*.t ident' >.gitattributes", ""},
  };
  for (const row& r : rows) {
    CAPTURE(r.name);
    inputs_fixture f;
    f.sh(std::string("mkdir -p ws/p; true ") + (*r.setup != 0 ? std::string("; ") + r.setup : std::string()) +
         "; printf 'ab\\r\\n$Id: x $\\303\\251\\r\\n' >ws/p/a.t; echo 1 >ws/p/b");
    f.commit(*r.late != 0 ? r.late : "true");
    auto facts = start_facts(f.root() + "/ws", f.env);
    const identities got = select(*facts, {"p"});
    CHECK(got.at("p/a.t") == f.blob("ws/p/a.t"));
    CHECK(got.at("p/b") == f.blob("ws/p/b"));
  }
}

TEST_CASE("attributes that convert nothing cost no trust") {
  inputs_fixture f;
  f.sh("mkdir p; printf '*.png binary\\n*.x diff=y\\n* !text\\n' >.gitattributes; echo 1 >p/a.png; echo 1 >p/b");
  f.commit();
  auto facts = start_facts(f.root(), f.env);
  const read_counter counter;
  CHECK(select(*facts, {"p"}).size() == 2);
  CHECK(counter.reads() == 0);
}

TEST_CASE("an index just written is not believed about files just written") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a; git add -A; touch -r p/a .git/index");  // as if both were written in one instant
  auto facts = start_facts(f.root(), f.env);
  const read_counter counter;
  CHECK(select(*facts, {"p"}).at("p/a") == f.blob("p/a"));
  CHECK(counter.reads() > 0);
}

TEST_CASE("dirty means another tree than the index, not another stat") {
  inputs_fixture f;
  f.sh("mkdir p; echo 1 >p/a; echo 1 >p/b; echo x >.gitignore");
  f.commit();
  const auto dirty = [&] { return start_facts(f.root(), f.env)->dirty(); };
  CHECK(dirty() == false);
  f.sh("touch p/a; echo 1 >x");
  CHECK(dirty() == false);
  f.sh("echo 2 >p/a");
  CHECK(dirty() == true);
  f.sh("git checkout -q p/a; echo 1 >new");
  CHECK(dirty() == true);
  f.sh("rm new p/b");
  CHECK(dirty() == true);
  CHECK(start_facts(f.home.path(), f.env)->dirty() == std::nullopt);
}
