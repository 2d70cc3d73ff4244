#include "glob/glob.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "reference.hpp"

using namespace vx;
using glob::side;
using test::random_text;

namespace {

glob::matcher compiled(const std::vector<std::string>& entries) {
  auto m = glob::matcher::compile(entries);
  REQUIRE_MESSAGE(m.has_value(), (m ? "" : m.error().message));
  return *m;
}

std::string refusal(const std::string& entry, side of = side::input) {
  const status s = glob::check_entry(entry, of);
  return s ? "" : s.error().message;
}

}  // namespace

TEST_CASE("a single entry matches what the dialect says") {
  struct row {
    std::string entry;
    std::string path;
    bool matches;
  };
  const row rows[] = {
      {"src", "src", true},
      {"src", "src/a", true},
      {"src", "src/a/b", true},
      {"src", "srcs", false},
      {"src", "src-x/a", false},
      {"src", "a/src", false},
      {"src/", "src/a", true},
      {"src/", "src", true},
      {"src/**", "src/a/b", true},
      {"src/**", "src", true},
      {"src/**", "srcs/a", false},
      {"./src", "src/a", true},
      {"src//a", "src/a", true},
      {"src/./a", "src/a/b", true},
      {"**", "a", true},
      {"**", "a/b/.c", true},
      {"**/*", "a", true},
      {"**/*", "a/b", true},
      {"*/**", "a", true},
      {"*", "a", true},
      {"*", ".a", true},
      {"*", "a/b", false},
      {"*.ts", "a.ts", true},
      {"*.ts", ".ts", true},
      {"*.ts", "a.tsx", false},
      {"*.ts", "a/b.ts", false},
      {"**/*.ts", "b.ts", true},
      {"**/*.ts", "a/b/c.ts", true},
      {"**/*.ts", "a/b.ts/c", false},
      {"src/**/*.ts", "src/a.ts", true},
      {"src/**/*.ts", "src/x/y/a.ts", true},
      {"src/**/*.ts", "lib/a.ts", false},
      {"src/**/*", "src", false},
      {"src/**/*", "src/a", true},
      {"src/**/*", "src/a/b/c", true},
      {"src/*/", "src/a", true},
      {"src/*/", "src/a/b/c", true},
      {"src/*/", "src", false},
      {"a**", "abc", true},
      {"a**", "abc/d", false},
      {"**a", "xa", true},
      {"a/**b", "a/xb", true},
      {"a/**b", "a/x/b", false},
      {"***", "abc", true},
      {"***", "a/b", false},
      {"a***b", "axyzb", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "a/x/y/c", false},
      {"a/**/b/**/c", "a/b/c", true},
      {"a/**/b/**/c", "a/x/b/b/y/c", true},
      {"a/**/b/**/c", "a/c/b", false},
      {"**/b/*/d", "a/b/b/x/d", true},
      {"**/a/b/**/c/d", "a/a/b/c/c/d", true},
      {"**/a/b/**/c/d", "a/b/d", false},
      {"?", "a", true},
      {"?", "", false},
      {"?", "ab", false},
      {"?.ts", "a.ts", true},
      {"a?", "a/", false},
      {"?", "\xC3\xA9", true},
      {"??", "\xC3\xA9", false},
      {"*?", "\xC3\xA9", true},
      {"*??", "\xC3\xA9", false},
      {"*??", "a\xC3\xA9", true},
      {"?", "\xE6\x97\xA5", true},
      {"???", "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", true},
      {"?", "\xF0\x9F\x98\x80", true},
      {"?", "\xFF", true},
      {"??", "\xFF\xFE", true},
      {"?", "\xFF\xFE", false},
      {"?x", "\xC3x", true},
      {"?", "\xED\xA0\x80", false},
      {"???", "\xED\xA0\x80", true},
      {"??", "\xC0\x80", true},
      {"?", "\xC3", true},
      {"{a,b}", "a", true},
      {"{a,b}", "b/c", true},
      {"{a,b}", "c", false},
      {"{src/**,lib/*}", "src/a/b", true},
      {"{src/**,lib/*}", "lib/a/b", false},
      {"x{a,{b,c}}y", "xcy", true},
      {"x{a,{b,c}}y", "xy", false},
      {"src{,/x}", "src/z", true},
      {"*.{ts,tsx}", "a.tsx", true},
      {"*.{ts,tsx}", "a.js", false},
      {"{a,b}/{c,d}", "b/c", true},
      {"{./a,b//c}", "a/x", true},
      {"{./a,b//c}", "b/c/x", true},
      {"{a,b}/", "a/q", true},
      {"app/[id]/**", "app/[id]/p", true},
      {"app/[id]/**", "app/i/p", false},
      {"app/\\[id\\]", "app/[id]/p", true},
      {"[a-z]", "b", false},
      {"[a-z]", "[a-z]", true},
      {"\\{a\\}", "{a}", true},
      {"\\{a,b\\}*", "{a,b}x", true},
      {"\\!x", "!x", true},
      {"a\\\\b", "a\\b", true},
      {"./!x", "!x", true},
      {"x!", "x!", true},
      {"a(b)", "a(b)/c", true},
      {"A", "a", false},
      {"default", "default", true},
      {".*", ".env", true},
      {".*", "env", false},
      {"a/.", "a/b", true},
      {"*/*", "a/b", true},
      {"*/*", "a", false},
      {"*/*", "a/b/c", false},
      {"**/**", "a/b", true},
      {"a/**/**/b", "a/b", true},
      {"**/node_modules", "a/node_modules", true},
      {"**/node_modules", "a/node_modules/x", false},
      {"**/node_modules/**", "a/node_modules/x/y", true},
      {" a", " a", true},
      {"a ", "a ", true},
      {"a", "a ", false},
      {"*a*b*", "xaxbx", true},
      {"*a*b*", "xbxax", false},
      {"a*a", "a", false},
      {"a*a", "aa", true},
      {"ab*ba", "aba", false},
      {"\xFF*", "\xFFz", true},
      {"a\nb", "a\nb", true},
  };
  for (const row& r : rows) {
    CAPTURE(r.entry);
    CAPTURE(r.path);
    CHECK(compiled({r.entry}).match(r.path) == r.matches);
  }
}

