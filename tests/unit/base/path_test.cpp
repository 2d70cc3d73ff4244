#include "base/path.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace vx;
using namespace std::string_literals;

TEST_CASE("a relative path has only real components") {
  for (const auto& good :
       {"a"s, "a/b"s, ".a"s, "..a"s, "a.."s, "..."s, "a/.../b"s, "\xff\xfe/x"s, "a b"s, "a\nb"s, "a\\b"s, "-"s}) {
    CAPTURE(good);
    CHECK(is_rel_path(good));
    REQUIRE(rel_path::parse(good));
    CHECK(rel_path::parse(good)->str() == good);
  }
  for (const auto& bad :
       {""s, "/"s, "/a"s, "a/"s, "a//b"s, "."s, ".."s, "./a"s, "a/."s, "a/./b"s, "a/.."s, "../a"s, "a/../b"s, "a\0b"s, "\0"s}) {
    CAPTURE(bad);
    CHECK_FALSE(is_rel_path(bad));
    CHECK_FALSE(rel_path::parse(bad));
  }
}

TEST_CASE("a refused path is shown without raw control bytes") {
  const auto refused = rel_path::parse("a/../\x1b[31m");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::INVALID);
  CHECK(refused.error().message.find('\x1b') == std::string::npos);
  CHECK(refused.error().message.find("\\x1b") != std::string::npos);
}

TEST_CASE("joining keeps the empty directory neutral") {
  CHECK(path::join("", "x") == "x");
  CHECK(path::join("a", "") == "a");
  CHECK(path::join("", "") == "");
  CHECK(path::join("a", "b/c") == "a/b/c");
  CHECK(path::join("/", "x") == "/x");
  CHECK(path::join("/a", "x") == "/a/x");
}

TEST_CASE("parent and base name split at the last slash") {
  struct row {
    const char *path, *parent, *base;
  };
  for (const row& r :
       {row{"a/b", "a", "b"}, {"a", "", "a"}, {"a/b/c", "a/b", "c"}, {"/a", "/", "a"}, {"/", "/", ""}, {"", "", ""}}) {
    CAPTURE(r.path);
    CHECK(path::parent(r.path) == r.parent);
    CHECK(path::base_name(r.path) == r.base);
  }
}

TEST_CASE("within means the directory itself or below it, by whole components") {
  struct row {
    const char *path, *dir;
    bool in;
    const char* rest;
  };
  for (const row& r : {row{"a/b", "a", true, "b"},
                       {"a", "a", true, ""},
                       {"ab", "a", false, ""},
                       {"a", "a/b", false, ""},
                       {"a/b/c", "a/b", true, "c"},
                       {"x", "", true, "x"},
                       {"", "", true, ""},
                       {"/a", "/", true, "a"},
                       {"/a/b", "/a", true, "b"},
                       {"/ab", "/a", false, ""}}) {
    CAPTURE(r.path);
    CAPTURE(r.dir);
    CHECK(path::is_within(r.path, r.dir) == r.in);
    if (r.in) CHECK(path::relative_to(r.path, r.dir) == r.rest);
  }
}

TEST_CASE("normalising resolves dots without asking the system") {
  struct row {
    const char *in, *out;
    bool within;
  };
  for (const row& r : {row{"a/./b", "a/b", true},
                       {"a/../b", "b", true},
                       {"a/..", "", true},
                       {".", "", true},
                       {"", "", true},
                       {"./a//b/", "a/b", true},
                       {"..", "..", false},
                       {"../a", "../a", false},
                       {"a/../../b", "../b", false},
                       {"a/../../a", "../a", false},
                       {"../..", "../..", false},
                       {"/a/../..", "/", true},
                       {"/", "/", true},
                       {"//a", "/a", true},
                       {"/..", "/", true},
                       {"/a/./b/../c", "/a/c", true},
                       {"..a/b", "..a/b", true}}) {
    CAPTURE(r.in);
    CHECK(path::normalize(r.in) == r.out);
    std::string out;
    CHECK(path::normalize_within(r.in, out) == r.within);
    CHECK(out == r.out);
  }
}
