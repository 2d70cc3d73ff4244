#include "git/index_file.hpp"

#include <doctest/doctest.h>

#include <random>

#include "git_fixture.hpp"

using namespace vx;
using test::git_fixture;

namespace {

const char* k_files =
    "mkdir -p a/b 'sp ace' deep/one/two; echo 1 >a/x; echo 2 >a/b/y; echo 3 >'sp ace/ q\"'; printf x >$(printf 'n\\nl'); "
    "printf x >$(printf 'bad\\377'); echo 4 >deep/one/two/three; chmod +x a/x; ln -s a/x link; : >empty; "
    "echo 5 >$(printf '%0120d' 7)-long; git add -A; ";

bool same(const git::index_entry& a, const git::index_entry& b, std::size_t oid) {
  return a.path == b.path && std::string_view(a.oid, oid) == std::string_view(b.oid, oid) && a.mode == b.mode &&
         a.stage == b.stage && a.size == b.size && a.ino == b.ino && a.ctime_sec == b.ctime_sec && a.ctime_ns == b.ctime_ns &&
         a.mtime_sec == b.mtime_sec && a.mtime_ns == b.mtime_ns && a.assume_valid == b.assume_valid &&
         a.skip_worktree == b.skip_worktree && a.intent_to_add == b.intent_to_add;
}

void check_equal(const git_fixture& f, const std::string& dir, bool expect_direct) {
  const git::program git = f.program();
  auto repo = git::find_repository(git, dir);
  REQUIRE((repo && *repo));
  auto direct = git::read_index(git, **repo);
  auto listed = git::list_index(git, **repo);
  REQUIRE(direct);
  REQUIRE(listed);
  CHECK(direct->direct == expect_direct);
  REQUIRE(direct->entries.size() == listed->entries.size());
  for (std::size_t i = 0; i < direct->entries.size(); ++i) {
    CAPTURE(direct->entries[i].path);
    CHECK(same(direct->entries[i], listed->entries[i], direct->oid_size));
  }
  CHECK(direct->enclosing_attributes == listed->enclosing_attributes);
}

struct layout {
  const char* name;
  const char* init;
  const char* script;
  bool direct;
  std::size_t least;
};

}  // namespace

TEST_CASE("the index file and git ls-files tell the same records") {
  const layout layouts[] = {
      {"version 2", "git init -q .", "git update-index --index-version 2", true, 9},
      {"version 3", "git init -q .", "echo n >new; git add -N new; git update-index --skip-worktree a/x", true, 10},
      {"version 4", "git init -q .", "git update-index --index-version 4", true, 9},
      {"version 4, flags", "git init -q .",
       "git update-index --index-version 4; echo n >new; git add -N new; git update-index --assume-unchanged a/x", true, 10},
      {"sha256", "git init -q --object-format=sha256 .", "git commit -qm x", true, 9},
      {"sha256, version 4", "git init -q --object-format=sha256 .", "git update-index --index-version 4", true, 9},
      {"split index", "git init -q .", "git commit -qm x; git update-index --split-index; echo z >z; git add z", false, 10},
      {"untracked cache", "git init -q .", "git update-index --force-untracked-cache; git status >/dev/null", true, 9},
      {"many files", "git init -q .", "git config feature.manyFiles true; git add -A; git commit -qm x; git status >/dev/null",
       true, 9},
      {"assume-unchanged", "git init -q .", "git update-index --assume-unchanged a/x link", true, 9},
      {"conflict", "git init -q -b main .",
       "git commit -qm 1; git checkout -qb other; echo o >a/x; git commit -qam 2; git checkout -q main; echo m >a/x; git "
       "commit -qam 3; "
       "git merge other >/dev/null 2>&1 || true",
       true, 11},
      {"gitlink", "git init -q .", "git init -q sub; git -C sub commit -q --allow-empty -m s; git add sub 2>/dev/null", true,
       10},
  };
  for (const layout& l : layouts) {
    CAPTURE(l.name);
    git_fixture f(l.init);
    f.sh(std::string(k_files) + l.script);
    check_equal(f, f.root(), l.direct);
    const git::program git = f.program();
    auto repo = git::find_repository(git, f.root());
    REQUIRE((repo && *repo));
    auto got = git::read_index(git, **repo);
    REQUIRE(got);
    CHECK(got->entries.size() >= l.least);
  }
}

