#include "glob/gitignore.hpp"

#include <doctest/doctest.h>

#include <set>

#include "reference.hpp"
#include "support/temp_dir.hpp"

using namespace vx;
using glob::ignore_file;
using test::random_text;

namespace {

/// What a walk does with one rule file at its root: an ignored directory ends the descent.
bool walk_ignores(const ignore_file& rules, const std::string& path) {
  for (std::size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const bool leaf = at == std::string::npos;
    if (rules.check(path.substr(0, at), !leaf) == ignore_file::verdict::ignored) return true;
  }
  return false;
}

std::string random_rule(random_text& r) {
  static const char* const k_pieces[] = {"*",    "**",   "?",      "a",    "b",   "ab", "*a",           "a*",
                                         "[ab]", "[!a]", "[a-b]*", "[^b]", "\\a", "[",  "[[:alpha:]]b", "***"};
  std::string s;
  for (std::size_t n = 1 + r.below(3); n > 0; --n) {
    if (!s.empty()) s += "/";
    s += k_pieces[r.below(std::size(k_pieces))];
  }
  // Elsewhere git lets "a**/" cross directories, against its own manual.
  if (r.chance(10)) s += "/a**";
  if (r.chance(20)) s = "/" + s;
  if (r.chance(25)) s += "/";
  if (r.chance(20)) s = "!" + s;
  if (r.chance(5)) s += "  ";
  if (r.chance(5)) s = "#" + s;
  return s;
}

}  // namespace

TEST_CASE("one ignore rule means what git says it means") {
  struct row {
    std::string rule, path;
    bool dir, ignored;
  };
  const row rows[] = {
      {"a", "a", false, true},
      {"a", "x/a", false, true},
      {"/a", "x/a", false, false},
      {"a/", "a", false, false},
      {"a/", "a", true, true},
      {"a/b", "a/b", false, true},
      {"a/b", "x/a/b", false, false},
      {"*.log", "x/y.log", false, true},
      {"a/*", "a/b/c", false, false},
      {"a/**", "a", true, false},
      {"a/**", "a/b/c", false, true},
      {"**/a", "x/y/a", false, true},
      {"a/**/b", "a/b", false, true},
      {"a/**/b", "a/x/y/b", false, true},
      {"# a", "# a", false, false},
      {"\\#a", "#a", false, true},
      {"\\!a", "!a", false, true},
      {"a  ", "a", false, true},
      {"a\\ ", "a ", false, true},
      {"a\r", "a", false, true},
      {"[a-c]", "b", false, true},
      {"[!a-c]", "b", false, false},
      {"[]a]", "]", false, true},
      {"[a\\]]", "]", false, true},
      {"[", "[", false, false},
      {"?", "\xC3\xA9", false, false},
      {"??", "\xC3\xA9", false, true},
      {".*", ".env", false, true},
      {"*", ".env", false, true},
      {"", "a", false, false},
      {"/", "a", true, false},
      {"a\\", "a\\", false, false},
      {"\xEF\xBB\xBF"
       "a",
       "a", false, true},
  };
  for (const row& r : rows) {
    CAPTURE(r.rule);
    CAPTURE(r.path);
    CHECK((ignore_file::parse(r.rule).check(r.path, r.dir) == ignore_file::verdict::ignored) == r.ignored);
  }
  CHECK(ignore_file::parse("*\n!a\n").check("a", false) == ignore_file::verdict::included);
  CHECK(ignore_file::parse("!a\n*\n").check("a", false) == ignore_file::verdict::ignored);
  CHECK(ignore_file::parse("# nothing\n\n").empty());
}

TEST_CASE("random rules agree with git check-ignore") {
  const test::temp_dir repo;
  repo.sh("git init -q . && git config core.excludesFile /dev/null && rm -f .git/info/exclude");
  random_text r(5);
  for (int round = 0; round < 60; ++round) {
    std::string rules;
    for (std::size_t n = 1 + r.below(6); n > 0; --n) rules += random_rule(r) + "\n";
    std::set<std::string> paths;
    std::string listing;
    for (int k = 0; k < 120; ++k) {
      std::string p(1, "ab"[r.below(2)]);
      for (std::size_t n = r.below(3); n > 0; --n) p += "ab"[r.below(2)];
      for (std::size_t n = r.below(3); n > 0; --n) p += std::string("/") + "ab"[r.below(2)] + (r.chance(30) ? "b" : "");
      if (paths.insert(p).second) listing += p + "\n";
    }
    repo.write(".gitignore", rules);
    repo.write(".git/listing", listing);
    // --no-index: the paths need not exist, and then the last component is taken for a file.
    const std::string out = repo.sh("git check-ignore --no-index --stdin < .git/listing || test $? -eq 1");
    std::set<std::string> ignored;
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t eol = out.find('\n', at);
      ignored.insert(out.substr(at, eol - at));
      at = eol + 1;
    }
    const ignore_file file = ignore_file::parse(rules);
    CAPTURE(rules);
    for (const std::string& p : paths) {
      CAPTURE(p);
      CHECK(walk_ignores(file, p) == (ignored.count(p) != 0));
    }
  }
}
