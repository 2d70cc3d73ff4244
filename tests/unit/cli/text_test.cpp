#include "cli/text.hpp"

#include <doctest/doctest.h>

#include "cli/colour.hpp"

using namespace vx::cli;

TEST_CASE("durations round before they choose the unit") {
  struct row {
    double ms;
    const char* text;
  };
  for (const row& r : {row{0, "0ms"},
                       {0.4, "0ms"},
                       {0.6, "1ms"},
                       {4, "4ms"},
                       {999, "999ms"},
                       {999.4, "999ms"},
                       {999.6, "1.00s"},
                       {1000, "1.00s"},
                       {1004, "1.00s"},
                       {1005, "1.01s"},
                       {1370, "1.37s"},
                       {59999, "60.00s"},
                       {125000, "125.00s"},
                       {-3, "0ms"}}) {
    CHECK(duration_text(r.ms) == r.text);
  }
}

TEST_CASE("sizes use powers of 1024 with one decimal below ten of a unit") {
  struct row {
    std::uint64_t bytes;
    const char* text;
  };
  for (const row& r : {row{0, "0 B"},
                       {1023, "1023 B"},
                       {1024, "1.0 KB"},
                       {9318, "9.1 KB"},
                       {10240, "10 KB"},
                       {1048575, "1.0 MB"},
                       {1048576, "1.0 MB"},
                       {10189, "10 KB"},
                       {std::uint64_t{10} << 30, "10 GB"}}) {
    CHECK(bytes_text(r.bytes) == r.text);
  }
}

TEST_CASE("width counts columns, not bytes, escapes or variation selectors") {
  CHECK(display_width("shop#build") == 10);
  CHECK(display_width("⏺\uFE0E") == 1);
  CHECK(display_width("┌─ ä") == 4);
  CHECK(display_width("\x1b[38;2;1;2;3mred\x1b[0m") == 3);
  CHECK(pad_left("1.37s", 7) == "  1.37s");
  CHECK(pad_right("ü", 3) == "ü  ");
}

TEST_CASE("bytes that are not UTF-8 and control characters are shown as escapes") {
  CHECK(printable("plain ü 日本") == "plain ü 日本");
  CHECK(printable(std::string("bad\xff")) == "bad\\xff");
  CHECK(printable("n\nl") == "n\\x0al");
  CHECK(printable("\x1b[31m") == "\\x1b[31m");
  CHECK(printable("\xC0\x80") == "\\xc0\\x80");
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("\xE2\x82") == "\\xe2\\x82");
}

TEST_CASE("the single closest word within two edits is the hint") {
  const std::vector<std::string> words{"--retry", "--force", "--filter", "--format"};
  CHECK(closest("--retyr", words) == "--retry");
  CHECK(closest("--force", words).empty());
  CHECK(closest("--zzz", words).empty());
  CHECK(closest("--retries", words).empty());
  CHECK(closest("--retries", words, 3) == "--retry");
  CHECK(closest("ab", {"ac", "ad"}).empty());
  CHECK(closest("x", {"ab"}).empty());
  CHECK(edit_distance("kitten", "sitting", 3) == 3);
  CHECK(edit_distance("a", "abcdefgh", 3) == 4);
}

TEST_CASE("escapes leave the text wherever a chunk ends") {
  const std::string text =
      "a\x1b[38;2;1;2;3mred\x1b[0m b\x1b]8;;http://x\x1b\\link\x1b]0;title\a c\x1b(Bd\x1b"
      "7e";
  const std::string plain = "ared blink cde";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    escape_stripper strip;
    std::string out;
    strip.feed(std::string_view(text).substr(0, cut), out);
    strip.feed(std::string_view(text).substr(cut), out);
    CHECK(out == plain);
  }
}

TEST_CASE("colour follows NO_COLOR, then FORCE_COLOR, then the terminal") {
  CHECK(colour_wanted(nullptr, nullptr, true));
  CHECK_FALSE(colour_wanted(nullptr, nullptr, false));
  CHECK_FALSE(colour_wanted("1", "1", true));
  CHECK(colour_wanted("", nullptr, true));
  CHECK(colour_wanted(nullptr, "", false));
  CHECK(colour_wanted(nullptr, "1", false));
  CHECK_FALSE(colour_wanted(nullptr, "0", true));
  CHECK_FALSE(colour_wanted(nullptr, "false", true));
}

TEST_CASE("a project's hue is in range, stable and differs between names") {
  CHECK(hue_of("") == hue_of(""));
  CHECK(hue_of("shop") < 360);
  CHECK(hue_of("shop") != hue_of("cart"));
  // FNV-1a/128 of "a" is d228cb696f1a8caf78912b704e4a8964; 360 divides into it with this rest.
  CHECK(hue_of("a") == 124);
}

TEST_CASE("counts have their plural") {
  CHECK(count_text(0, "task") == "0 tasks");
  CHECK(count_text(1, "task") == "1 task");
  CHECK(count_text(2, "task") == "2 tasks");
}

TEST_CASE("times as ISO 8601, and durations of minutes") {
  CHECK(iso_text(1793614272131) == "2026-11-02T10:11:12.131Z");
  CHECK(iso_text(0) == "1970-01-01T00:00:00.000Z");
  CHECK(iso_text(-1) == "1969-12-31T23:59:59.999Z");
  CHECK(long_duration_text(606.4) == "606ms");
  CHECK(long_duration_text(59'400) == "59.40s");
  CHECK(long_duration_text(59'600) == "1m 0s");
  CHECK(long_duration_text(125'000) == "2m 5s");
  CHECK(long_duration_text(3'600'000 * 3 + 420'000) == "3h 7m");
}
