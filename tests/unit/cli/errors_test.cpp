#include "cli/errors.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;

namespace {
std::string text(const refusal& r, std::string_view verb = "run") { return refusal_text(r, verb, "/w"); }
}  // namespace

TEST_CASE("an argument error points at the verb's help, other refusals do not") {
  CHECK(text({"VX_E_USAGE", "unknown flag: --x", "", ""}) == "vx run: unknown flag: --x (see `vx run --help`)\n");
  CHECK(text({"VX_E_USAGE", "unknown flag: --x", "", ""}, "") == "vx: unknown flag: --x (see `vx --help`)\n");
  CHECK(text({"VX_E_UNKNOWN_TASK", "no project declares biuld. Did you mean build?", "", ""}) ==
        "vx run: no project declares biuld. Did you mean build?\n");
  CHECK(text({"VX_E_CONFIG", "a/vx.config.json: tasks must be an object", "", ""}) ==
        "vx: a/vx.config.json: tasks must be an object\n");
}

TEST_CASE("a position leads the line and the frame follows") {
  const refusal r{"VX_E_CONFIG", "/w/a/vx.config.json:3:5: tasks.build.exce is unknown", "/w/a/vx.config.json",
                  R"({"file":"/w/a/vx.config.json","line":3,"column":5,"frame":"    \"exce\": {\n    ^"})"};
  CHECK(text(r) == "vx: a/vx.config.json:3:5: tasks.build.exce is unknown\n\n      \"exce\": {\n      ^\n");
  CHECK(text({"VX_E_CONFIG", "a.json:1:2: bad", "a.json", R"({"file":"a.json","line":1,"column":2})"}) ==
        "vx: a.json:1:2: bad\n");
}

TEST_CASE("details without a position change nothing") {
  CHECK(text({"VX_E_CYCLE", "a#b -> a#b", "", R"({"cycle":["a#b","a#b"]})"}) == "vx run: a#b -> a#b\n");
  CHECK(text({"VX_E_CYCLE", "m", "", "not json"}) == "vx run: m\n");
}

TEST_CASE("the JSON line is one object and never invalid UTF-8") {
  CHECK(refusal_json({"VX_E_USAGE", "bad \"x\" \xff", "", ""}) ==
        "{\"ok\":false,\"error\":{\"code\":\"VX_E_USAGE\",\"message\":\"bad \\\"x\\\" \\\\xff\"}}\n");
}

TEST_CASE("coarse codes take the command line's words") {
  CHECK(document_code("VX_E_INVALID") == "VX_E_USAGE");
  CHECK(document_code("VX_E_NOT_FOUND") == "VX_E_UNKNOWN_TASK");
  CHECK(document_code("VX_E_IO") == "VX_E_FS");
  CHECK(document_code("VX_E_CYCLE") == "VX_E_CYCLE");
}
