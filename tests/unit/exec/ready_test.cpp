#include "exec/ready.hpp"

#include <doctest/doctest.h>

#include "exec/process.hpp"

using vx::exec::check_ready_pattern;
using vx::exec::ready_scanner;

namespace {
bool matches(std::string_view pattern, std::string_view line) {
  auto scanner = ready_scanner::compile(pattern);
  REQUIRE_MESSAGE(scanner.has_value(), (scanner ? "" : scanner.error().message));
  return scanner->feed(1, line);
}
}  // namespace

TEST_CASE("ECMAScript's meaning is kept") {
  struct row {
    const char* pattern;
    const char* line;
    bool found;
  };
  for (const row& r : {
           row{"ready", "server ready now", true},
           row{"Ready", "server ready", false},
           row{"^ready$", "ready", true},
           row{"^ready$", "already", false},
           row{"listening on (http|https)://[^:]+:\\d{2,5}", "listening on http://localhost:3000/", true},
           row{"(?<port>\\d+)$", "port 3000", true},
           row{"(?:a|b)+c", "ababc", true},
           row{"[\\d-x]", "-", true},
           row{"[a\\-z]", "m", false},
           row{"[^]", "x", true},
           row{"[]", "x", false},
           row{"[]a", "]a", false},
           row{"[^\\s\\d]", "12 3", false},
           row{"[\\S]", " ", false},
           row{"[\\W]", "a", false},
           row{"[[:alpha:]", ":", true},
           row{"[[:alpha:]]", "x", false},
           row{"[\\]]", "]", true},
           row{"[.*+]", "a", false},
           row{"\\s", "\v", true},
           row{"\\s", "\xC2\xA0", true},
           row{"a{2}", "aa", true},
           row{"a{,2}", "a{,2}", true},
           row{"a{x}", "a{x}", true},
           row{"{", "{", true},
           row{"}", "}", true},
           row{"]", "]", true},
           row{"\\a\\z\\A\\Q", "azAQ", true},
           row{"\\/\\-\\_\\@", "/-_@", true},
           row{"\\x41\\u0042", "AB", true},
           row{"\\xzz", "xzz", true},
           row{"\\u00e9", "caf\xC3\xA9", true},
           row{"\\ud83d\\ude80", "\xF0\x9F\x9A\x80", true},
           row{"\\cJ", "a", false},
           row{"\\0", "a", false},
           row{"[\\b]", "b", false},
           row{"\\bready\\b", "is ready.", true},
           row{"\\Bready", "already", true},
           row{"caf\xC3\xA9s?", "caf\xC3\xA9", true},
           row{"\xE2\x9C\x93 ready", "\xE2\x9C\x93 ready", true},
           row{"^.$", "\xC3\xA9", true},
           row{"a.c",
               "a\xFF"
               "c",
               true},  // a byte that is no UTF-8 is one character
           row{"a.c",
               "\xFF"
               "abc",
               true},
           row{"x*?y", "xxy", true},
           row{"()", "", false},  // nothing was fed: nothing matches
           row{"a|", "zzz", true},
       }) {
    CAPTURE(r.pattern);
    CAPTURE(r.line);
    CHECK(matches(r.pattern, r.line) == r.found);
  }
}

TEST_CASE("what cannot be matched in linear time is refused by name") {
  struct row {
    const char* pattern;
    const char* says;
  };
  for (const row& r : {
           row{"ready(?= now)", "look-ahead (?= at offset 5 is not supported"},
           row{"a(?!b)", "look-ahead (?! at offset 1"},
           row{"(?<=a)b", "look-behind (?<= at offset 0"},
           row{"(?<!a)b", "look-behind (?<! at offset 0"},
           row{"(a)\\1", "the back-reference \\1 at offset 3"},
           row{"(a)\\12", "the back-reference \\12 at offset 3"},
           row{"(?<n>a)\\k<n>", "the back-reference \\k at offset 7"},
           row{"a{1001}", "a repetition of more than 1000 at offset 1"},
           row{"a{1,99999999999999999999}", "a repetition of more than 1000"},
           row{"\\p{L}", "\\p{...} at offset 0 needs the flag u"},
           row{"\\u{1F680}", "\\u{...} at offset 0 needs the flag u"},
           row{"(?:(?:a{500}){500}){500}", "too large"},
       }) {
    CAPTURE(r.pattern);
    const std::string message = check_ready_pattern(r.pattern);
    CAPTURE(message);
    CHECK(message.find(r.says) != std::string::npos);
  }
}

