#include "workspace/filter.hpp"

#include <doctest/doctest.h>

#include "open_workspace.hpp"

using namespace vx::test;
using vx::workspace::filter;
using vx::workspace::parse_filter;

namespace {

std::string shown(const char* text) {
  const auto f = parse_filter(text);
  if (!f) return "!" + std::string(vx::status_name(f.error().code));
  std::string out;
  if (f->exclude) out += "not ";
  if (f->dependents) out += "up ";
  if (f->dependencies) out += "down ";
  if (f->without_self) out += "others ";
  const char* const names[] = {"any", "name", "path", "tag", "root"};
  out += names[static_cast<int>(f->what)];
  if (!f->text.empty()) out += ":" + f->text;
  if (f->ref) out += " since:" + *f->ref;
  return out;
}

std::string selected(const temp_dir& d, const std::vector<std::string>& filters, std::string* notices = nullptr) {
  auto l = open_at(d.path());
  REQUIRE(l);
  std::vector<std::string> said;
  const auto found = vx::workspace::filter_projects(**l, test_env(), filters, said);
  if (notices != nullptr) {
    notices->clear();
    for (const std::string& n : said) *notices += n + "\n";
  }
  if (!found) return "!" + std::string(vx::status_name(found.error().code)) + " " + found.error().message;
  return joined(names_of((*l)->ws(), *found));
}

}  // namespace

TEST_CASE("every form of a filter parses to what it means") {
  struct row {
    const char *text, *expected;
  };
  const row rows[] = {
      {"a", "name:a"},
      {"@scope/*", "name:@scope/*"},
      {"*core*", "name:*core*"},
      {"./dir", "path:dir"},
      {"./dir/", "path:dir"},
      {"{dir}", "path:dir"},
      {"{./dir}", "path:dir"},
      {"{apps/**}", "path:apps/**"},
      {"./apps/[ab]", "path:apps/[ab]"},
      {"{app/[id]}", "path:app/[id]"},
      {".", "path"},
      {"./", "path"},
      {"//", "root"},
      {"//...", "down root"},
      {"tag:x*", "tag:x*"},
      {"a...", "down name:a"},
      {"a^...", "down others name:a"},
      {"...a", "up name:a"},
      {"...^a", "up others name:a"},
      {"...a...", "up down name:a"},
      {"...a^...", "up down others name:a"},
      {".../dir", "!VX_E_USAGE"},
      {"..../dir", "up path:dir"},
      {"...{dir}...", "up down path:dir"},
      {"[main]", "any since:main"},
      {"a[main]", "name:a since:main"},
      {"{dir}[main]", "path:dir since:main"},
      {"tag:t[main]", "tag:t since:main"},
      {"a...[main]", "down name:a since:main"},
      {"...[main]", "up any since:main"},
      {"[main...HEAD]", "any since:main...HEAD"},
      {"!a", "not name:a"},
      {"!./dir...", "not down path:dir"},
      {"![main]", "not any since:main"},
      {"", "!VX_E_USAGE"},
      {" ", "!VX_E_USAGE"},
      {"!", "!VX_E_USAGE"},
      {"...", "!VX_E_USAGE"},
      {"......", "!VX_E_USAGE"},
      {"...^...", "!VX_E_USAGE"},
      {"^a", "!VX_E_USAGE"},
      {"a^", "!VX_E_USAGE"},
      {"!!a", "!VX_E_USAGE"},
      {"../x", "!VX_E_USAGE"},
      {"..", "!VX_E_USAGE"},
      {"./../x", "!VX_E_USAGE"},
      {"{../x}", "!VX_E_USAGE"},
      {"{}", "!VX_E_USAGE"},
      {"{a", "!VX_E_USAGE"},
      {"{a,b}/x", "!VX_E_USAGE"},
      {"/abs", "!VX_E_USAGE"},
      {"tag:", "!VX_E_USAGE"},
      {"a]", "!VX_E_USAGE"},
      {"[]", "!VX_E_USAGE"},
      {"[-x]", "!VX_E_USAGE"},
      {"[^x]", "!VX_E_USAGE"},
      {"[a..b]", "!VX_E_USAGE"},
      {"[HEAD:f]", "!VX_E_USAGE"},
      {"...a[main]", "!VX_E_USAGE"},
      {"a^...[main]", "!VX_E_USAGE"},
      {"[main]...", "!VX_E_USAGE"},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    CHECK(shown(r.text) == r.expected);
  }
}

TEST_CASE("walks over a chain") {
  small_workspace d;
  d.package("a", {"b"});
  d.package("b", {"c"});
  d.package("c");
  d.package("z");
  struct row {
    std::vector<std::string> filters;
    const char* expected;
  };
  const row rows[] = {
      {{"b..."}, "b c"},        {{"b^..."}, "c"},      {{"...b"}, "a b"},       {{"...^b"}, "a"},
      {{"...b..."}, "a b c"},   {{"...b^..."}, "a c"}, {{"!b", "a..."}, "a c"}, {{"a...", "!b"}, "a c"},
      {{"!b"}, "a c z"},        {{"!b", "!z"}, "a c"}, {{"*"}, "a b c z"},      {{"a", "z"}, "a z"},
      {{"z", "a", "a"}, "a z"}, {{"!b..."}, "a z"},    {{"a^...", "!c"}, "b"},  {{"."}, "a b c z"},
  };
  for (const row& r : rows) {
    CAPTURE(joined(r.filters));
    CHECK(selected(d, r.filters) == r.expected);
  }
}