TEST_CASE("negative entries subtract wherever they stand") {
  for (const std::vector<std::string>& list :
       {std::vector<std::string>{"src/**", "!src/gen/**"}, {"!src/gen", "src"}, {"!./src/gen/", "./src/"}}) {
    const glob::matcher m = compiled(list);
    CHECK(m.match("src/a"));
    CHECK_FALSE(m.match("src/gen/a"));
    CHECK(m.positive("src/gen/a"));
    CHECK(m.negative("src/gen/a"));
    CHECK(m.has_negatives());
  }
  CHECK_FALSE(compiled({"**", "!**/*.md", "README.md"}).match("README.md"));
  CHECK_FALSE(compiled({"!(group)/**", "**"}).match("(group)/x"));
  CHECK(compiled({"!(group)/**", "**"}).match("group/x"));
  CHECK_FALSE(compiled({"**", "!{a,b}/**"}).match("b/c"));
}

TEST_CASE("the empty matcher matches nothing and everything() everything") {
  CHECK_FALSE(glob::matcher().match("a"));
  CHECK(glob::matcher().empty());
  CHECK_FALSE(glob::matcher().may_match_below(""));
  CHECK(glob::matcher::everything().match("a/b"));
  CHECK(glob::matcher::everything().is_everything());
  CHECK(glob::matcher::everything().owns_tree(""));
  CHECK(compiled({"**/*"}).is_everything());
  CHECK(compiled({"./**"}).is_everything());
  CHECK_FALSE(compiled({"**", "!a"}).is_everything());
  CHECK_FALSE(compiled({"**", "a"}).is_everything());
  CHECK(compiled({"!a"}).empty());
  glob::matcher moved = glob::matcher::everything();
  const glob::matcher to = std::move(moved);
  CHECK(to.match("a"));
  CHECK(moved.positives().empty());
}