TEST_CASE("an invalid pattern is refused with its position") {
  struct row {
    const char* pattern;
    const char* says;
  };
  for (const row& r : {
           row{"(", "missing ) at offset 0"},
           row{"a(b(c)", "missing ) at offset 1"},
           row{"a)", "unmatched ) at offset 1"},
           row{"[a", "missing ] at offset 0"},
           row{"x[a\\", "\\ at the end of the pattern at offset 3"},
           row{"*a", "nothing to repeat at offset 0"},
           row{"a**", "nothing to repeat at offset 2"},
           row{"a++", "nothing to repeat at offset 2"},
           row{"^*", "nothing to repeat at offset 1"},
           row{"(?:+)", "nothing to repeat at offset 3"},
           row{"a|?", "nothing to repeat at offset 2"},
           row{"a{2}{3}", "nothing to repeat at offset 4"},
           row{"{2}", "nothing to repeat at offset 0"},
           row{"a{3,2}", "numbers out of order in {} at offset 1"},
           row{"[z-a]", "range out of order in class at offset 1"},
           row{"a\\", "\\ at the end of the pattern at offset 1"},
           row{"(?i)a", "invalid group at offset 0"},
           row{"(?P<x>a)", "invalid group at offset 0"},
           row{"(?<1>a)", "invalid group name at offset 0"},
           row{"(?<a>x)(?<a>y)", "duplicate group name at offset 7"},
           row{"(?<a", "invalid group name at offset 0"},
           row{"\xFF", "not valid UTF-8"},
       }) {
    CAPTURE(r.pattern);
    const std::string message = check_ready_pattern(r.pattern);
    CAPTURE(message);
    CHECK(message.find(r.says) != std::string::npos);
  }
  CHECK(check_ready_pattern("ready in \\d+ ms").empty());
}

TEST_CASE("lines are cut at LF, CRLF and CR, on each stream by itself") {
  struct chunk {
    int stream;
    const char* bytes;
  };
  struct row {
    const char* pattern;
    std::vector<chunk> chunks;
    int ready_at;  // index of the chunk that makes it ready, -1 = none
  };
  for (const row& r : {
           row{"^ready$", {{1, "ready\n"}}, 0},
           row{"^ready$", {{1, "ready\r\nx"}}, 0},
           row{"^ready$", {{1, "10%\rready\rx"}}, 0},
           row{"^ready$", {{1, "a\nready"}}, 0},  // no newline yet
           row{"^ready now$", {{1, "rea"}, {1, "dy n"}, {1, "ow"}}, 2},
           row{"^ready$", {{1, "rea"}, {2, "dy"}, {1, "dy"}}, 2},  // the streams are apart
           row{"^ready$", {{2, "ready"}}, 0},
           row{"ready", {{1, "rea\ndy\n"}}, -1},
           row{"^$", {{1, "a\r"}, {1, "\nb"}}, -1},  // one line end in two chunks
           row{"^$", {{1, "a\n"}, {1, "\nb"}}, 1},
           row{"^ready$", {{1, "\x1b[32mrea\x1b[0mdy\x1b]0;title\a\n"}}, 0},
           row{"^ready$", {{1, "\x1b[3"}, {1, "2mrea"}, {1, "\x1b[0"}, {1, "mdy"}}, 3},
           row{"\x1b", {{1, "\x1b[32mready\n"}}, -1},
           row{"^b$", {{1, "a\nb\nc\n"}}, 0},
           row{"z", {{1, ""}, {1, "z"}}, 1},
       }) {
    CAPTURE(r.pattern);
    auto scanner = ready_scanner::compile(r.pattern);
    REQUIRE(scanner.has_value());
    int ready_at = -1;
    for (std::size_t i = 0; i < r.chunks.size() && ready_at < 0; ++i) {
      if (scanner->feed(r.chunks[i].stream, r.chunks[i].bytes)) ready_at = static_cast<int>(i);
    }
    CHECK(ready_at == r.ready_at);
  }
}

TEST_CASE("unbroken output keeps its last 64 KiB for testing") {
  auto scanner = ready_scanner::compile("^x|START|mid.*END");
  REQUIRE(scanner.has_value());
  auto other = ready_scanner::compile("mid.*END");
  CHECK_FALSE(other->feed(1, "mid"));
  const std::string filler(1000, '.');
  for (int i = 0; i < 60; ++i) CHECK_FALSE(other->feed(1, filler));
  CHECK(other->feed(1, "END"));
  auto lost = ready_scanner::compile("mid.*END");
  CHECK_FALSE(lost->feed(1, "mid"));
  for (int i = 0; i < 70; ++i) CHECK_FALSE(lost->feed(1, filler));
  CHECK_FALSE(lost->feed(1, "END"));
}