TEST_CASE("excluding a dependency leaves the rest of a walk") {
  small_workspace d;
  d.package("a", {"b"});
  d.package("b");
  CHECK(selected(d, {"!b", "a..."}) == "a");
}

TEST_CASE("names, scopes and paths") {
  temp_dir d;
  d.write("pnpm-workspace.yaml", "packages: ['packages/**', 'app/*', 'apps/*']\n");
  const auto add = [&](const std::string& dir, const std::string& name) {
    d.write(dir + "/package.json", "{\"name\": \"" + name + "\"}");
  };
  add("packages/a", "a");
  add("packages/a/sub", "a-sub");
  add("packages/cart", "@s/cart");
  add("packages/x", "@s/two");
  add("packages/y", "@t/two");
  add("app/[id]", "page");
  add("app/i", "page-i");
  add("apps/web", "web");
  struct row {
    const char *filter, *expected;
  };
  const row rows[] = {
      {"./packages/a", "a"},
      {"./packages/a/", "a"},
      {"./packages", "@s/cart @s/two @t/two a a-sub"},
      {"{packages/a}", "a"},
      {"{packages/a/**}", "a a-sub"},
      {"./packages/*", "@s/cart @s/two @t/two a"},
      {"./packages/**", "@s/cart @s/two @t/two a a-sub"},
      {"{app/[id]}", "page"},
      {"./app/[id]", "page"},
      {"./app/[ix]", "page-i"},
      {"@s/*", "@s/cart @s/two"},
      {"*two", "@s/two @t/two"},
      {"cart", "@s/cart"},
      {"apps/*", "web"},
      {"apps/web", "web"},
      {"./{app,apps}/*", "page page-i web"},
  };
  for (const row& r : rows) {
    CAPTURE(r.filter);
    CHECK(selected(d, {r.filter}) == r.expected);
  }
  CHECK(has(selected(d, {"two"}), "!VX_E_UNKNOWN_PROJECT"));
  CHECK(has(selected(d, {"carte"}), "did you mean @s/cart?"));
  CHECK(has(selected(d, {"./nowhere"}), "!VX_E_UNKNOWN_PROJECT"));
  CHECK(has(selected(d, {"//"}), "no root project"));
}

TEST_CASE("the root project by filter") {
  temp_dir d;
  d.write("package.json", R"({"name": "root", "workspaces": [".", "p/*"]})");
  d.write("p/a/package.json", R"({"name": "a"})");
  CHECK(selected(d, {"//"}) == "root");
  CHECK(selected(d, {"."}) == "root");
  CHECK(selected(d, {"./"}) == "root");
  CHECK(selected(d, {"!//"}) == "a");
}

TEST_CASE("tags") {
  small_workspace d;
  d.package("a", {}, R"({"tags": ["ui", "team/x"]})");
  d.package("b", {}, R"({"tags": ["api"]})");
  d.package("c", {"a"});
  CHECK(selected(d, {"tag:ui"}) == "a");
  CHECK(selected(d, {"tag:team/*"}) == "a");
  CHECK(selected(d, {"...tag:ui"}) == "a c");
  const std::string none = selected(d, {"tag:uii"});
  CHECK(has(none, "!VX_E_UNKNOWN_PROJECT"));
  CHECK(has(none, "did you mean ui?"));
  CHECK(has(selected(d, {"tag:zzzzz"}), "api, team/x, ui"));
}

TEST_CASE("a filter that selects nothing is refused alone and reported beside others") {
  small_workspace d;
  d.package("a", {"b"});
  d.package("b");
  std::string notices;
  CHECK(has(selected(d, {"nope"}), "!VX_E_UNKNOWN_PROJECT the filter \"nope\""));
  CHECK(has(selected(d, {"nope"}), "a, b"));
  CHECK(selected(d, {"nope", "a"}, &notices) == "a");
  CHECK(has(notices, "nope"));
  const std::string walk = selected(d, {"b^..."});
  CHECK(has(walk, "no dependencies"));
  CHECK(has(selected(d, {"...^a"}), "no dependents"));
  const std::string out = selected(d, {"a", "!a"});
  CHECK(has(out, "!VX_E_USAGE"));
  CHECK(has(out, "\"!a\""));
  CHECK(selected(d, {"!nope"}, &notices) == "a b");
  CHECK(has(notices, "nope"));
}

TEST_CASE("REACH counts peers that close a cycle and cross-project dependsOn entries") {
  small_workspace d;
  d.package("x", {"y"});
  d.write("packages/y/package.json", R"({"name": "y", "peerDependencies": {"x": "*"}})");
  CHECK(selected(d, {"...x"}) == "x y");
  small_workspace e;
  e.package("a", {}, config_json({task_json("gen")}));
  e.package("b", {}, config_json({task_json("t", {"a#gen"})}));
  CHECK(selected(e, {"...a"}) == "a b");
  CHECK(selected(e, {"b..."}) == "a b");
}

TEST_CASE("configs are read only for filters that walk or ask for tags") {
  small_workspace d;
  d.package("a", {"b"}, "{broken");
  d.package("b");
  CHECK(selected(d, {"b"}) == "b");
  CHECK(selected(d, {"./packages/*"}) == "a b");
  CHECK(has(selected(d, {"b..."}), "packages/a/vx.config.json"));
  CHECK(has(selected(d, {"tag:x"}), "packages/a/vx.config.json"));
}
