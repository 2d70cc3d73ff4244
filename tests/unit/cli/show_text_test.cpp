#include "cli/show_text.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;

TEST_CASE("the list has a line per project in columns") {
  const auto view = read_show(
      R"({"kind":"projects","result":[{"name":"cart","dir":"packages/cart","tags":["web","x"],"tasks":["build","test"]},{"name":"shop","dir":"apps/shop","tags":[],"tasks":["build"]}],"notices":["n"]})");
  REQUIRE(view);
  CHECK(view->text ==
        "cart  packages/cart  2 tasks  [web, x]\n"
        "shop  apps/shop      1 task\n");
  CHECK(
      view->document ==
      R"([{"name":"cart","dir":"packages/cart","tags":["web","x"],"tasks":["build","test"]},{"name":"shop","dir":"apps/shop","tags":[],"tasks":["build"]}])");
  CHECK(view->notices == std::vector<std::string>{"n"});
}

TEST_CASE("a project shows a block per task with only what is set") {
  const auto view = read_show(R"({"result":{"name":"cart","dir":"packages/cart","config":{"tags":["web"],"tasks":{
    "build":{"description":"Compiles","exec":{"command":"tsc","timeout":5000,"env":{"passThrough":["HOME"],"define":{"A":"1"}}},"dependsOn":["^build"],
             "cache":{"inputs":{"files":["src/**"],"env":[]},"outputs":{"files":["dist/**"]},"portable":true}},
    "ci":{"dependsOn":["build"]}}}}})");
  REQUIRE(view);
  CHECK(view->text ==
        "cart — packages/cart\n"
        "  tags  [web]\n"
        "\n"
        "  build\n"
        "    description      Compiles\n"
        "    command          tsc\n"
        "    dependsOn        ^build\n"
        "    timeout          5000\n"
        "    env.passThrough  HOME\n"
        "    env.define       {\"A\":\"1\"}\n"
        "    inputs.files     src/**\n"
        "    inputs.env       []\n"
        "    outputs.files    dist/**\n"
        "    portable         true\n"
        "\n"
        "  ci\n"
        "    command    (group)\n"
        "    dependsOn  build\n");
}

TEST_CASE("one task, and a task wherever it is declared") {
  CHECK(read_show(R"({"result":{"name":"a","dir":".","task":"t","config":{"exec":{"command":"x"}}}})")->text ==
        "a#t — .\n  command  x\n");
  CHECK(
      read_show(
          R"({"result":[{"name":"a","dir":"a","task":"t","config":{"exec":{"command":"x"}}},{"name":"b","dir":"b","task":"t","config":{"exec":{"command":"y"}}}]})")
          ->text == "a#t — a\n  command  x\n\nb#t — b\n  command  y\n");
}

TEST_CASE("a project without a config says so, an empty list too, another document is refused") {
  CHECK(read_show(R"({"result":{"name":"a","dir":"a","config":null}})")->text == "a — a\n  (no vx config)\n");
  CHECK(read_show(R"({"result":[]})")->text == "no projects\n");
  CHECK_FALSE(read_show("{}"));
}
