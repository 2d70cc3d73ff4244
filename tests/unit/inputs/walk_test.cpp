#include "inputs/walk.hpp"

#include <doctest/doctest.h>

#include "base/fs.hpp"
#include "support/temp_dir.hpp"

using namespace vx;

TEST_CASE("the walk honours every .gitignore from the start down and skips what is never listed") {
  test::temp_dir t;
  t.sh(
      "mkdir -p a/b node_modules/x a/node_modules .git .vx a/out keep/sub; for x in a/f a/b/g a/out/o node_modules/x/y "
      "a/node_modules/z .git/h .vx/i top keep/sub/k skip.log a/skip.log a/b/keep.log; do echo 1 >$x; done; "
      "printf '*.log\\nout/\\nkeep/*\\n!keep/sub\\n' >.gitignore; printf '!keep.log\\n' >a/b/.gitignore; ln -s a linkdir; ln "
      "-s nowhere dangling; mkfifo fifo");
  auto root = fs::open_dir_at(fs::k_cwd, t.path());
  REQUIRE(root);
  inputs::ignore_rules rules(root->get(), "");
  CHECK(inputs::walk_tree(root->get(), "", rules) == std::vector<std::string>{".gitignore", "a/b/.gitignore", "a/b/g",
                                                                              "a/b/keep.log", "a/f", "dangling", "keep/sub/k",
                                                                              "linkdir", "top"});
  CHECK(rules.ignored("a/out/o", false));
  CHECK(rules.ignored("a/out", true));
  CHECK(!rules.ignored("a/out", false));
  CHECK(!rules.ignored("a/b/keep.log", false));
  CHECK(rules.ignored("a/keep.log", false));
  inputs::ignore_rules below(root->get(), "a");
  CHECK(!below.ignored("a/out/o", false));
  CHECK(inputs::walk_tree(root->get(), "a/out", below) == std::vector<std::string>{"a/out/o"});
}
