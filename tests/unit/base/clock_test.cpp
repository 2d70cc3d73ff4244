#include "base/clock.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>

using namespace vx;

TEST_CASE("run ids are UUIDs of version 7 that carry the time") {
  const std::int64_t before = wall_ns() / 1'000'000;
  const run_id id = new_run_id();
  const std::int64_t after = wall_ns() / 1'000'000;
  std::int64_t ms = 0;
  for (int i = 0; i < 6; ++i) ms = ms << 8 | std::to_integer<std::int64_t>(id[static_cast<std::size_t>(i)]);
  CHECK(ms >= before);
  CHECK(ms <= after);
  const std::string text = format_run_id(id);
  CHECK(text.size() == 36);
  CHECK(text[14] == '7');
  CHECK(std::string("89ab").find(text[19]) != std::string::npos);
  run_id back{};
  REQUIRE(parse_run_id(text, back));
  CHECK(back == id);
}

TEST_CASE("run ids do not repeat") {
  std::set<std::string> seen;
  for (int i = 0; i < 10000; ++i) seen.insert(format_run_id(new_run_id()));
  CHECK(seen.size() == 10000);
}

TEST_CASE("only the dashed form of a run id is taken") {
  run_id id{};
  CHECK(parse_run_id("019412ab-0000-7000-8000-0123456789ab", id));
  for (const char* bad :
       {"", "019412ab00007000800001234567 89ab", "019412ab-0000-7000-8000-0123456789a", "019412ab-0000-7000-8000-0123456789abc",
        "019412ab_0000-7000-8000-0123456789ab", "019412ab-0000-7000-8000-0123456789ag", "{19412ab-0000-7000-8000-0123456789a}",
        "019412a-b0000-7000-8000-0123456789ab"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_run_id(bad, id));
  }
}

TEST_CASE("times are shown in UTC with milliseconds") {
  struct row {
    std::int64_t ns;
    const char* out;
  };
  constexpr std::int64_t k_s = 1'000'000'000;
  for (const row& r : {row{0, "1970-01-01T00:00:00.000Z"},
                       {1'999'999, "1970-01-01T00:00:00.001Z"},
                       {-1, "1969-12-31T23:59:59.999Z"},
                       {951'782'400 * k_s, "2000-02-29T00:00:00.000Z"},
                       {1'709'164'799 * k_s + 999'000'000, "2024-02-28T23:59:59.999Z"},
                       {1'709'164'800 * k_s, "2024-02-29T00:00:00.000Z"},
                       {4'102'444'800 * k_s, "2100-01-01T00:00:00.000Z"},
                       {1'793'614'272 * k_s + 131'000'000, "2026-11-02T10:11:12.131Z"},
                       {std::numeric_limits<std::int64_t>::max(), "2262-04-11T23:47:16.854Z"}}) {
    CHECK(format_iso_ms(r.ns) == r.out);
  }
}

TEST_CASE("the monotonic clock does not go back") {
  std::int64_t last = mono_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = mono_ns();
    CHECK(now >= last);
    last = now;
  }
}
