#include "cache/outputs.hpp"

#include "cache/scope_space.hpp"
#include "fixture.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;

namespace {

/// One string, so that a failing check shows both sides.
std::string joined(const std::vector<std::string>& v) {
  std::string out;
  for (const std::string& s : v) out += s + " | ";
  return out;
}

std::string listed(const output_scope& scope) {
  std::vector<std::string> out;
  const auto rows = list_outputs(scope).value();
  for (const output_row& r : rows) {
    out.push_back(std::string(1, r.kind) + " " + (r.space == space::workspace ? "//" : "") + r.path +
                  (r.kind == 'l' ? " -> " + r.target : ""));
  }
  return joined(out);
}
std::string names(const std::vector<std::string>& v) { return joined(v); }

}  // namespace

TEST_CASE("listing selects what the declaration owns and nothing behind its walls") {
  workspace w;
  for (const char* f : {"dist/a", "dist/.hidden", "dist/sub/b", "dist/node_modules/n", "dist/.git/config", "dist/.vx/x",
                        "dist/keep/k", "src/s", "nested/dist/z", "dist/inner/y", "foo-utils/f", "foo/f", "node_modules/m/i",
                        "lit", "out/deep/o", "a.js", "x/b.js", "[id]/p"}) {
    w.dir.write(std::string("ws/p/") + f, "x");
  }
  w.dir.write("ws/gen/g", "x");
  w.dir.write("ws/other/h", "x");
  w.dir.mkdir("ws/p/dist/empty");
  w.dir.symlink("a", "ws/p/dist/link");
  w.dir.symlink("../src", "ws/p/dist/dirlink");
  w.dir.symlink("nowhere", "ws/p/dist/dangling");

  const std::vector<std::string> all = {"f dist/.hidden",
                                        "f dist/a",
                                        "l dist/dangling -> nowhere",
                                        "l dist/dirlink -> ../src",
                                        "d dist/empty",
                                        "f dist/inner/y",
                                        "f dist/keep/k",
                                        "l dist/link -> a",
                                        "f dist/sub/b"};
  const std::string dist = names(all);
  CHECK(listed(w.scope({"dist/**"})) == dist);
  CHECK(listed(w.scope({"dist"})) == dist);
  CHECK(listed(w.scope({"./dist/"})) == dist);
  CHECK(listed(w.scope({"dist/**", "!dist/keep/**", "!dist/*link"})) ==
        names({"f dist/.hidden", "f dist/a", "l dist/dangling -> nowhere", "d dist/empty", "f dist/inner/y", "f dist/sub/b"}));
  CHECK(listed(w.scope({"dist/**"}, {}, {"dist/inner", "nested"})) ==
        names({all[0], all[1], all[2], all[3], all[4], all[6], all[7], all[8]}));
  CHECK(listed(w.scope({"foo-utils/**", "foo/**"}, {}, {"foo"})) == names({"f foo-utils/f"}));
  CHECK(listed(w.scope({"*.js"})) == names({"f a.js"}));
  CHECK(listed(w.scope({"**/*.js"})) == names({"f a.js", "f x/b.js"}));
  CHECK(listed(w.scope({"lit"})) == names({"f lit"}));
  CHECK(listed(w.scope({"absent/**", "none"})).empty());
  CHECK(listed(w.scope({"{dist/sub,out/deep}/**"})) == names({"f dist/sub/b", "f out/deep/o"}));
  CHECK(listed(w.scope({"[id]/**"})) == names({"f [id]/p"}));
  CHECK(listed(w.scope({"node_modules/**"})) == names({"f node_modules/m/i"}));
  CHECK(listed(w.scope({"dist/node_modules/**"})) == names({"f dist/node_modules/n"}));
  CHECK(listed(w.scope({}, {"gen/**", "p/lit"})) == names({"f //gen/g", "f //p/lit"}));
  CHECK(listed(w.scope({"lit"}, {"gen/**"})) == names({"f lit", "f //gen/g"}));
}

TEST_CASE("directories are outputs when empty or of an odd mode; the rest is implied by their files") {
  workspace w;
  w.dir.write("ws/p/dist/plain/a", "x");
  w.dir.write("ws/p/dist/odd/a", "x");
  w.dir.sh("chmod 0700 ws/p/dist/odd; chmod 0755 ws/p/dist ws/p/dist/plain; mkdir -m 0555 ws/p/dist/none");
  CHECK(listed(w.scope({"dist/**"})) == names({"d dist/none", "d dist/odd", "f dist/odd/a", "f dist/plain/a"}));
  CHECK(list_outputs(w.scope({"dist/**"})).value()[1].mode == 0700);
}

