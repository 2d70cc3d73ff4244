#include <doctest/doctest.h>

#include "git/git.hpp"
#include "git/settings.hpp"
#include "git_fixture.hpp"

using namespace vx;
using test::git_fixture;

namespace {

void check_same(const git::program& git, const std::string& dir) {
  CAPTURE(dir);
  auto direct = git::find_repository(git, dir);
  auto asked = git::ask_repository(git, dir);
  REQUIRE(direct.has_value() == asked.has_value());
  if (!direct) return;
  REQUIRE(direct->has_value() == asked->has_value());
  if (!*direct) return;
  CHECK((*direct)->worktree == (*asked)->worktree);
  CHECK((*direct)->prefix == (*asked)->prefix);
  CHECK((*direct)->git_dir == (*asked)->git_dir);
  CHECK((*direct)->common_dir == (*asked)->common_dir);
  CHECK((*direct)->sha256 == (*asked)->sha256);
}

}  // namespace

TEST_CASE("the repository read from its files is the one git names") {
  git_fixture f("");
  f.sh(
      "git init -q -b main plain; mkdir -p plain/a/b; echo 1 >plain/a/b/x; git -C plain add -A; git -C plain commit -qm x; "
      "git init -q --object-format=sha256 sha; git init -q --separate-git-dir=\"$PWD/elsewhere\" moved; "
      "git -C plain worktree add -q ../linked; git init -q outer; git -C outer submodule --quiet add \"$PWD/plain\" sub "
      "2>/dev/null; "
      "git init -q --bare bare.git; mkdir none; "
      "git init -q wt; git -C wt config extensions.worktreeConfig true; git -C wt config --worktree core.sparseCheckout false; "
      "git init -q tree; mkdir tree/top; git -C tree config core.worktree ../top; mkdir broken; mkdir broken/.git; "
      "git init -q odd; printf '[extensions]\\n\\tobjectFormat = \"sha1\" ; c\\n[core]\\n\\trepositoryformatversion = 1\\n' "
      ">>odd/.git/config; "
      "git init -q \"$(printf 'new\\nline')\"");
  const git::program git = f.program();
  for (const char* dir :
       {"plain", "plain/a", "plain/a/b", "sha", "moved", "linked", "linked/a/b", "outer", "outer/sub", "outer/sub/a",
        "bare.git", "none", "plain/.git", "wt", "tree", "tree/top", "broken", "odd", "new\nline"}) {
    check_same(git, f.root() + "/" + dir);
  }
  auto none = git::find_repository(git, f.root() + "/none");
  REQUIRE(none);
  CHECK(!none->has_value());
  auto sha = git::find_repository(git, f.root() + "/sha");
  REQUIRE((sha && *sha));
  CHECK((*sha)->sha256);
}

TEST_CASE("inherited git variables do not redirect the search") {
  git_fixture f("");
  f.sh("git init -q a; git init -q b; echo 1 >a/x; git -C a add x");
  environment env = f.env;
  env.set("GIT_DIR", f.root() + "/b/.git");
  env.set("GIT_WORK_TREE", f.root() + "/b");
  env.set("GIT_INDEX_FILE", f.root() + "/b/.git/other");
  env.set("GIT_CONFIG_COUNT", "1");
  env.set("GIT_CONFIG_KEY_0", "core.worktree");
  env.set("GIT_CONFIG_VALUE_0", "/tmp");
  const git::program git = *git::program::find(env);
  auto repo = git::ask_repository(git, f.root() + "/a");
  REQUIRE((repo && *repo));
  CHECK((*repo)->worktree == f.root() + "/a");
  auto listed = git.run(f.root() + "/a", {"ls-files"});
  REQUIRE(listed);
  CHECK(listed->out == "x\n");
  check_same(git, f.root() + "/a");
}

TEST_CASE("a directory git refuses is a failure in git's words") {
  git_fixture f("");
  f.sh("git init -q a; mkdir bad; echo 'gitdir: /nowhere/at/all' >bad/.git");
  const git::program git = f.program();
  auto bad = git::find_repository(git, f.root() + "/bad");
  REQUIRE(!bad);
  CHECK(bad.error().message.find("/nowhere/at/all") != std::string::npos);
  if (::geteuid() != 0) return;
  f.sh("chown -R 12345 a");
  auto foreign = git::find_repository(git, f.root() + "/a");
  REQUIRE(!foreign);
  CHECK(foreign.error().message.find("ownership") != std::string::npos);
  f.sh("git config --global --add safe.directory \"$PWD/a\"");
  auto allowed = git::find_repository(git, f.root() + "/a");
  REQUIRE((allowed && *allowed));
}

TEST_CASE("without git on PATH there is no program") {
  environment env;
  env.set("PATH", "/nonexistent");
  CHECK(!git::program::find(env).has_value());
}

