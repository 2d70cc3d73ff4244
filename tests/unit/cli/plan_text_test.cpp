#include "cli/plan_text.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;

TEST_CASE("a plan shows a line per task, counters and a prediction") {
  const auto view = read_plan(R"({"tasks":[
    {"id":"shop#lint","hash":"0a1b2c3d00000000","cacheStatus":"hit-local","deps":[]},
    {"id":"shop#ci","hash":"1111111100000000","cacheStatus":"group","deps":[]},
    {"id":"shop#build","hash":"9f8e7d6c00000000","cacheStatus":"miss","deps":[],"p50Ms":2400,
     "affected":{"kind":"input","file":"packages/shop/src/a.ts","via":["util#build"]}}],
    "predicted":{"wallMs":2400,"workMs":2400,"unknownCount":0,"criticalPath":["shop#build"]},"notices":["no git"],"exitCode":0})");
  REQUIRE(view);
  CHECK(view->text ==
        "would run:\n"
        "  ◉  shop#lint   cache hit (local)         0a1b2c3d\n"
        "  ▶  shop#build  cache miss — would exec   9f8e7d6c  ~2.40s\n"
        "                 affected: packages/shop/src/a.ts changed (an input), via util#build\n"
        "\n"
        "2 task(s) planned, 1 cache hits (1 local), 1 would run.\n"
        "predicted: ~2.40s wall · ~2.40s total execution\n");
  CHECK(view->notices == std::vector<std::string>{"no git"});
  CHECK(view->document.find("notices") == std::string::npos);
  CHECK(view->document.find("exitCode") == std::string::npos);
  CHECK(view->document.find("\"cacheStatus\":\"group\"") != std::string::npos);
  CHECK(view->exit_code == 0);
}

TEST_CASE("tasks without history are counted and a guess from nothing is not made") {
  const char* tasks =
      R"({"tasks":[{"id":"a#b","hash":null,"cacheStatus":"no-cache","deps":[]},{"id":"c#d","hash":"12345678ff","cacheStatus":"miss","deps":[]}],)";
  auto view = read_plan(std::string(tasks) + R"("predicted":{"wallMs":5,"workMs":5,"unknownCount":1,"criticalPath":[]}})");
  CHECK(view->text ==
        "would run:\n"
        "  ·  a#b  no cache — would exec\n"
        "  ▶  c#d  cache miss — would exec   12345678\n"
        "\n"
        "2 task(s) planned, 2 would run.\n"
        "predicted: ~5ms wall · ~5ms total execution · 1 task without history (+?)\n");
  view = read_plan(std::string(tasks) + R"("predicted":{"wallMs":0,"workMs":0,"unknownCount":2,"criticalPath":[]}})");
  CHECK(view->text.find("predicted") == std::string::npos);
}

TEST_CASE("a task that would fail at key time says why and the plan exits 1") {
  const auto view = read_plan(
      R"({"tasks":[{"id":"a#b","hash":null,"cacheStatus":"error","deps":[],"message":"probe exit 3"},{"id":"a#s","hash":null,"cacheStatus":"not-started","deps":[]}],"exitCode":1})");
  CHECK(view->exit_code == 1);
  CHECK(view->text ==
        "would run:\n"
        "  ✗  a#b  would fail: probe exit 3\n"
        "  −  a#s  not started\n"
        "\n"
        "2 task(s) planned, 1 not started, 1 would fail.\n");
}

TEST_CASE("descriptions are indented below, an empty plan says so, another document is refused") {
  CHECK(
      read_plan(R"({"tasks":[{"id":"a#b","hash":"12345678","cacheStatus":"hit-remote","deps":[],"description":"Builds it"}]})")
          ->text ==
      "would run:\n"
      "  ↓  a#b  cache hit (remote)        12345678\n"
      "          Builds it\n"
      "\n"
      "1 task(s) planned, 1 cache hits (1 remote).\n");
  CHECK(read_plan(R"({"tasks":[]})")->text == "nothing would run.\n");
  CHECK_FALSE(read_plan("[]"));
  CHECK_FALSE(read_plan("nonsense"));
}