TEST_CASE("normalize writes one spelling") {
  const std::pair<const char*, const char*> rows[] = {
      {"./src", "src"},       {"a//b", "a/b"},      {"a/./b", "a/b"}, {"!./x", "!x"},   {"src/*/", "src/*/**"},
      {"src/", "src"},        {"\\[id\\]", "[id]"}, {"././a", "a"},   {"**/", "**"},    {"a/**/", "a/**"},
      {"\\{a\\}", "\\{a\\}"}, {"\\!a", "\\!a"},     {"./!a", "\\!a"}, {"x\\!a", "x!a"}, {"a\\\\b", "a\\\\b"},
      {"{a,b}/", "{a,b}/**"}, {"!a//", "!a"},       {".", "."},       {"./", "."},
  };
  for (const auto& [from, to] : rows) {
    CAPTURE(from);
    CHECK(glob::normalize(from) == to);
    CHECK(glob::normalize(glob::normalize(from)) == to);
  }
}

TEST_CASE("normalize keeps the meaning of an entry") {
  random_text r(11);
  for (int i = 0; i < 3000; ++i) {
    const std::string entry = r.glob(true);
    const glob::matcher a = compiled({entry});
    const glob::matcher b = compiled({glob::normalize("./" + entry)});
    for (int k = 0; k < 5; ++k) {
      const std::string path = r.path();
      CAPTURE(entry);
      CAPTURE(path);
      CHECK(a.match(path) == b.match(path));
    }
  }
}

