#include <doctest/doctest.h>

#include "glob/glob.hpp"

using namespace vx;

namespace {

glob::member_matcher members(const std::vector<std::string>& entries) {
  auto m = glob::member_matcher::compile(entries);
  REQUIRE_MESSAGE(m.has_value(), (m ? "" : m.error().message));
  return *m;
}

}  // namespace

TEST_CASE("member globs match directories") {
  struct row {
    std::string entry, dir;
    bool matches;
  };
  const row rows[] = {
      {"packages/*", "packages/a", true},
      {"packages/*", "packages/a/b", false},
      {"packages/*", "packages", false},
      {"packages/*", "packages/.a", false},
      {"packages/.a", "packages/.a", true},
      {"packages/.*", "packages/.a", true},
      {"packages/**", "packages", true},
      {"packages/**", "packages/a/b", true},
      {"packages/**", "packages/.x/b", false},
      {"packages/**/x", "packages/a/b/x", true},
      {"packages/**/x", "packages/x", true},
      {"packages/**/.x", "packages/a/.x", true},
      {"**", "a/b", true},
      {"**", "", true},
      {"**", "node_modules/a", false},
      {"**", "a/node_modules/b", false},
      {"**", "a/.git", false},
      {"packages/*", "packages/node_modules", false},
      {"./packages/*/", "packages/a", true},
      {"packages//a", "packages/a", true},
      {"packages/{a,b}", "packages/b", true},
      {"{apps,libs/x}/*", "libs/x/q", true},
      {"packages/[ab]", "packages/a", true},
      {"packages/[ab]", "packages/c", false},
      {"packages/[!ab]", "packages/c", true},
      {"packages/[a-c]x", "packages/bx", true},
      {"packages/[^a-c]x", "packages/bx", false},
      {"packages/\\[id\\]", "packages/[id]", true},
      {"packages/[id", "packages/[id", true},
      {"packages/?", "packages/a", true},
      {"packages/?", "packages/\xC3\xA9", true},
      {"packages/?", "packages/.", false},
      {"packages/[\xC3\xA9]", "packages/\xC3\xA9", true},
      {"packages/[[:digit:]]", "packages/7", true},
      {".", "", true},
      {"./", ".", true},
      {"*", "", false},
      {"packages/a", "packages/a/b", false},
      {"a/**/b/**/c", "a/b/x/b/c", true},
      {"a/**/b/**/c", "a/x/c", false},
  };
  for (const row& r : rows) {
    CAPTURE(r.entry);
    CAPTURE(r.dir);
    CHECK(members({r.entry}).match(r.dir) == r.matches);
  }
}

TEST_CASE("negative member entries exclude trees, members by pattern and members by their marker file") {
  struct row {
    std::string entry, dir;
    bool excluded;
  };
  const row rows[] = {
      {"!packages/a", "packages/a", true},
      {"!packages/a", "packages/a/b", true},
      {"!packages/a", "packages/ab", false},
      {"!**/test/**", "packages/test", true},
      {"!**/test/**", "packages/test/x", true},
      {"!**/test/**", "packages/tests", false},
      {"!packages/foo*", "packages/foo1", true},
      {"!packages/foo*", "packages/bar", false},
      {"!packages/{a,b}", "packages/b", true},
      {"!packages/\\[id\\]", "packages/[id]/x", true},
      {"!.", "", true},
      {"!.", "a", false},
      {"!**", "", true},
  };
  for (const row& r : rows) {
    CAPTURE(r.entry);
    CAPTURE(r.dir);
    const glob::member_matcher m = members({"**", r.entry});
    CHECK(m.excluded(r.dir, "package.json") == r.excluded);
    CHECK(m.positives() == std::vector<std::string>{"**"});
  }
}

TEST_CASE("extended globs are refused with the exact rewrite where there is one") {
  const std::pair<const char*, const char*> rows[] = {
      {"!(a|b)", "write \"!a\", \"!b\""},
      {"packages/!(a|b)", "write \"packages/*\", \"!packages/a\", \"!packages/b\""},
      {"packages/@(a|b)/x", "write \"packages/{a,b}/x\""},
      {"packages/@(a)", "write \"packages/a\""},
      {"packages/+(a|b)", "brace sets"},
      {"packages/x!(a|b)", "brace sets"},
      {"packages/!(a*|b)", "brace sets"},
      {"?(a)", "brace sets"},
      {"/abs/*", "outside the workspace root"},
      {"../ext/*", "outside the workspace root"},
      {"a/../../b", "outside the workspace root"},
      {"", "empty"},
      {"{a", "unclosed"},
  };
  for (const auto& [entry, says] : rows) {
    CAPTURE(entry);
    auto m = glob::member_matcher::compile({entry});
    REQUIRE_FALSE(m);
    CAPTURE(m.error().message);
    CHECK(m.error().message.find(says) != std::string::npos);
  }
}

TEST_CASE("member walks descend only where a member may be") {
  const glob::member_matcher m = members({"packages/*", "libs/**", "apps/{a,b}/x"});
  CHECK(m.may_match_below(""));
  CHECK(m.may_match_below("packages"));
  CHECK(m.may_match_below("packages/a"));
  CHECK_FALSE(m.may_match_below("packages/a/b"));
  CHECK(m.may_match_below("libs/a/b"));
  CHECK(m.may_match_below("apps/b"));
  CHECK_FALSE(m.may_match_below("apps/c"));
  CHECK_FALSE(m.may_match_below("libs/node_modules"));
  CHECK(glob::member_pattern_is_literal("packages/a"));
  CHECK(glob::member_pattern_is_literal("packages/\\[a\\]"));
  CHECK_FALSE(glob::member_pattern_is_literal("packages/[a]"));
  CHECK_FALSE(glob::member_pattern_is_literal("packages/*"));
  CHECK(glob::member_pattern_has_globstar("a/**"));
  CHECK_FALSE(glob::member_pattern_has_globstar("a/**b"));
}