TEST_CASE("a kind that cannot be stored is listed as such") {
  workspace w;
  w.dir.mkdir("ws/p/dist");
  w.dir.sh("mkfifo ws/p/dist/fifo");
  CHECK(listed(w.scope({"dist/**"})) == names({"x dist/fifo"}));
}

TEST_CASE("nothing matched is told from success without outputs") {
  workspace w;
  const auto scope = w.scope({"dist/**"});
  CHECK(matched_nothing(scope, list_outputs(scope).value()));
  w.dir.mkdir("ws/p/dist");  // what a clean keeps
  CHECK(matched_nothing(scope, list_outputs(scope).value()));
  w.dir.mkdir("ws/p/dist/made");
  CHECK_FALSE(matched_nothing(scope, list_outputs(scope).value()));
  CHECK_FALSE(matched_nothing(w.scope({}), {}));
}

TEST_CASE("the clean empties the owned area, keeps the wildcard's root and touches nothing else") {
  workspace w;
  for (const char* f : {"dist/a", "dist/sub/b", "dist/keep/k", "dist/node_modules/n", "out/o", "lit", "src/s", "part/x.js",
                        "part/x.ts", "real/r"}) {
    w.dir.write(std::string("ws/p/") + f, "x");
  }
  w.dir.write("ws/gen/deep/g", "x");
  w.dir.mkdir("ws/p/dist/empty");
  w.dir.symlink("../src", "ws/p/dist/rt");
  const auto scope = w.scope({"dist/**", "!dist/keep/**", "out", "lit", "part/*.js"}, {"gen/deep/**"});
  const auto removed = clean_outputs(scope);
  REQUIRE(removed);
  CHECK(std::count(removed->begin(), removed->end(), "p/dist/a") == 1);
  CHECK(std::count(removed->begin(), removed->end(), "gen/deep/g") == 1);
  CHECK(w.dir.sh("cd ws && find . | sort | tr '\\n' ' '") ==
        ". ./gen ./gen/deep ./p ./p/dist ./p/dist/keep ./p/dist/keep/k ./p/dist/node_modules ./p/dist/node_modules/n "
        "./p/part ./p/part/x.ts ./p/real ./p/real/r ./p/src ./p/src/s ");
  CHECK(clean_outputs(scope)->empty());
}

TEST_CASE("a literal directory goes with all it holds, and read-only directories do not stop a clean") {
  workspace w;
  w.dir.write("ws/p/dist/ro/a", "x");
  w.dir.sh("chmod 0555 ws/p/dist/ro; chmod 0444 ws/p/dist/ro/a");
  REQUIRE(clean_outputs(w.scope({"dist"})));
  CHECK_FALSE(w.dir.exists("ws/p/dist"));
}

TEST_CASE("a directory that a clean has to unlock and keeps is one a command can use") {
  workspace w;
  w.dir.write("ws/p/dist/a", "x");
  w.dir.write("ws/p/dist/deep/keep/k", "x");
  const auto mode = [&](const std::string& name) { return fs::lstat_at(fs::k_cwd, w.root() + "/p/" + name)->mode & 0777; };
  for (const char* locked : {"0000", "0300", "0500", "0555"}) {
    w.dir.sh("chmod " + std::string(locked) + " ws/p/dist/deep ws/p/dist");
    REQUIRE(clean_outputs(w.scope({"dist/**", "!dist/deep/keep/**"})));
    CHECK(mode("dist") == 0755);
    CHECK(mode("dist/deep") == 0755);
    CHECK(w.dir.exists("ws/p/dist/deep/keep/k"));
  }
  w.dir.sh("chmod 0775 ws/p/dist");
  REQUIRE(clean_outputs(w.scope({"dist/**", "!dist/deep/keep/**"})));
  CHECK(mode("dist") == 0775);
}