TEST_CASE("refused entries say what to write") {
  struct row {
    std::string entry;
    const char* says;
  };
  const row rows[] = {
      {"", "empty"},
      {"  ", "empty"},
      {"!", "negates nothing"},
      {"! ", "negates nothing"},
      {".", "write \"**\""},
      {"./", "write \"**\""},
      {"!.", "write \"**\""},
      {"/etc/x", "workspaceFiles"},
      {"!/x", "workspaceFiles"},
      {"../x", "dependsOn"},
      {"a/../b", "workspaceFiles"},
      {"**/../x", "workspaceFiles"},
      {"{../shared,src}/**", "workspaceFiles"},
      {"a/{b,..}/c", "workspaceFiles"},
      {".{.,x}/a", "workspaceFiles"},
      {"{,a}/b", "absolute"},
      {"src\\**", "\"src/**\""},
      {"src\\a", "forward slashes"},
      {"a\\", "forward slashes"},
      {"C:/src", "drive letter"},
      {"c:\\src", "drive letter"},
      {"!d:/x", "drive letter"},
      {"{a", "unclosed brace"},
      {"a}", "unclosed brace"},
      {"{a,{b}", "unclosed brace"},
      {"{b}.ts", "\"b.ts\", or \"\\{b\\}.ts\""},
      {"a/{b}", "one alternative"},
      {"{}", "names the directory itself"},
      {"{a,{b}}", "one alternative"},
      {"@(a|b)", "\"{a,b}\""},
      {"src/@(a)/x", "\"src/a/x\""},
      {"+(a|b).ts", "\"{a,b}.ts\""},
      {"*(a)", "extended glob"},
      {"?(a|b)c", "extended glob"},
      {"src/!(a)", "separate \"!\" entries"},
      {"!x/@(a|b)", "\"!x/{a,b}\""},
      {"!!x", "\"x\" or \"!x\""},
      {"$TURBO_DEFAULT$", "\"**\""},
      {"!$TURBO_DEFAULT$", "\"**\""},
      {"$TURBO_ROOT$/x/y", "\"x/y\" in workspaceFiles"},
      {"{projectRoot}/src/**", "\"src/**\""},
      {"{workspaceRoot}/a", "\"a\" in workspaceFiles"},
      {"dist/{projectName}", "plain path"},
      {"{options.outputPath}", "plain path"},
      {"x/{projectRoot}", "plain path"},
      {"^build", "dependsOn"},
      {"{!a,b}", "separate entries"},
  };
  for (const row& r : rows) {
    CAPTURE(r.entry);
    const std::string message = refusal(r.entry);
    CAPTURE(message);
    CHECK(message.find(r.says) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
  CHECK(refusal(std::string("a\0b", 3)).find("NUL") != std::string::npos);
  std::string many = "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
  CHECK(refusal(many) == "");
  CHECK(refusal(many + "{a,b}").find("1024") != std::string::npos);
  CHECK(refusal(std::string(4000, '{') + "a,b" + std::string(4000, '}')).find("one alternative") != std::string::npos);
}

TEST_CASE("legal entries pass on both sides") {
  for (const char* e : {"**",          "src",        "src/**",      "!src/gen/**", "{a,b}",
                        "app/[id]/**", "\\[id\\]",   "!(group)/**", "default",     ".env",
                        ".env*",       "a:b",        "@scope/x",    "(a)",         "@modal/(.)photo",
                        "a^b",         "\\!x",       "\\{a\\}",     "a\\\\b",      "node_modules/**",
                        ".gitignore",  ".github/**", "a..b",        "...",         "x/...",
                        "$HOME",       "日本語/**",  "a b",         "c:x"}) {
    CAPTURE(e);
    CHECK(refusal(e, side::input) == "");
    CHECK(refusal(e, side::output) == "");
  }
  CHECK(refusal("{b}.ts", side::output) == "");
  CHECK(compiled({"{b}.ts"}).match("b.ts"));
}

TEST_CASE("outputs stay out of .git and .vx") {
  for (const char* e : {".git", ".git/x", ".vx/**", "a/.git/**", "{dist,.vx}/**", "./.vx"}) {
    CAPTURE(e);
    CHECK(refusal(e, side::output).find(".git or .vx") != std::string::npos);
    CHECK(refusal(e, side::input) == "");
  }
  CHECK(refusal("!.git/**", side::output) == "");
}

TEST_CASE("lists that select nothing are refused") {
  CHECK(glob::check_list({}, side::input));
  CHECK_FALSE(glob::check_list({"!x"}, side::input));
  CHECK_FALSE(glob::check_list({"!x", "!y/**"}, side::output));
  CHECK(glob::check_list({"**", "!x"}, side::input));
  for (const std::vector<std::string>& l :
       {std::vector<std::string>{"src/gen", "!src/**"}, {"a.ts", "!*.ts"}, {"a", "!a"}, {"!**/b", "x/b"}, {"./a/", "!**"}}) {
    const status s = glob::check_list(l, side::input);
    REQUIRE_FALSE(s);
    CHECK(s.error().message.find("takes it back") != std::string::npos);
    CHECK(glob::check_list(l, side::output));
  }
  CHECK(glob::check_list({"src", "!src/gen"}, side::input));
  CHECK(glob::check_list({"src/*", "!src/**"}, side::input));
  CHECK(glob::check_list({"{a,b}", "!a"}, side::input));
}

TEST_CASE("the matcher agrees with a plain reading on random lists") {
  random_text r(1);
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::string> plus;
    std::vector<std::string> minus;
    std::vector<std::string> list;
    const bool large = i % 10 == 0;  // beyond the scan limit the tables answer
    for (std::size_t n = (large ? 20 : 1) + r.below(3); n > 0; --n)
      list.push_back(plus.emplace_back(r.chance(30) ? r.path() : r.glob(true)));
    for (std::size_t n = (large ? 12 : 0) + r.below(2); n > 0; --n)
      list.push_back("!" + minus.emplace_back(r.chance(30) ? r.path() : r.glob(true)));
    const glob::matcher m = compiled(list);
    for (int k = 0; k < 12; ++k) {
      const std::string path = r.path();
      const auto hit = [&](const std::vector<std::string>& l) {
        return std::any_of(l.begin(), l.end(), [&](const std::string& e) { return test::ref_match(e, path); });
      };
      CAPTURE(list.front());
      CAPTURE(path);
      CHECK(m.positive(path) == hit(plus));
      CHECK(m.negative(path) == hit(minus));
      CHECK(m.match(path) == (hit(plus) && !hit(minus)));
    }
  }
}

TEST_CASE("pruning never hides a match and an owned tree is matched whole") {
  random_text r(2);
  int pruned = 0;
  int owned = 0;
  for (int i = 0; i < 6000; ++i) {
    std::vector<std::string> list;
    for (std::size_t n = (i % 8 == 0 ? 14 : 1) + r.below(2); n > 0; --n) list.push_back(r.chance(40) ? r.path() : r.glob(true));
    if (r.chance(50)) list.push_back("!" + (r.chance(50) ? r.path() : r.glob(true)));
    const glob::matcher m = compiled(list);
    const std::string dir = r.path();
    const bool may = m.may_match_below(dir);
    const bool owns = m.owns_tree(dir);
    pruned += may ? 0 : 1;
    owned += owns ? 1 : 0;
    for (int k = 0; k < 12; ++k) {
      const std::string path = k == 0 ? dir : dir + "/" + r.path();
      CAPTURE(list.front());
      CAPTURE(list.back());
      CAPTURE(path);
      if (!may) CHECK_FALSE(m.match(path));
      if (owns) CHECK(m.match(path));
    }
  }
  CHECK(pruned > 500);
  CHECK(owned > 500);
}

TEST_CASE("walks are pruned where a person would prune them") {
  const glob::matcher m = compiled({"src/**", "lib/*.ts", "*/test/**", "!src/gen/**", "!**/node_modules/**"});
  CHECK(m.may_match_below(""));
  CHECK(m.may_match_below("src"));
  CHECK(m.may_match_below("src/a/b"));
  CHECK_FALSE(m.may_match_below("src/gen"));
  CHECK_FALSE(m.may_match_below("src/gen/x"));
  CHECK_FALSE(m.may_match_below("src/node_modules"));
  CHECK(m.may_match_below("lib"));
  CHECK_FALSE(m.may_match_below("lib/x/y"));
  CHECK(m.may_match_below("x"));
  CHECK(m.may_match_below("x/test/y"));
  CHECK_FALSE(m.may_match_below("x/tests"));
  CHECK_FALSE(m.owns_tree("src"));
  const glob::matcher plain = compiled({"dist", "out/**/*"});
  CHECK(plain.owns_tree("dist"));
  CHECK(plain.owns_tree("dist/a"));
  CHECK_FALSE(plain.owns_tree("out"));
  CHECK(plain.owns_tree("out/a"));
  CHECK_FALSE(plain.owns_tree(""));
}

TEST_CASE("thousands of literals are found by their ancestors") {
  std::vector<std::string> list;
  for (int i = 0; i < 4000; ++i) list.push_back("dir" + std::to_string(i % 50) + "/file" + std::to_string(i));
  const glob::matcher m = compiled(list);
  for (int i = 0; i < 4000; ++i) {
    CHECK(m.match(list[static_cast<std::size_t>(i)]));
    CHECK(m.match(list[static_cast<std::size_t>(i)] + "/below"));
    CHECK_FALSE(m.match(list[static_cast<std::size_t>(i)] + "x"));
  }
  CHECK(m.may_match_below("dir7"));
  CHECK_FALSE(m.may_match_below("dir51"));
}

TEST_CASE("a literal pattern owns its path whatever characters it holds") {
  const glob::pattern p = glob::literal_pattern("packages/a*b");
  CHECK(glob::matches(p, "packages/a*b/x"));
  CHECK_FALSE(glob::matches(p, "packages/axb/x"));
  auto src = glob::parse("src/*.ts");
  REQUIRE(src);
  const glob::pattern r = glob::rebase("packages/a*b", src->patterns.front());
  CHECK(glob::matches(r, "packages/a*b/src/x.ts"));
  CHECK_FALSE(glob::matches(r, "packages/axb/src/x.ts"));
  const glob::matcher m = glob::matcher::from_patterns({r}, {});
  CHECK(m.match("packages/a*b/src/x.ts"));
  CHECK_FALSE(m.match("packages/axb/src/x.ts"));
}

TEST_CASE("bench: 50,000 matches of ordinary declarations" * doctest::skip()) {
  const glob::matcher lists[] = {compiled({"src/**", "package.json", "tsconfig.json", "!**/*.test.ts"}),
                                 compiled({"**", "!dist/**", "!**/*.md"}), compiled({"**/*.{ts,tsx,js,json}"})};
  const std::string paths[] = {"src/components/button/index.ts", "package.json", "README.md", "src/lib/deep/er/file.test.ts"};
  for (const glob::matcher& m : lists) {
    const std::clock_t begin = std::clock();
    int hits = 0;
    for (int i = 0; i < 50000; ++i) hits += m.match(paths[i % 4]) ? 1 : 0;
    MESSAGE("CPU us: " << (std::clock() - begin) * 1000000 / CLOCKS_PER_SEC << " hits " << hits);
  }
}
