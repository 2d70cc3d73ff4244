#include "base/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace vx;
using namespace std::string_literals;

TEST_CASE("UTF-8 is checked strictly") {
  for (const auto& good : {""s, "a"s, "\xc3\xa9"s, "\xe2\x82\xac"s, "\xf0\x9f\x98\x80"s, "\xed\x9f\xbf"s, "\xee\x80\x80"s,
                           "\xf4\x8f\xbf\xbf"s, "\0"s}) {
    CAPTURE(good);
    CHECK(text::is_utf8(good));
  }
  for (const auto& bad :
       {"\x80"s, "\xc0\xaf"s, "\xc1\xbf"s, "\xc3"s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s, "\xed\xbf\xbf"s, "\xe2\x82"s,
        "\xf0\x8f\xbf\xbf"s, "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xff"s, "a\xfe"s, "\xc3\x28"s}) {
    CAPTURE(bad);
    CHECK_FALSE(text::is_utf8(bad));
  }
}

TEST_CASE("escaping keeps valid text and spells the rest") {
  CHECK(text::escape("plain \xc3\xa9") == "plain \xc3\xa9");
  CHECK(text::escape("a\xff"
                     "b") == "a\\xffb");
  CHECK(text::escape("\xc3") == "\\xc3");
  CHECK(text::escape("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(text::escape("a\nb") == "a\nb");
  CHECK(text::escape("a\nb\x1b\x7f", true) == "a\\x0ab\\x1b\\x7f");
  CHECK(text::escape("\xc2\x9b"
                     "31m",
                     true) == "\\xc2\\x9b31m");  // the one-character form of ESC [
  CHECK(text::escape("\xc2\xa0", true) == "\xc2\xa0");
}

TEST_CASE("shell quoting is minimal and safe") {
  struct row {
    std::string in, out;
  };
  for (const row& r : {row{"", "''"},
                       {"a", "a"},
                       {"a/b.c-d_e=f:g,h@i%j+k", "a/b.c-d_e=f:g,h@i%j+k"},
                       {"a b", "'a b'"},
                       {"$x", "'$x'"},
                       {"it's", "'it'\\''s'"},
                       {"\n", "'\n'"},
                       {"*", "'*'"},
                       {"~", "'~'"},
                       {"\xc3\xa9", "'\xc3\xa9'"}}) {
    CHECK(text::shell_quote(r.in) == r.out);
  }
}

TEST_CASE("edit distance counts single edits up to its cap") {
  CHECK(text::edit_distance("", "") == 0);
  CHECK(text::edit_distance("build", "build") == 0);
  CHECK(text::edit_distance("build", "biuld") == 2);
  CHECK(text::edit_distance("build", "built") == 1);
  CHECK(text::edit_distance("build", "buil") == 1);
  CHECK(text::edit_distance("uild", "build") == 1);
  CHECK(text::edit_distance("kitten", "sitting") == 3);
  CHECK(text::edit_distance("kitten", "sitting", 2) == 3);
  CHECK(text::edit_distance("", "abcdef", 3) == 4);
  CHECK(text::edit_distance("abc", "xyz", 1) == 2);
  CHECK(text::edit_distance(std::string(300, 'a'), std::string(300, 'a')) == 0);
  CHECK(text::edit_distance(std::string(300, 'a'), std::string(300, 'b')) == 4);
}

TEST_CASE("the nearest name is the closest, ties by bytes, and never the word itself") {
  const std::vector<std::string> names{"test", "build", "lint", "list"};
  CHECK(text::nearest("biuld", names) == "build");
  CHECK(text::nearest("lit", names) == "lint");
  CHECK(text::nearest("tst", names) == "test");
  CHECK_FALSE(text::nearest("build", names));
  CHECK_FALSE(text::nearest("deploy", names));
  CHECK_FALSE(text::nearest("x", {}));
  CHECK(text::did_you_mean("biuld", names) == " (did you mean build?)");
  CHECK(text::did_you_mean("zzz", names) == "");
}

TEST_CASE("long lists are cut with a count") {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  CHECK(text::list_some(names, 4) == "a, b, c, d");
  CHECK(text::list_some(names, 3) == "a, b, c and 1 more");
  CHECK(text::list_some(names, 1) == "a and 3 more");
  CHECK(text::list_some(names, 0) == "4 more");
  CHECK(text::list_some({}, 3) == "");
}

TEST_CASE("trimming and splitting") {
  CHECK(text::trim(" \t\r\n a b \v\f") == "a b");
  CHECK(text::trim(" ") == "");
  CHECK(text::has_surrounding_space(" a"));
  CHECK(text::has_surrounding_space("a\n"));
  CHECK_FALSE(text::has_surrounding_space("a b"));
  CHECK_FALSE(text::has_surrounding_space(""));
  CHECK(text::split("a,b,,c", ',') == std::vector<std::string_view>{"a", "b", "", "c"});
  CHECK(text::split("", ',') == std::vector<std::string_view>{""});
  CHECK(text::split(",", ',') == std::vector<std::string_view>{"", ""});
}

TEST_CASE("sizes are shown in powers of 1024, one decimal below ten") {
  struct row {
    std::uint64_t n;
    const char* out;
  };
  for (const row& r : {row{0, "0 B"},
                       {1, "1 B"},
                       {1023, "1023 B"},
                       {1024, "1.0 KB"},
                       {1536, "1.5 KB"},
                       {10188, "9.9 KB"},
                       {10189, "10 KB"},
                       {10240, "10 KB"},
                       {1048063, "1023 KB"},
                       {1048064, "1.0 MB"},
                       {1048576, "1.0 MB"},
                       {std::uint64_t{10} << 30, "10 GB"},
                       {~std::uint64_t{0}, "16 EB"}}) {
    CAPTURE(r.n);
    CHECK(text::format_bytes(r.n) == r.out);
  }
}

TEST_CASE("durations round before the unit is chosen") {
  struct row {
    std::int64_t ns;
    const char* out;
  };
  for (const row& r : {row{0, "0ms"},
                       {499'999, "0ms"},
                       {500'000, "1ms"},
                       {999'499'999, "999ms"},
                       {999'500'000, "1.00s"},
                       {1'000'000'000, "1.00s"},
                       {1'234'000'000, "1.23s"},
                       {1'235'000'000, "1.24s"},
                       {61'004'000'000, "61.00s"},
                       {-5, "0ms"}}) {
    CAPTURE(r.ns);
    CHECK(text::format_duration_ns(r.ns) == r.out);
  }
}

TEST_CASE("unsigned numbers take digits and nothing else") {
  CHECK(text::parse_uint("0") == 0);
  CHECK(text::parse_uint("007") == 7);
  CHECK(text::parse_uint("9007199254740992") == std::uint64_t{1} << 53);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "9007199254740993", "99999999999999999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(text::parse_uint(bad));
  }
}

TEST_CASE("durations and sizes name their unit") {
  CHECK(text::parse_duration_ms("5s") == 5000);
  CHECK(text::parse_duration_ms("2m") == 120'000);
  CHECK(text::parse_duration_ms("1h") == 3'600'000);
  CHECK(text::parse_duration_ms("7d") == 604'800'000);
  for (const char* bad : {"", "5", "s", "5S", "5ms", "-5s", "1.5h", "5 s", "99999999999999999d"}) {
    CAPTURE(bad);
    CHECK_FALSE(text::parse_duration_ms(bad));
  }
  CHECK(text::parse_size("0B") == 0);
  CHECK(text::parse_size("100b") == 100);
  CHECK(text::parse_size("1K") == 1024);
  CHECK(text::parse_size("1kb") == 1024);
  CHECK(text::parse_size("5M") == 5 << 20);
  CHECK(text::parse_size("2GB") == std::uint64_t{2} << 30);
  CHECK(text::parse_size("1T") == std::uint64_t{1} << 40);
  for (const char* bad : {"", "100", "K", "B", "1KK", "1BB", "1P", "-1K", "1.5G", "1 K", "KB", "99999999999T"}) {
    CAPTURE(bad);
    CHECK_FALSE(text::parse_size(bad));
  }
}

TEST_CASE("a star matches any run of bytes") {
  struct row {
    const char *pattern, *word;
    bool match;
  };
  for (const row& r : {row{"", "", true},
                       {"*", "", true},
                       {"*", "a/b", true},
                       {"a*", "a", true},
                       {"a*c", "abbc", true},
                       {"a*c", "abbd", false},
                       {"*a*b", "xxaxxabxb", true},
                       {"**", "x", true},
                       {"a", "ab", false},
                       {"ab", "a", false},
                       {"a?", "ab", false},
                       {"[a]", "[a]", true},
                       {"@scope/*", "@scope/x", true},
                       {"*aab", "aaaab", true},
                       {"build:*", "build:", true}}) {
    CAPTURE(r.pattern);
    CAPTURE(r.word);
    CHECK(text::star_match(r.pattern, r.word) == r.match);
  }
  CHECK_FALSE(text::star_match("*a*a*a*a*a*a*a*a*b", std::string(20000, 'a')));
}

TEST_CASE("escape sequences disappear and text stays") {
  struct row {
    std::string in, out;
  };
  for (const row& r : {row{"plain", "plain"},
                       {"\x1b[31mred\x1b[0m", "red"},
                       {"\x1b[1;38;5;4mx", "x"},
                       {"\x1b]0;title\x07x", "x"},
                       {"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"},
                       {"\x1b(Bx", "x"},
                       {"\x1b"
                        "7x\x1b"
                        "8",
                        "x"},
                       {"\x1b[2Kx", "x"},
                       {"a\x1b", "a"},
                       {"a\x1b[", "a"},
                       {"a\x1b[31", "a"},
                       {"\x1b[?25lx", "x"},
                       {"\x1bPdata\x1b\\x", "x"},
                       {"\x1b\x1b[31mx", "x"},
                       {"\x1b]0;open", ""},
                       {"x\ny", "x\ny"},
                       {"\x1b[3\nx", "\nx"}}) {
    CAPTURE(r.in);
    CHECK(text::strip_escapes(r.in) == r.out);
  }
}
