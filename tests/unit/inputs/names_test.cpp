#include "inputs/names.hpp"
#include "base/racy.hpp"

#include <doctest/doctest.h>

#include "inputs/inputs.hpp"
#include "inputs/stamps.hpp"
#include "inputs/table.hpp"

using namespace vx;

TEST_CASE("always-dropped names are dropped at any depth and nothing like them is") {
  for (const char* path : {".git/HEAD", "a/.git/x/y", ".vx/index", "a/b/.vx/c", "a.tsbuildinfo", "x/.tsbuildinfo",
                           "vx-lock.json", "a/vx-lock.json", "a/b.bun-build", "a/.0123456789abcdef-01234567.tmp/x",
                           ".0123456789abcdef-01234567.tmp/x/y", "sub/.git"}) {
    CAPTURE(path);
    CHECK(inputs::is_dropped_name(path));
  }
  for (const char* path : {".gitignore", ".github/x", "a/.vxrc", "tsbuildinfo", "a.tsbuildinfo/x", "my-vx-lock.json",
                           "vx-lock.json.bak", "bun-build", ".0123456789abcdef-01234567.tmp",
                           "a/.0123456789abcdeg-01234567.tmp/x", "a/.0123456789abcdef-0123456.tmp/x", "x.git/a", "a"}) {
    CAPTURE(path);
    CHECK(!inputs::is_dropped_name(path));
  }
  CHECK(inputs::is_below_node_modules("a/node_modules/b/c"));
  CHECK(inputs::is_below_node_modules("node_modules/x"));
  CHECK(!inputs::is_below_node_modules("a/node_modules"));
  CHECK(!inputs::is_below_node_modules("my_node_modules/x"));
}

TEST_CASE("the verdict of runs of paths equals that of single paths") {
  inputs::dropped_names names;
  for (const char* path :
       {"a/x", "a/y.tsbuildinfo", "a/z", ".vx/a", ".vx/b", "node_modules/p/a", "node_modules/p/b", "b", ".git", "b/c"}) {
    CAPTURE(path);
    const auto v = names.of(path);
    CHECK(v.dropped == inputs::is_dropped_name(path));
    CHECK(v.below_node_modules == inputs::is_below_node_modules(path));
  }
}

TEST_CASE("the fence holds what lies in a nested project, by whole names") {
  const std::vector<std::string> nested = {"a*", "foo/nested", "foo-utils"};
  std::vector<std::string> sorted = nested;
  std::sort(sorted.begin(), sorted.end());
  inputs::fence f(&sorted);
  CHECK(f.holds("foo/nested/x"));
  CHECK(f.holds("foo/nested/deep/x"));
  CHECK(!f.holds("foo/nestedx"));
  CHECK(!f.holds("foo/x"));
  CHECK(f.holds("foo-utils/x"));
  CHECK(!f.holds("foo-utils"));
  CHECK(f.holds("a*/x"));
  CHECK(!f.holds("ab/x"));
  CHECK(!f.holds("x"));
  CHECK(!inputs::fence(nullptr).holds("foo/nested/x"));
}

TEST_CASE("the names below a directory are one range in bytewise order") {
  inputs::table t;
  for (const char* p : {"a", "a b/x", "a-b/x", "a.txt", "a/b", "a/b/c", "a/z", "a0", "ab", "b/x"})
    t.files.push_back({p, {}, nullptr, false, false});
  std::sort(t.files.begin(), t.files.end(), [](const auto& x, const auto& y) { return x.path < y.path; });
  const auto names = [&](const char* dir) {
    std::vector<std::string> out;
    const auto [first, last] = t.below(dir);
    for (std::size_t i = first; i < last; ++i) out.emplace_back(t.files[i].path);
    return out;
  };
  CHECK(names("a") == std::vector<std::string>{"a/b", "a/b/c", "a/z"});
  CHECK(names("a/b") == std::vector<std::string>{"a/b/c"});
  CHECK(names("c").empty());
  CHECK(names("").size() == t.files.size());
  CHECK(t.find("a.txt") != nullptr);
  CHECK(t.find("a/") == nullptr);
}

TEST_CASE("the racy window widens with the grain of the stamp") {
  CHECK(fs::racy_window_ns({5, 1}) == 50'000'000);
  CHECK(fs::racy_window_ns({5, 0}) == 1'050'000'000);
  CHECK(fs::racy_window_ns({6, 0}) == 2'050'000'000);

  const std::int64_t second = 1'000'000'000;
  CHECK(fs::is_racy({100, 500}, 100 * second));  // after "now"
  CHECK(fs::is_racy({100, 500}, 100 * second + 40'000'000));
  CHECK(!fs::is_racy({100, 500}, 100 * second + 60'000'000));
  CHECK(fs::is_racy({100, 0}, 102 * second));
  CHECK(!fs::is_racy({100, 0}, 103 * second));
  CHECK(fs::is_racy({101, 0}, 102 * second));
  CHECK(!fs::is_racy({101, 0}, 103 * second));
  CHECK(fs::is_racy({std::int64_t{1} << 40, 5}, 103 * second));  // beyond nanoseconds
}