TEST_CASE("links at and above owned roots are judged the same before a miss and a hit") {
  workspace w;
  w.dir.mkdir("ws/p/.o/p");
  w.dir.mkdir("ws/p/build/out/x");
  w.dir.mkdir("elsewhere");
  w.dir.mkdir("ws/q");
  struct row {
    const char* link;
    const char* target;
    std::vector<std::string> outputs;
    bool refused;
    const char* says;
  };
  const row table[] = {
      {"dist", ".o/p", {"dist/**"}, false, ""},
      {"dist", ".o/p", {"dist"}, false, ""},
      {"dist", "not-there", {"dist/**"}, false, ""},
      {"dist", "../../elsewhere", {"dist/**"}, true, "outside the project"},
      {"dist", "../q", {"dist/**"}, true, "outside the project"},
      {"dist", "../not-there", {"dist/**"}, true, "outside the project"},
      {"dist", "/nowhere/at/all", {"dist/**"}, true, "outside the project"},
      {"out", "build/out", {"out/x/**"}, true, "declare build/out/x/** instead"},
      {"out", "build/out", {"out/*.js"}, true, "declare build/out/*.js instead"},
      {"out", "build/out", {"out/x/y"}, true, "declare build/out/x/y instead"},
      {"unrelated", "../../elsewhere", {"dist/**"}, false, ""},
  };
  for (const row& r : table) {
    w.dir.symlink(r.target, std::string("ws/p/") + r.link);
    const auto got = check_owned_roots(w.scope(r.outputs));
    CHECK_MESSAGE(got.has_value() != r.refused, r.link, " -> ", r.target);
    if (!got) {
      CHECK_MESSAGE(got.error().message.find(r.says) != std::string::npos, got.error().message);
      CHECK_FALSE(clean_outputs(w.scope(r.outputs)));
    }
    w.dir.sh(std::string("rm ws/p/") + r.link);
  }
  w.dir.symlink("q", "ws/gen");
  CHECK(check_owned_roots(w.scope({}, {"gen/**"})));
  CHECK_FALSE(check_owned_roots(w.scope({}, {"gen/x/**"})));
}

TEST_CASE("a link in place of an output directory is unlinked and never followed") {
  workspace w;
  w.dir.write("ws/p/src/s", "x");
  w.dir.mkdir("ws/p/dist");
  w.dir.symlink("../src", "ws/p/dist/rt");
  REQUIRE(clean_outputs(w.scope({"dist/**"})));
  CHECK(w.dir.exists("ws/p/src/s"));
  CHECK_FALSE(w.dir.exists("ws/p/dist/rt"));
  w.dir.symlink("src", "ws/p/out");
  REQUIRE(clean_outputs(w.scope({"out"})));
  CHECK(w.dir.exists("ws/p/src/s"));
}

TEST_CASE("link targets: relative, short, never above the root at any step, never into the walls") {
  const std::string long_target(4096, 'a');
  CHECK(bad_link_target("p/dist/l", "../src/x") == nullptr);
  CHECK(bad_link_target("p/dist/l", "../../q/x") == nullptr);
  CHECK(bad_link_target("p/dist/l", "..//./../q/") == nullptr);
  CHECK(bad_link_target("l", "nowhere") == nullptr);
  for (const std::string& bad : {std::string("/x"), std::string("../../../x"), std::string("../../../ws/p"),
                                 std::string("../../.git/hooks"), std::string("../../.VX"), std::string(), long_target}) {
    CHECK_MESSAGE(bad_link_target("p/dist/l", bad) != nullptr, bad.substr(0, 40));
  }
}

