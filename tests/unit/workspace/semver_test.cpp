#include "workspace/semver.hpp"

#include <doctest/doctest.h>

namespace semver = vx::workspace::semver;

namespace {

std::string verdict(const char* version, const char* range) {
  const auto v = semver::parse_version(version);
  const auto r = semver::range::parse(range);
  if (!v) return "no version";
  if (!r) return "no range";
  return r->contains(*v) ? "yes" : "no";
}

}  // namespace

TEST_CASE("a version satisfies a range as npm says") {
  struct row {
    const char *version, *range, *expected;
  };
  const row rows[] = {
      {"1.2.3", "^1.0.0", "yes"},
      {"2.0.0", "^1.0.0", "no"},
      {"0.2.9", "^0.2.3", "yes"},
      {"0.3.0", "^0.2.3", "no"},
      {"0.0.3", "^0.0.3", "yes"},
      {"0.0.4", "^0.0.3", "no"},
      {"0.5.0", "^0", "yes"},
      {"1.0.0", "^0", "no"},
      {"0.0.9", "^0.0", "yes"},
      {"0.1.0", "^0.0", "no"},
      {"1.9.0", "^1.2.x", "yes"},
      {"1.1.9", "^1.2.x", "no"},
      {"1.2.9", "~1.2.3", "yes"},
      {"1.3.0", "~1.2.3", "no"},
      {"1.9.0", "~1", "yes"},
      {"1.2.4", "~> 1.2.3", "yes"},
      {"1.2.3", "1.2.3", "yes"},
      {"1.2.4", "=1.2.3", "no"},
      {"1.2.4", "1.2", "yes"},
      {"1.3.0", "1.2.x", "no"},
      {"1.3.0", "1", "yes"},
      {"3.1.4", "*", "yes"},
      {"3.1.4", "x", "yes"},
      {"3.1.4", "", "yes"},
      {"1.5.0", ">=1.2 <2", "yes"},
      {"2.0.0", ">=1.2 <2", "no"},
      {"1.9.9", ">1", "no"},
      {"2.0.0", ">1", "yes"},
      {"1.2.9", ">1.2", "no"},
      {"1.9.9", "<=1", "yes"},
      {"2.0.0", "<=1", "no"},
      {"1.0.0", "<1", "no"},
      {"2.3.4", "1.2.3 - 2.3.4", "yes"},
      {"2.3.5", "1.2.3 - 2.3.4", "no"},
      {"2.3.9", "1.2 - 2.3", "yes"},
      {"2.4.0", "1.2 - 2.3", "no"},
      {"3.0.0", "^1 || ^3", "yes"},
      {"2.0.0", "^1 || ^3", "no"},
      {"1.0.0", "<*", "no"},
      {"1.0.0", ">=*", "yes"},
      {"1.0.0-rc.1", "^1.0.0", "no"},
      {"1.0.0-rc.2", "^1.0.0-rc.1", "yes"},
      {"1.0.1-rc.1", "^1.0.0-rc.1", "no"},
      {"1.0.0-rc.1", "*", "no"},
      {"2.0.0-rc.1", "^1.0.0", "no"},
      {"2.0.0-0", "^1.0.0", "no"},
      {"1.0.0-alpha", ">=1.0.0-0", "yes"},
      {"1.0.0-alpha.10", ">1.0.0-alpha.9", "yes"},
      {"1.0.0-alpha.beta", ">1.0.0-alpha.9", "yes"},
      {"1.0.0+build.5", "1.0.0", "yes"},
      {"v1.0.0", "1.0.0", "yes"},
      {"1.0.0", "v1.0.0", "yes"},
      {"1.0.0", "latest", "no range"},
      {"1.0.0", "git+ssh://x/y", "no range"},
      {"1.0.0", "user/repo", "no range"},
      {"1.0.0", "https://x/y.tgz", "no range"},
      {"1.0.0", "1.2.3.4", "no range"},
      {"1.0.0", "01.2.3", "no range"},
      {"1.0.2", "1.x.2", "no range"},
      {"1.0.0", "latest - 2", "no range"},
      {"1.2", "1.2.0", "no version"},
      {"", "1.2.0", "no version"},
      {"1.0.0-01", "*", "no version"},
      {"9007199254740993.0.0", "*", "no version"},
  };
  for (const row& r : rows) {
    CAPTURE(r.version);
    CAPTURE(r.range);
    CHECK(verdict(r.version, r.range) == r.expected);
  }
}

TEST_CASE("versions sort with pre-releases before their release and numbers before words") {
  const char* const sorted[] = {"1.0.0-0",    "1.0.0-1", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1",
                                "1.0.0-beta", "1.0.0",   "1.0.1",    "1.1.0",       "2.0.0"};
  for (std::size_t i = 0; i < std::size(sorted); ++i) {
    for (std::size_t j = 0; j < std::size(sorted); ++j) {
      CAPTURE(sorted[i]);
      CAPTURE(sorted[j]);
      const int c = semver::compare(*semver::parse_version(sorted[i]), *semver::parse_version(sorted[j]));
      CHECK((c < 0) == (i < j));
      CHECK((c == 0) == (i == j));
    }
  }
}
