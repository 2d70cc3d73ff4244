#include "base/near_names.hpp"

#include <doctest/doctest.h>

using namespace vx;

TEST_CASE("near names: by distance, then those that hold the word, three at the most") {
  const std::vector<std::string> names = {"build", "builds", "rebuild-all", "test", "BUILD-docs", "zbuild2"};
  CHECK(text::near_names("biuld", names) == std::vector<std::string>{"build"});
  CHECK(text::near_names("build", names) == std::vector<std::string>{"builds", "zbuild2", "BUILD-docs"});
  CHECK(text::near_names("docs", names) == std::vector<std::string>{"BUILD-docs"});
  CHECK(text::near_names("xyzzy", names).empty());
  CHECK(text::did_you_mean_some("biuld", names) == " (did you mean build?)");
  CHECK(text::did_you_mean_some("build", names) == " (did you mean builds, zbuild2 or BUILD-docs?)");
}
