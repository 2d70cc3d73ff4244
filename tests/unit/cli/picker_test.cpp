#include "cli/picker.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;

TEST_CASE("choices stand with the project one is in first") {
  const auto choices = read_choices(R"({"projects":[
    {"name":"a","dir":"a","tags":[],"tasks":[{"id":"a#build","name":"build","command":"x","dependsOn":[],"cached":true}]},
    {"name":"b","dir":"b","tags":[],"tasks":[{"id":"b#dev","name":"dev","command":"y","dependsOn":[],"cached":false,"description":"serves"}]}],
    "current":"b"})");
  REQUIRE(choices.size() == 2);
  CHECK(choices[0].id == "b#dev");
  CHECK(choices[0].description == "serves");
  CHECK(choices[1].id == "a#build");
  CHECK(read_choices("[]").empty());
  CHECK(read_choices("{").empty());
}

TEST_CASE("the menu numbers from one, lines up ids and shows nothing that steers a terminal") {
  CHECK(menu_text({{"a#build", ""}, {"shop#dev", "serves \x1b[31mshop"}}) == "  1  a#build\n  2  shop#dev  serves \\x1b[31mshop\n");
  std::vector<choice> ten(10, {"p#t", ""});
  CHECK(menu_text(ten).starts_with("   1  p#t\n"));
  CHECK(menu_text(ten).ends_with("  10  p#t\n"));
}

TEST_CASE("only a plain number of the list is a choice") {
  CHECK(chosen("1", 3) == 0);
  CHECK(chosen(" 3 \r", 3) == 2);
  for (const char* line : {"", " ", "0", "4", "-1", "+1", "1.0", "0x1", "one", "1 2", "99999999999999999999999"}) {
    CAPTURE(line);
    CHECK(!chosen(line, 3));
  }
}
