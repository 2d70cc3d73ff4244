#include "run/locations.hpp"

#include <doctest/doctest.h>

#include <set>

#include "base/fs.hpp"
#include "support/temp_dir.hpp"

using namespace vx;
using run::location;

namespace {

std::vector<location> find(std::string_view output) {
  static const std::set<std::string> there = {"src/a.ts", "src/b.py", "lib/c.rs", "/w/d.js", "Makefile"};
  return run::find_locations(output,
                             [](const std::string& w) { return there.count(w) != 0 ? std::optional(w) : std::nullopt; });
}

}  // namespace

TEST_CASE("places in the forms that compilers, test runners and interpreters write") {
  struct row {
    const char* text;
    location expect;
  };
  for (const row& r :
       {row{"src/a.ts:12:5 - error TS2322", {"src/a.ts", 12u, 5u}}, row{"src/a.ts(3,14): error TS1", {"src/a.ts", 3u, 14u}},
        row{"src/a.ts(3): warning", {"src/a.ts", 3u, std::nullopt}},
        row{"Makefile:7: *** missing", {"Makefile", 7u, std::nullopt}}, row{"  --> lib/c.rs:3:9", {"lib/c.rs", 3u, 9u}},
        row{"    at f (file:///w/d.js:10:3)", {"/w/d.js", 10u, 3u}},
        row{"  File \"src/b.py\", line 4, in f", {"src/b.py", 4u, std::nullopt}},
        row{"at /w/d.js:2", {"/w/d.js", 2u, std::nullopt}}}) {
    CAPTURE(r.text);
    const auto found = find(r.text);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == r.expect);
  }
}

TEST_CASE("what names no file is no place") {
  for (const char* text :
       {"12:30:45 done", "http://localhost:3000/x", "nope.ts:1:2", ":5:5", "src/a.ts:0:1", "src/a.ts:99999999", "", "a(1,"}) {
    CAPTURE(text);
    CHECK(find(text).empty());
  }
}

TEST_CASE("each place once, in order, twenty at the most") {
  CHECK(find("src/a.ts:1:1\nlib/c.rs:2:2 src/a.ts:1:1\n").size() == 2);
  std::string many;
  for (int i = 1; i < 100; ++i) many += "src/a.ts:" + std::to_string(i) + "\n";
  CHECK(find(many).size() == 20);
}

TEST_CASE("paths are looked for below the project, then below the root, and never outside") {
  const test::temp_dir dir;
  const std::string root = *fs::real_path(dir.path());
  REQUIRE(fs::make_dirs_at(fs::k_cwd, root + "/p/src"));
  REQUIRE(fs::write_file_atomic_at(fs::k_cwd, root + "/p/src/x", ""));
  REQUIRE(fs::write_file_atomic_at(fs::k_cwd, root + "/y", ""));
  const auto resolve = run::resolve_below(root, "p");
  CHECK(resolve("src/x") == "p/src/x");
  CHECK(resolve("./src/x") == "p/src/x");
  CHECK(resolve("y") == "y");
  CHECK(resolve("../y") == "y");
  CHECK(resolve(root + "/p/src/x") == "p/src/x");
  CHECK_FALSE(resolve("../../etc/passwd"));
  CHECK_FALSE(resolve("/etc/passwd"));
  CHECK_FALSE(resolve("src"));
}