namespace {

/// Waits out the racy window by setting directory times back, the way time itself would.
void age(const workspace& w, const std::string& dirs) {
  w.dir.sh("cd ws/p && find " + dirs + " -type d -exec touch -d '2 hours ago 1.5 seconds ago' {} +");
}

std::vector<output_stamp> stamps_of(const workspace& w, const std::vector<output_row>& rows) {
  std::vector<output_stamp> out;
  for (const output_row& r : rows) {
    struct ::stat st;
    REQUIRE(::lstat((w.project() + "/" + r.path).c_str(), &st) == 0);
    out.push_back({static_cast<std::uint64_t>(st.st_ino), st.st_ctim.tv_sec * 1'000'000'000 + st.st_ctim.tv_nsec});
  }
  return out;
}

}  // namespace

TEST_CASE("a tree is current only while every output and the set of names are what they were") {
  workspace w;
  w.dir.write("ws/p/dist/a", "one");
  w.dir.write("ws/p/dist/sub/b", "two");
  w.dir.symlink("a", "ws/p/dist/l");
  w.dir.mkdir("ws/p/dist/empty");
  w.dir.write("ws/p/src/s", "x");
  w.dir.sh("chmod 755 ws/p/dist ws/p/dist/*/");
  const auto scope = w.scope({"dist/**", "lit", "gone/**"});
  const auto rows = list_outputs(scope).value();
  const auto stamps = stamps_of(w, rows);
  REQUIRE(is_current(scope, rows, stamps, ""));
  CHECK_FALSE(is_current(scope, rows, {}, ""));
  auto unstamped = stamps;
  unstamped[0] = {};
  CHECK_FALSE(is_current(scope, rows, unstamped, ""));

  const char* changes[] = {
      "echo x >> dist/a",
      "rm dist/a",
      "chmod 600 dist/a",
      ": > dist/a",
      "cp -p dist/a t && mv t dist/a",  // same bytes, mode and time, another inode
      "touch -r dist/a t && printf ONE > dist/a && touch -r t dist/a && rm t",
      "touch dist/a",
      "touch dist/stray",
      "ln -s x dist/stray",
      "mkdir dist/stray",
      "mkdir dist/sub/stray",
      "rmdir dist/empty",
      "chmod 700 dist/empty",
      "chmod 700 dist/sub",
      "rm dist/l && ln -s b dist/l",
      "rm dist/l && touch dist/l",
      "mv dist d2 && ln -s d2 dist",
      "mv dist/sub sub2 && ln -s ../sub2 dist/sub",
      "touch lit",
      "mkdir lit",
      "mkdir -p gone && touch gone/x",
      "mkfifo dist/fifo",
  };
  for (const char* change : changes) {
    workspace v;
    v.dir.sh("rm -rf ws && cp -a '" + w.root() + "' ws");
    const auto s = v.scope({"dist/**", "lit", "gone/**"});
    const auto r = list_outputs(s).value();
    const auto st = stamps_of(v, r);
    age(v, "dist");
    REQUIRE(is_current(s, r, st, ""));
    v.dir.sh(std::string("cd ws/p && ") + change);
    CHECK_MESSAGE(!is_current(s, r, st, ""), change);
  }
}

TEST_CASE("a directory snapshot proves the set without a walk and is refused while it could lie") {
  workspace w;
  w.dir.write("ws/p/dist/a", "one");
  w.dir.write("ws/p/dist/sub/b", "two");
  w.dir.write("ws/p/lit", "three");
  w.dir.sh("chmod 755 ws/p/dist ws/p/dist/sub");
  const auto scope = w.scope({"dist/**", "!dist/x/**", "lit", "gone/**", "none"});
  const auto rows = list_outputs(scope).value();
  CHECK(snapshot_dirs(scope, rows).empty());  // fresh: inside the racy window
  // The window is about the ctime, which cannot be set back: wait for it on the clock the kernel stamps with.
  const std::int64_t from = mono_ns();
  std::string blob;
  while ((blob = snapshot_dirs(scope, rows)).empty() && mono_ns() - from < 5'000'000'000) {
  }
  REQUIRE_FALSE(blob.empty());
  const auto stamps = stamps_of(w, rows);
  CHECK(is_current(scope, rows, stamps, blob));

  SUBCASE("other names than the rows give no snapshot") {
    auto fewer = rows;
    fewer.pop_back();
    CHECK(snapshot_dirs(scope, fewer).empty());
  }
  SUBCASE("shapes without a snapshot") {
    CHECK(snapshot_dirs(w.scope({"dist/*.js"}), {}).empty());
    CHECK(snapshot_dirs(w.scope({"dist/**"}, {"gen/**"}), list_outputs(w.scope({"dist/**"})).value()).empty());
    CHECK(snapshot_dirs(w.scope({}), {}).empty());
  }
  SUBCASE("a stray after it") {
    w.dir.write("ws/p/dist/sub/stray", "x");
    CHECK_FALSE(is_current(scope, rows, stamps, blob));
  }
  SUBCASE("a stray that came and went falls back to the walk") {
    w.dir.sh("cd ws/p && touch dist/sub/t && rm dist/sub/t");
    CHECK(is_current(scope, rows, stamps, blob));
  }
  SUBCASE("something where nothing was") {
    w.dir.write("ws/p/gone/x", "x");
    CHECK_FALSE(is_current(scope, rows, stamps, blob));
  }
  SUBCASE("a directory swapped for a link to itself") {
    w.dir.sh("cd ws/p && mv dist d2 && ln -s d2 dist");
    CHECK_FALSE(is_current(scope, rows, stamps, blob));
  }
  SUBCASE("a damaged blob falls back to the walk") {
    blob[6] = static_cast<char>(blob[6] ^ 1);
    CHECK(is_current(scope, rows, stamps, blob));
  }
}

TEST_CASE("an ancestor swapped for a link is noticed although every file below keeps its inode") {
  workspace w;
  w.dir.write("ws/p/build/out/dist/a", "one");
  w.dir.write("ws/p/build/lit", "two");
  w.dir.sh("chmod 755 ws/p/build/out/dist");
  const auto scope = w.scope({"build/out/dist/**", "build/lit"});
  const auto rows = list_outputs(scope).value();
  REQUIRE(rows.size() == 2);
  const auto stamps = stamps_of(w, rows);
  const std::int64_t from = mono_ns();
  std::string blob;
  while ((blob = snapshot_dirs(scope, rows)).empty() && mono_ns() - from < 5'000'000'000) {
  }
  REQUIRE(is_current(scope, rows, stamps, blob));
  w.dir.sh("cd ws/p && mv build b2 && ln -s b2 build");
  CHECK_FALSE(is_current(scope, rows, stamps, blob));
  CHECK_FALSE(is_current(scope, rows, stamps, ""));
}
