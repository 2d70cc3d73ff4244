#include <doctest/doctest.h>

#include "inputs_fixture.hpp"

using namespace vx;
using namespace vx::test;

namespace {

std::unique_ptr<cache::index> open_index(const std::string& root) {
  auto got = cache::index::open(root, {});
  REQUIRE(got);
  return std::move(*got);
}

/// Reads of contents that a run with the stored memo needs for project p.
int reads_of_run(const inputs_fixture& f, identities* out = nullptr) {
  auto index = open_index(f.root());
  auto facts = start_facts(f.root(), f.env, index.get());
  int n = 0;
  {
    const read_counter counter;
    const identities got = select(*facts, {"p"});
    n = counter.reads();
    if (out != nullptr) *out = got;
  }
  facts->flush_memos();
  index->flush();
  return n;
}

}  // namespace

TEST_CASE("what was hashed once is remembered by size, stamps and inode") {
  inputs_fixture f;
  f.sh("mkdir p; for n in 1 2 3 4 5; do echo $n >p/f$n; done; ln -s f1 p/l; echo .vx >.gitignore; sleep 0.07");  // untracked
  identities first, second;
  CHECK(reads_of_run(f, &first) >= 5);
  CHECK(reads_of_run(f, &second) == 0);
  CHECK(second == first);
  f.sh("cp -p p/f1 k; printf '9\\n' >p/f1; touch -r k p/f1; rm k; sleep 0.07");  // size and mtime as before
  identities third;
  CHECK(reads_of_run(f, &third) == 1);
  CHECK(third.at("p/f1") == f.blob("p/f1"));
  f.sh("chmod +x p/f2; sleep 0.07");
  CHECK(reads_of_run(f, &third) == 1);
  CHECK(third.at("p/f2") == "100755:" + f.blob("p/f2"));
}

TEST_CASE("a copied checkout is hashed once and its index stays as it is") {
  inputs_fixture f("");
  f.sh(
      "git init -q one; mkdir one/p; for n in 1 2 3 4 5 6; do echo $n >one/p/f$n; done; echo .vx >one/.gitignore; sleep 0.07; "
      "git -C one add -A; git -C one commit -qm x; "
      "cp -r one two; sleep 0.07");
  const std::string root = f.root() + "/two";
  const std::string before = f.sh("sha256sum two/.git/index");
  std::vector<int> reads;
  for (int i = 0; i < 3; ++i) {
    auto index = open_index(root);
    auto facts = start_facts(root, f.env, index.get());
    {
      const read_counter counter;
      CHECK(select(*facts, {"p"}).size() == 6);
      reads.push_back(counter.reads());
    }
    facts->flush_memos();
    index->flush();
  }
  CHECK(reads == std::vector<int>{6, 0, 0});
  CHECK(f.sh("sha256sum two/.git/index") == before);
}

TEST_CASE("verdicts of blob sizes and attributes are remembered and still distrust") {
  inputs_fixture f;
  f.sh(
      "mkdir p; echo .vx >.gitignore; printf '*.t text\\n*.c text\\n' >.gitattributes; printf '1\\r\\n' >p/a.t; printf "
      "'2\\r\\n' >p/b.c; echo 3 >p/c");
  f.commit("echo '*.t text' >.gitattributes; sleep 0.07; git commit -qam y; sleep 0.07");
  identities first, again;
  reads_of_run(f, &first);
  for (int i = 0; i < 2; ++i) {
    reads_of_run(f, &again);
    CHECK(again == first);
  }
  CHECK(first.at("p/a.t") == f.blob("p/a.t"));
  CHECK(first.at("p/b.c") == f.blob("p/b.c"));
  f.sh("echo '* -text' >.gitattributes; printf '*.c text\\n' >p/.gitattributes");
  reads_of_run(f, &again);
  CHECK(again.at("p/a.t") == f.blob("p/a.t"));
  CHECK(again.at("p/b.c") == f.blob("p/b.c"));
}

TEST_CASE("an ignored attributes file that appears later is found although directories were remembered") {
  inputs_fixture f;
  f.sh(
      "mkdir -p p/s; printf '.vx\\n.gitattributes\\n' >.gitignore; printf '1\\r\\n' >p/s/a.t; git config core.autocrlf false; "
      "echo 1 >p/b");
  f.commit("sleep 0.07");
  identities got;
  reads_of_run(f, &got);
  reads_of_run(f, &got);
  CHECK(got.at("p/s/a.t") == f.blob("p/s/a.t"));
  f.sh("echo '*.t text eol=crlf' >p/s/.gitattributes; git add --renormalize p/s/a.t; git commit -qm r; sleep 0.07");
  reads_of_run(f, &got);
  CHECK(got.at("p/s/a.t") == f.blob("p/s/a.t"));
  reads_of_run(f, &got);
  CHECK(got.at("p/s/a.t") == f.blob("p/s/a.t"));
}

TEST_CASE("a memo of the other object format is not used") {
  inputs_fixture f;
  f.sh("mkdir p; echo .vx >.gitignore; echo 1 >p/a; sleep 0.07");
  identities got;
  reads_of_run(f, &got);
  f.sh("rm -rf .git; git init -q --object-format=sha256 .");
  reads_of_run(f, &got);
  CHECK(got.at("p/a").size() == 64);
}
