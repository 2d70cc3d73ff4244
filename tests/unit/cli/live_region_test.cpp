#include "cli/live_region.hpp"

#include <doctest/doctest.h>

#include "cli/text.hpp"

using namespace vx::cli;

TEST_CASE("the region has servers, a row per worker and a meter") {
  region_state s;
  s.servers = {"api#dev"};
  s.workers = {{"shop#build", 2.4}, {"", 0}};
  s.more = 3;
  s.failed = 1;
  s.success = 3;
  s.total = 8;
  std::string text;
  for (const std::string& line : region_lines(s, 80, palette(false))) text += line;
  CHECK(text ==
        "\n"
        " ▸ api#dev running\n"
        " ▸   2.40s shop#build\n"
        " ·         idle\n"
        " … +3 more\n"
        "─ vx ─────────────────────────────────────────────────────────\n"
        "  tasks     ▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱▱\n"
        "            1 failed · 3 success · 8 total\n");
}

TEST_CASE("no line is wider than the terminal, whatever its width") {
  region_state s;
  s.servers = {"@scope/a-rather-long-project-name#serve"};
  s.workers = {{"@scope/a-rather-long-project-name#build", 1}, {"pröject#t", 0.1}};
  s.total = 2;
  for (std::size_t columns = 24; columns < 100; ++columns) {
    for (const std::string& line : region_lines(s, columns, palette(true))) CHECK(display_width(line) <= columns + 1);
  }
}

TEST_CASE("a clipped text ends in an ellipsis") {
  CHECK(clipped("abcdef", 6) == "abcdef");
  CHECK(clipped("abcdef", 4) == "abc…");
  CHECK(clipped("äöüß", 3) == "äö…");
  CHECK(clipped("abc", 0).empty());
}
