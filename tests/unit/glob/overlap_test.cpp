#include <doctest/doctest.h>

#include "glob/glob.hpp"
#include "reference.hpp"

using namespace vx;
using test::random_text;

namespace {

glob::pattern pat(const std::string& entry) {
  auto p = glob::parse(entry);
  REQUIRE(p.has_value());
  REQUIRE(p->patterns.size() == 1);
  return p->patterns.front();
}

}  // namespace

TEST_CASE("provable overlap is what a person would call one") {
  struct row {
    std::string a, b;
    bool overlap, meet;
  };
  const row rows[] = {
      {"dist/**", "dist/**", true, true},
      {"dist", "dist/app.js", true, true},
      {"dist/**", "dist/extra/**", true, true},
      {"dist/**", "dist/*.js", true, true},
      {"dist/*", "dist/sub/**", false, true},
      {"dist/*", "dist/sub", true, true},
      {"dist/*.js", "dist/a.js", true, true},
      {"dist/*.js", "dist/*.css", false, false},
      {"dist/*.js", "dist/a*", true, true},
      {"dist", "build", false, false},
      {"dist", "dist2", false, false},
      {"**", "dist/x", true, true},
      {"**/*.js", "dist/**", true, true},
      {"**/*.js", "dist/*.css", false, false},
      {"*/dist/**", "a/dist/x", true, true},
      {"*/a/**", "b/*/c", true, true},
      {"a/*/c", "a/b/*", true, true},
      {"a/*/c", "a/*/d", false, false},
      {"a/?", "a/bc", false, false},
      {"a/?", "a/\xC3\xA9", true, true},
      {"a/??", "a/\xC3\xA9", false, false},
      {"src/**/x", "src/**/y/**", true, true},
      {"*.a", "b.*", true, true},
      {"a*b*c", "a*c", true, true},
      {"a/**", "a", true, true},
      {"lib/*.d.ts", "lib/*.ts", true, true},
      {"a/**/b", "a/b/**", true, true},
      {"a", "*/b", true, true},
      {"a/b/c/**", "a/*/d/**", false, false},
  };
  for (const row& r : rows) {
    CAPTURE(r.a);
    CAPTURE(r.b);
    CHECK(glob::provably_overlap(pat(r.a), pat(r.b)) == r.overlap);
    CHECK(glob::provably_overlap(pat(r.b), pat(r.a)) == r.overlap);
    CHECK(glob::may_meet(pat(r.a), pat(r.b)) == r.meet);
    CHECK(glob::may_meet(pat(r.b), pat(r.a)) == r.meet);
  }
}

TEST_CASE("cover is proven where it is plain and never claimed beyond") {
  struct row {
    std::string outer, inner;
    bool covers;
  };
  const row rows[] = {
      {"**", "a/b", true},
      {"dist", "dist/**", true},
      {"dist/**", "dist", true},
      {"dist/**", "dist/*.js", true},
      {"dist/*.js", "dist/**", false},
      {"dist/*", "dist/a", false},  // the literal owns a tree
      {"**/*.js", "src/**/*.js", true},
      {"**/*.js", "src/*.js", true},
      {"**/*.js", "**/*.min.js", true},
      {"**/*.min.js", "**/*.js", false},
      {"src/**/*", "src/a/**", true},
      {"src/**/*", "src/**", false},
      {"src/**/*", "src/*", true},
      {"src/*/**", "src/*/x", true},
      {"src/gen/**", "src/**", false},
      {"*", "*.js", true},
      {"a?", "ab*", false},
      {"a*", "a?", true},
      {"?", "*", false},
      {"a*c", "abc*c", true},
      {"**/test/**", "packages/test", true},
      {"**/a/**", "x/*/a/**", true},
      {"**/a/**/b", "a/b", false},
      {"dist/*", "dist/*.js", true},
      {"dist2", "dist", false},
      {"package.json", "package.json", true},
      {"*.json", "package.json", false},
  };
  for (const row& r : rows) {
    CAPTURE(r.outer);
    CAPTURE(r.inner);
    CHECK(glob::covers(pat(r.outer), pat(r.inner)) == r.covers);
  }
}

TEST_CASE("random paths never contradict the three answers") {
  random_text r(3);
  int overlaps = 0;
  int apart = 0;
  int covered = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string ea = r.chance(25) ? r.path() : r.glob(false);
    const std::string eb = r.chance(25) ? r.path() : r.glob(false);
    const glob::pattern a = pat(ea);
    const glob::pattern b = pat(eb);
    const bool meet = glob::may_meet(a, b);
    const bool overlap = glob::provably_overlap(a, b);
    const bool cover = glob::covers(a, b);
    CAPTURE(ea);
    CAPTURE(eb);
    CHECK(meet == glob::may_meet(b, a));
    CHECK(overlap == glob::provably_overlap(b, a));
    if (overlap) CHECK(meet);
    if (cover) CHECK(meet);
    overlaps += overlap ? 1 : 0;
    apart += meet ? 0 : 1;
    covered += cover ? 1 : 0;
    for (int k = 0; k < 10; ++k) {
      const std::string path = r.path();
      const bool in_a = test::ref_match(ea, path);
      const bool in_b = test::ref_match(eb, path);
      CHECK(glob::matches(a, path) == in_a);
      if (in_a && in_b) CHECK(meet);
      if (cover && in_b) CHECK(in_a);
    }
  }
  CHECK(overlaps > 1000);
  CHECK(apart > 1000);
  CHECK(covered > 500);
}

TEST_CASE("an overlap below both heads that exhaustive search finds is proven, and only such") {
  // Every path of up to three segments over a few names; patterns over the same letters.
  std::vector<std::string> names = {"a", "b", "aa", "ab", "ba", "bb"};
  std::vector<std::string> paths;
  for (const auto& x : names) {
    paths.push_back(x);
    for (const auto& y : names) {
      paths.push_back(x + "/" + y);
      for (const auto& z : names) paths.push_back(x + "/" + y + "/" + z);
    }
  }
  const std::vector<std::string> pieces = {"*", "**", "a*", "*b", "?", "a", "ab", "a?"};
  std::vector<std::string> globs;
  for (const auto& x : pieces) {
    globs.push_back(x);
    for (const auto& y : pieces) globs.push_back(x + "/" + y);
  }
  for (const auto& ea : globs) {
    for (const auto& eb : globs) {
      const glob::pattern a = pat(ea);
      const glob::pattern b = pat(eb);
      const std::string& head = a.prefix.size() > b.prefix.size() ? a.prefix : b.prefix;
      bool common = false;
      bool below = false;
      for (const std::string& p : paths) {
        if (!test::ref_match(ea, p) || !test::ref_match(eb, p)) continue;
        common = true;
        below = below || (head.empty() ? !p.empty() : p.size() > head.size() && p.starts_with(head + "/"));
      }
      CAPTURE(ea);
      CAPTURE(eb);
      CHECK(glob::may_meet(a, b) == common);
      if (below) CHECK(glob::provably_overlap(a, b));
      if (!common) CHECK_FALSE(glob::provably_overlap(a, b));
    }
  }
}

TEST_CASE("patterns too long for the masks get the safe answers") {
  std::string longer = "*";
  for (int i = 0; i < 80; ++i) longer += "/*";
  CHECK(glob::may_meet(pat(longer), pat("**/x")));
  CHECK_FALSE(glob::provably_overlap(pat(longer), pat("**/x")));
  CHECK_FALSE(glob::covers(pat("**/x"), pat(longer)));
  CHECK(glob::may_meet(pat(std::string(300, 'a') + "*"), pat("*" + std::string(300, 'b') + "?")));
}
