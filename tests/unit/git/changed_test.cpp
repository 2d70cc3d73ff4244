#include <doctest/doctest.h>

#include "git/git.hpp"
#include "git_fixture.hpp"

using namespace vx;
using test::git_fixture;

namespace {

std::vector<std::string> changed(const git_fixture& f, std::string_view ref, const std::string& below = "") {
  const git::program git = f.program();
  auto repo = git::find_repository(git, f.root() + below);
  REQUIRE((repo && *repo));
  auto got = git::changed_since(git, **repo, ref);
  if (!got) return {"!" + got.error().message};
  return *got;
}

using paths = std::vector<std::string>;

}  // namespace

TEST_CASE("references are checked before git sees them") {
  struct row {
    const char* text;
    const char* ref;  // null: refused
    bool direct;
  };
  const row rows[] = {{"main", "main", false},
                      {"HEAD~1", "HEAD~1", false},
                      {"main...HEAD", "main", false},
                      {"main..HEAD", "main", true},
                      {"v1^{tree}", "v1^{tree}", false},
                      {"HEAD^", "HEAD^", false},
                      {"", nullptr, false},
                      {"  ", nullptr, false},
                      {"-x", nullptr, false},
                      {"^main", nullptr, false},
                      {"main:a/b", nullptr, false},
                      {"a..b", nullptr, false},
                      {"a...b", nullptr, false},
                      {"..HEAD", nullptr, false},
                      {"main..", nullptr, false},
                      {"HEAD^{/fix: it}", "HEAD^{/fix: it}", false},
                      {"HEAD@{1 day ago}", "HEAD@{1 day ago}", false}};
  for (const row& r : rows) {
    CAPTURE(r.text);
    auto got = git::check_ref(r.text);
    REQUIRE(got.has_value() == (r.ref != nullptr));
    if (!got) continue;
    CHECK(got->ref == r.ref);
    CHECK(got->direct == r.direct);
  }
  CHECK(git::check_ref("a..b").error().message.find("a") != std::string::npos);
}

TEST_CASE("the changed set holds committed, staged, unstaged and untracked files from the merge base") {
  git_fixture f;
  f.sh(
      "mkdir -p p/s; for n in a b c d e; do echo $n >p/s/$n; done; echo x >.gitignore; git add -A; git commit -qm base; git "
      "branch feat; "
      "echo m >p/s/e; git commit -qam upstream; git checkout -q feat; echo 1 >>p/s/a; git commit -qam one; echo 2 >>p/s/b; git "
      "add -A; "
      "echo 3 >>p/s/c; git mv p/s/d p/s/moved; echo n >p/s/new; echo i >x; echo l >p/vx-lock.json");
  CHECK(changed(f, "main") == paths{"p/s/a", "p/s/b", "p/s/c", "p/s/d", "p/s/moved", "p/s/new"});
  CHECK(changed(f, "main...HEAD") == changed(f, "main"));
  CHECK(changed(f, "main..HEAD") == paths{"p/s/a", "p/s/b", "p/s/c", "p/s/d", "p/s/e", "p/s/moved", "p/s/new"});
  CHECK(changed(f, "HEAD") == paths{"p/s/b", "p/s/c", "p/s/d", "p/s/moved", "p/s/new"});
  CHECK(changed(f, "main", "/p/s") == paths{"a", "b", "c", "d", "moved", "new"});
}

TEST_CASE("odd names come out as they are") {
  git_fixture f;
  f.sh(
      "echo 1 >plain; git add -A; git commit -qm 1; echo 2 >$(printf 'n\\nl'); echo 3 >'a\"b'; git add -A; echo 4 >$(printf "
      "'bad\\377')");
  CHECK(changed(f, "HEAD") == paths{"a\"b", "bad\xff", "n\nl"});
}

TEST_CASE("hidden and filtered changes are in the set, and no filter runs") {
  git_fixture f;
  f.sh(
      "echo 1 >x; echo 1 >y; echo 1 >z.bin; echo '*.bin filter=spy' >.gitattributes; git add -A; git commit -qm 1; "
      "git update-index --assume-unchanged x; git config filter.spy.clean \"touch '$PWD/spied'; cat\"; git config "
      "filter.spy.required true; "
      "echo 2 >x; sleep 0.01; touch z.bin; git config core.trustctime false; git config core.checkStat minimal");
  const paths got = changed(f, "HEAD");
  CHECK(std::find(got.begin(), got.end(), "x") != got.end());
  CHECK(std::find(got.begin(), got.end(), "y") == got.end());
  CHECK(!f.dir.exists("spied"));
}

TEST_CASE("unknown references, empty repositories and shallow clones explain themselves") {
  git_fixture f;
  CHECK(changed(f, "main")[0].find("no commit yet") != std::string::npos);
  f.sh(
      "echo 1 >x; git add x; git commit -qm 1; echo 2 >x; git commit -qam 2; git clone -q --depth 1 \"file://$PWD\" shallow; "
      "echo shallow >>.git/info/exclude");
  CHECK(changed(f, "nope")[0].find("nope") != std::string::npos);
  CHECK(changed(f, "nope")[0].find("unshallow") == std::string::npos);
  CHECK(changed(f, "HEAD~5", "/shallow")[0].find("git fetch --unshallow") != std::string::npos);
  CHECK(changed(f, "HEAD~1^{tree}") == paths{"x"});
}

TEST_CASE("a changed nested repository is one path") {
  git_fixture f;
  f.sh(
      "git init -q ../lib-$$; git -C ../lib-$$ commit -q --allow-empty -m l; (cd ../lib-$$; echo 1 >f; git add f; git commit "
      "-qm f); "
      "git submodule --quiet add \"$PWD/../lib-$$\" sub 2>/dev/null; git commit -qm s; git config submodule.sub.ignore all; "
      "echo 2 >sub/f; "
      "git init -q own; echo 1 >own/x; rm -rf ../lib-$$");
  CHECK(changed(f, "HEAD") == paths{"own", "sub"});
}

TEST_CASE("the default base is the remote's head, then the main branches apart from HEAD, then the parent") {
  git_fixture f;
  const git::program git = f.program();
  const auto base = [&](const std::string& below = "") {
    auto repo = git::find_repository(git, f.root() + below);
    auto got = git::default_base(git, **repo);
    return got ? *got : "!" + got.error().message;
  };
  CHECK(base().find("no commit yet") != std::string::npos);
  f.sh("echo 1 >x; git add x; git commit -qm 1");
  CHECK(base().find("fetch") != std::string::npos);
  f.sh("echo 2 >x; git commit -qam 2");
  CHECK(base() == "HEAD~1");
  f.sh("git checkout -qb feat; echo 3 >x; git commit -qam 3");
  CHECK(base() == "main");
  f.sh("git update-ref refs/remotes/origin/master main");
  CHECK(base() == "origin/master");
  f.sh("git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/master");
  CHECK(base() == "origin/HEAD");
  f.sh("git clone -q --depth 1 \"file://$PWD\" s; git -C s remote remove origin; git -C s branch -qm other");
  CHECK(base("/s").find("--unshallow") != std::string::npos);
}
