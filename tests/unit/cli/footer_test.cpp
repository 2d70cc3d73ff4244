#include "cli/footer.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "cli/text.hpp"

using namespace vx::cli;

namespace {

run_start started() {
  run_start s;
  s.concurrency = 8;
  s.projects_in_run = 3;
  s.projects_total = 4;
  s.cache_policy = "lR,lW,rR,rW";
  return s;
}

run_summary mixed() {
  run_summary s;
  s.total = 4;
  s.failed = 1;
  s.skipped = 1;
  s.miss = 2;
  s.local = 1;
  s.executed = 2;
  s.max_ms = 2400;
  s.avg_ms = 1355;
  s.min_ms = 310;
  s.total_ms = 2710;
  s.saved_ms = 1900;
  return s;
}

std::string footer(const run_start& start, const run_summary& summary) {
  return footer_text(start, summary, "1.2.3", palette(false));
}

}  // namespace

TEST_CASE("the footer is this banner, byte for byte") {
  CHECK(footer(started(), mixed()) ==
        "─ vx 1.2.3 ───────────────────────────────────────────────────\n"
        "  projects  ▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▱▱▱▱▱▱▱▱▱▱▱▱\n"
        "            3 in run · 4 total\n"
        "  tasks     ▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰\n"
        "            1 failed · 2 success · 1 skipped · 4 total\n"
        "  cache     ▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰▰\n"
        "            2 miss · 1 local · 1 skipped\n"
        "\n"
        "  info      8 workers · local cache\n"
        "  time      2.71s · max 2.40s · avg 1.36s · min 310ms\n"
        "  result    4 tasks · 1 failed · 1 cached (33%) · 1.90s saved · 2.71s\n");
}

TEST_CASE("the rule ends at column 62 whatever the version") {
  const std::string text = footer_text(started(), mixed(), "10.20.30-rc.1", palette(false));
  CHECK(display_width(text.substr(0, text.find('\n'))) == 62);
}

TEST_CASE("everything cached says so and counts nothing as executed") {
  run_summary s;
  s.total = 3;
  s.up_to_date = 3;
  s.total_ms = 21;
  s.saved_ms = 0.6;
  const std::string text = footer(started(), s);
  CHECK(text.find("            3 success · 3 total\n") != std::string::npos);
  CHECK(text.find("            3 up-to-date\n") != std::string::npos);
  CHECK(text.find("  time      21ms\n") != std::string::npos);
  CHECK(text.find("  result    3 tasks · all cached · 21ms\n") != std::string::npos);
}

TEST_CASE("a stopped run counts what ended and names the rest") {
  run_summary s = mixed();
  s.aborted = 2;
  s.not_run = 5;
  CHECK(footer(started(), s).find(" · 4 total · not counted: 2 aborted, 5 not run\n") != std::string::npos);
  s.aborted = 0;
  CHECK(footer(started(), s).find(" · 4 total · not counted: 5 not run\n") != std::string::npos);
}

TEST_CASE("no-cache tasks are apart and the share neither rounds to nothing nor to all") {
  run_summary s;
  s.total = 1001;
  s.no_cache = 1;
  s.miss = 1;
  s.up_to_date = 999;
  s.executed = 2;
  CHECK(footer(started(), s).find("1001 tasks · 999 cached (99%) · 1 no-cache") != std::string::npos);
  s.miss = 999;
  s.up_to_date = 1;
  CHECK(footer(started(), s).find("1 cached (1%)") != std::string::npos);
  s.up_to_date = 0;
  s.miss = 1000;
  CHECK(footer(started(), s).find("0 cached (0%)") != std::string::npos);
  s.miss = 0;
  s.no_cache = 1001;
  CHECK(footer(started(), s).find("cached") == std::string::npos);
}

TEST_CASE("the cache word follows the policy") {
  run_start start = started();
  for (const auto& [policy, word] :
       {std::pair{"lR,rR", "local cache, read only"}, {"lW", "local cache, write only"}, {"rR,rW", "no cache"}}) {
    start.cache_policy = policy;
    CHECK(footer(start, mixed()).find(std::string(" · ") + word + "\n") != std::string::npos);
  }
  start.concurrency = 1;
  CHECK(footer(start, mixed()).find("1 worker · ") != std::string::npos);
}

TEST_CASE("cells sum to the bar, follow the shares and never leave a bucket out") {
  using v = std::vector<std::uint64_t>;
  using c = std::vector<std::size_t>;
  CHECK(share_cells(v{1, 1}) == c{25, 25});
  CHECK(share_cells(v{3, 1}) == c{38, 12});
  CHECK(share_cells(v{1, 2, 1}) == c{13, 25, 12});
  CHECK(share_cells(v{0, 5, 0}) == c{0, 50, 0});
  CHECK(share_cells(v{0, 0}) == c{0, 0});
  CHECK(share_cells(v{1, 100000, 1}) == c{1, 48, 1});
  for (std::uint64_t a = 0; a < 40; a += 3) {
    for (std::uint64_t b = 0; b < 3000; b += 271) {
      const v buckets{a, b, 1, 0, 7};
      const c cells = share_cells(buckets);
      CHECK(std::accumulate(cells.begin(), cells.end(), std::size_t{0}) == 50);
      for (std::size_t i = 0; i < buckets.size(); ++i) CHECK((cells[i] > 0) == (buckets[i] > 0));
    }
  }
}