TEST_CASE("the identity of a repository is its first remote, reduced") {
  const std::pair<const char*, const char*> urls[] = {
      {"git@github.com:Owner/Repo.git", "github.com/owner/repo"},
      {"github.com:owner/repo", "github.com/owner/repo"},
      {"ssh://git@github.com:22/owner/repo.git/", "github.com/owner/repo"},
      {"ssh://git@example.org:2222/owner/repo", "example.org:2222/owner/repo"},
      {"https://user:token@github.com/owner/repo.git", "github.com/owner/repo"},
      {"https://github.com:443/owner/repo//", "github.com/owner/repo"},
      {"http://github.com:80/owner/repo", "github.com/owner/repo"},
      {"git://github.com:9418/owner/repo", "github.com/owner/repo"},
      {"https://[::1]:8443/o/r", "[::1]:8443/o/r"},
      {"/srv/git/repo.git", ""},
      {"../repo", ""},
      {"file:///srv/git/repo.git", ""},
      {"./a:b", ""},
      {"", ""},
      {"https://github.com/", ""},
  };
  for (const auto& [url, want] : urls) {
    CAPTURE(url);
    CHECK(git::reduce_remote_url(url) == want);
  }
}

TEST_CASE("the repo id is shared by clones and worktrees and differs by the place inside") {
  git_fixture f("");
  f.sh(
      "git init -q -b main a; cd a; mkdir ws; echo 1 >ws/x; git add -A; git commit -qm x; git remote add other "
      "https://h.org/o/r; "
      "git remote add origin git@h.org:O/R.git; git worktree add -q ../b; git init -q ../c; git -C ../c remote add origin "
      "https://h.org/o/r/; "
      "git init -q ../d; git -C ../d config url.https://h.org/.insteadOf h:; git -C ../d remote add origin h:o/r.git");
  const std::string a = git::repo_id(f.env, f.root() + "/a");
  CHECK(a.size() == 16);
  CHECK(git::repo_id(f.env, f.root() + "/b") == a);
  CHECK(git::repo_id(f.env, f.root() + "/c") == a);
  CHECK(git::repo_id(f.env, f.root() + "/d") == a);
  CHECK(git::repo_id(f.env, f.root() + "/a/ws") != a);
  CHECK(git::repo_id(f.env, f.root()) == "");
}

TEST_CASE("without remotes the root commit names the repository, in a shallow clone its place does") {
  git_fixture f("");
  f.sh(
      "git init -q -b main a; cd a; echo 1 >x; git add x; git commit -qm 1; echo 2 >x; git commit -qam 2; cd ..; git clone -q "
      "a b; "
      "git -C b remote remove origin; git clone -q --depth 1 \"file://$PWD/a\" s; git -C s remote remove origin");
  const std::string a = git::repo_id(f.env, f.root() + "/a");
  CHECK(git::repo_id(f.env, f.root() + "/b") == a);
  const std::string s = git::repo_id(f.env, f.root() + "/s");
  CHECK(s.size() == 16);
  CHECK(s != a);
}

TEST_CASE("the root commit of a repository without a remote is asked for once a commit") {
  git_fixture f;
  f.sh("git commit -q --allow-empty -m one; git commit -q --allow-empty -m two");
  git::root_memo memo;
  const std::string id = git::repo_id(f.env, f.root(), &memo);
  CHECK(id == git::repo_id(f.env, f.root()));
  CHECK(memo.learned);
  memo.learned = false;
  memo.root = std::string(40, 'a');  // believed, not asked
  CHECK(git::repo_id(f.env, f.root(), &memo) != id);
  CHECK_FALSE(memo.learned);
  f.sh("git commit -q --allow-empty -m three");
  CHECK(git::repo_id(f.env, f.root(), &memo) == id);
  CHECK(memo.learned);
  f.sh("git checkout -q --orphan other; git commit -q --allow-empty -m other");
  CHECK(git::repo_id(f.env, f.root(), &memo) == git::repo_id(f.env, f.root()));
}

TEST_CASE("HEAD is read in every state") {
  git_fixture f;
  auto head = git::read_head(f.env, f.root());
  CHECK(!head.commit.has_value());
  CHECK(head.branch == "main");
  f.sh("echo 1 >x; git add x; git commit -qm 1; git checkout -qb feat/one");
  const std::string commit = f.sh("git rev-parse HEAD").substr(0, 40);
  head = git::read_head(f.env, f.root());
  CHECK(head.commit == commit);
  CHECK(head.branch == "feat/one");
  f.sh("git pack-refs --all");
  head = git::read_head(f.env, f.root());
  CHECK(head.commit == commit);
  CHECK(head.branch == "feat/one");
  f.sh("git checkout -q --detach");
  head = git::read_head(f.env, f.root());
  CHECK(head.commit == commit);
  CHECK(!head.branch.has_value());
  f.sh("git worktree add -q ../$(basename $PWD)-wt -b wt; echo");
  head = git::read_head(f.env, f.root() + "-wt");
  CHECK(head.branch == "wt");
  CHECK(head.commit == commit);
  f.sh("rm -rf ../$(basename $PWD)-wt");
  CHECK(!git::read_head(f.env, f.home.path()).commit.has_value());
}
