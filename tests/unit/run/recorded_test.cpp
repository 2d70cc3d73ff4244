#include <doctest/doctest.h>

#include "run/cache_report.hpp"
#include "run/recorded_names.hpp"

using namespace vx;
using namespace vx::run;

namespace {
const std::vector<recorded_task> k_all = {{"@a/shop", "build"}, {"@a/shop", "test"}, {"@b/cart", "build"}, {"root", "lint"}};
}  // namespace

TEST_CASE("a bare task is the only project's that ran it, else the nearest project's") {
  CHECK(*find_recorded(k_all, "lint", {"root"}) == recorded_task{"root", "lint"});
  CHECK(*find_recorded(k_all, "test", {"@b/cart", "root"}) == recorded_task{"@a/shop", "test"});
  CHECK(*find_recorded(k_all, "build", {"@b/cart", "root"}) == recorded_task{"@b/cart", "build"});
  const auto both = find_recorded(k_all, "build", {"root"});
  REQUIRE_FALSE(both);
  CHECK(both.error().code == errc::AMBIGUOUS);
  CHECK(both.error().details == R"({"candidates":["@a/shop#build","@b/cart#build"]})");
}

TEST_CASE("a project's task by its name, the unscoped half, or the root's sign") {
  CHECK(*find_recorded(k_all, "@a/shop#test", {"root"}) == recorded_task{"@a/shop", "test"});
  CHECK(*find_recorded(k_all, "cart#build", {"root"}) == recorded_task{"@b/cart", "build"});
  CHECK(*find_recorded(k_all, "//#lint", {"@a/shop", "root"}) == recorded_task{"root", "lint"});
}

TEST_CASE("what never ran is NO_HISTORY with near names or what there is") {
  const auto near = find_recorded(k_all, "biuld", {"root"});
  REQUIRE_FALSE(near);
  CHECK(near.error().code == errc::NO_HISTORY);
  CHECK(near.error().message == "no run of biuld is recorded (did you mean build?)");
  CHECK(find_recorded(k_all, "cart#test", {"root"}).error().message.find("@a/shop#test") != std::string::npos);
  CHECK(find_recorded(std::vector<recorded_task>(), "build", {"root"}).error().code == errc::NO_HISTORY);
}

TEST_CASE("bounds of a prune") {
  const auto code = [](std::optional<std::string> age, std::optional<std::string> size) {
    prune_request q;
    q.older_than = std::move(age);
    q.max_size = std::move(size);
    return parse_bounds(q);
  };
  CHECK(*code("30d", {})->older_than_ns == std::int64_t{30} * 86'400 * 1'000'000'000);
  CHECK(*code("2H", {})->older_than_ns == std::int64_t{7200} * 1'000'000'000);
  CHECK_FALSE(code("30d", {})->max_bytes);
  CHECK(*code({}, "5gb")->max_bytes == std::uint64_t{5} << 30);
  CHECK(*code({}, "10B")->max_bytes == 10);
  for (const char* bad : {"0d", "d", "-1d", "1.5h", "30", "1w", " 1d"}) {
    CAPTURE(bad);
    CHECK(code(bad, {}).error().code == errc::USAGE);
  }
  for (const char* bad : {"0G", "10", "G", "1.5G", "10P", "10 G"}) {
    CAPTURE(bad);
    CHECK(code({}, bad).error().code == errc::USAGE);
  }
  CHECK(code({}, "10").error().message.find("10B if bytes are meant") != std::string::npos);
  CHECK(code({}, {}).error().code == errc::USAGE);
}

TEST_CASE("limits are said in the largest unit that is exact") {
  CHECK(duration_words(30ull * 86'400'000) == "30d");
  CHECK(duration_words(90ull * 60'000) == "90m");
  CHECK(duration_words(1500) == "2s");
  CHECK(size_words(std::uint64_t{10} << 30) == "10GB");
  CHECK(size_words(1536) == "1536B");
  CHECK(size_words(std::uint64_t{1} << 40) == "1TB");
}