TEST_CASE("a sparse index is left to git, and its records name every file") {
  git_fixture f;
  f.sh(
      "mkdir -p a b/c; echo 1 >a/x; echo 2 >b/c/y; echo 3 >top; git add -A; git commit -qm x; git sparse-checkout init --cone "
      "--sparse-index; "
      "git sparse-checkout set a");
  check_equal(f, f.root(), false);
}

TEST_CASE("a directory inside the repository gets its part, relative to itself") {
  git_fixture f;
  f.sh(
      "mkdir -p ws/p ws2; echo '*.a text' >.gitattributes; echo '*.b text' >ws/.gitattributes; echo 1 >ws/p/x; echo 2 >ws2/y; "
      "git add -A");
  for (const char* version : {"2", "4"}) {
    f.sh(std::string("git update-index --index-version ") + version);
    check_equal(f, f.root() + "/ws/p", true);
    const git::program git = f.program();
    auto repo = git::find_repository(git, f.root() + "/ws/p");
    REQUIRE((repo && *repo));
    auto got = git::read_index(git, **repo);
    REQUIRE(got);
    REQUIRE(got->entries.size() == 1);
    CHECK(got->entries[0].path == "x");
    CHECK(got->enclosing_attributes == std::vector<std::string>{".gitattributes", "ws/.gitattributes"});
  }
}

TEST_CASE("a repository without an index has no entries") {
  git_fixture f;
  const git::program git = f.program();
  auto repo = git::find_repository(git, f.root());
  REQUIRE((repo && *repo));
  auto got = git::read_index(git, **repo);
  REQUIRE(got);
  CHECK(got->entries.empty());
  CHECK(!got->file.exists());
}

TEST_CASE("damaged index bytes are never misread: git is asked or the entries are those before the damage") {
  git_fixture f;
  f.sh(std::string(k_files) + "git update-index --index-version 2");
  const std::string v2 = f.dir.read(".git/index");
  f.sh("git update-index --index-version 4");
  const std::string v4 = f.dir.read(".git/index");
  std::mt19937 random(7);
  for (const std::string& good : {v2, v4}) {
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      CHECK(!git::parse_index(std::make_shared<const std::string>(good.substr(0, cut)), "", false).has_value());
    }
    for (int i = 0; i < 3000; ++i) {  // must not crash or read out of bounds
      std::string bad = good;
      bad[random() % bad.size()] = static_cast<char>(random());
      (void)git::parse_index(std::make_shared<const std::string>(bad), "a/", false);
    }
  }
  std::string unknown = v2;
  unknown.insert(unknown.size() - 20, std::string("abcd\0\0\0\0", 8));
  CHECK(!git::parse_index(std::make_shared<const std::string>(unknown), "", false).has_value());
  std::string optional = v2;
  optional.insert(optional.size() - 20, std::string("ABCD\0\0\0\2zz", 10));
  CHECK(git::parse_index(std::make_shared<const std::string>(optional), "", false).has_value());
}

TEST_CASE("blob sizes come in the order asked and unknown objects have none") {
  git_fixture f;
  f.sh("printf 12345 >a; printf 1 >b; git add a b");
  const git::program git = f.program();
  auto repo = git::find_repository(git, f.root());
  auto index = git::read_index(git, **repo);
  REQUIRE(index->entries.size() == 2);
  const std::string missing(20, '\1');
  auto sizes = git::blob_sizes(git, f.root(), {{index->entries[1].oid, 20}, missing, {index->entries[0].oid, 20}});
  REQUIRE(sizes);
  CHECK((*sizes)[0] == 1);
  CHECK(!(*sizes)[1].has_value());
  CHECK((*sizes)[2] == 5);
}
