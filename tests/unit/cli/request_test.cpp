#include "cli/request.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;

namespace {
command_line parsed(const char* verb, const std::vector<std::string>& words) {
  return std::get<command_line>(parse_verb(*find_verb(verb), words));
}
}  // namespace

TEST_CASE("a command line becomes the run request field by field") {
  CHECK(run_request(parsed("run", {"build"}), "vx run build") ==
        R"({"tasks":["build"],"command":"vx run build","flow":"focused","hold":true})");
  CHECK(
      run_request(parsed("run", {"a#b",
                                 "--all",
                                 "--filter",
                                 "!x",
                                 "--affected",
                                 "--force",
                                 "--no-cache",
                                 "--cache=local:r",
                                 "--cache-dir",
                                 "c",
                                 "--concurrency=50%",
                                 "--retry=02",
                                 "--continue",
                                 "--timeout=5",
                                 "--summarize=s.json",
                                 "--tag",
                                 "k=1",
                                 "--tag",
                                 "k=2",
                                 "--only=p,q",
                                 "--",
                                 "--x",
                                 "y z"}),
                  "c") ==
      R"({"tasks":["a#b"],"all":true,"filter":["!x"],"affected":true,"excludeDependencies":["p","q"],"args":["--x","y z"],"force":true,)"
      R"("noCache":true,"cache":"local:r","cacheDir":"c","concurrency":"50%","retry":2,"continue":"always","timeout":5,)"
      R"("summarize":"s.json","tags":{"k":"2"},"command":"c","flow":"broad","hold":true})");
  CHECK(
      run_request(
          parsed("run", {"b", "--affected=main", "--affected", "--exclude-dependencies", "--summarize", "--concurrency=007"}),
          "c") ==
      R"({"tasks":["b"],"affected":"main","excludeDependencies":true,"concurrency":7,"summarize":true,"command":"c","flow":"broad","hold":true})");
}

TEST_CASE("a plan asks what decides what would run") {
  CHECK(plan_request(parsed("run", {"b", "--dry", "--force"})) == R"({"query":"plan","tasks":["b"],"force":true})");
}

TEST_CASE("show passes its target and filters") {
  CHECK(show_request(parsed("show", {})) == R"({"query":"show"})");
  CHECK(show_request(parsed("show", {"//", "--filter=tag:a"})) == R"({"query":"show","target":"//","filter":["tag:a"]})");
}

TEST_CASE("JSON strings escape what JSON forbids and keep every other byte") {
  std::string out;
  append_json_string(out, std::string("a\"b\\c\nd\x01 ü\xff", 12));
  CHECK(out == "\"a\\\"b\\\\c\\u000ad\\u0001 ü\xff\"");
}

TEST_CASE("the recorded command counts forwarded arguments and never shows them") {
  CHECK(recorded_command({"run", "build", "--filter", "a b"}) == "vx run build --filter 'a b'");
  CHECK(recorded_command({"run", "t", "--", "--token", "s3cret"}) == "vx run t -- (2 arguments)");
  CHECK(recorded_command({"run", "t", "--"}) == "vx run t");
}

TEST_CASE("the questions of the explaining verbs") {
  const auto line = [](const char* verb, const std::vector<std::string>& words) {
    return std::get<command_line>(parse_verb(*find_verb(verb), words));
  };
  CHECK(why_request(line("why", {"a#b", "--run", "01", "--cache-dir", "c"})) ==
        R"({"query":"why","task":"a#b","run":"01","cacheDir":"c"})");
  CHECK(last_request(line("last", {})) == R"({"query":"last"})");
  CHECK(last_request(line("last", {"01b2"})) == R"({"query":"last","run":"01b2"})");
  CHECK(last_request(line("last", {"--list"})) == R"({"query":"last","list":10})");
  CHECK(last_request(line("last", {"--list", "007", "--failed"})) == R"({"query":"last","list":7,"failed":true})");
  CHECK(last_request(line("last", {"--log", "t", "01b2"})) == R"({"query":"last","run":"01b2","log":"t"})");
  CHECK(info_request(line("info", {})) == R"({"query":"info"})");
  CHECK(cache_stats_request(line("cache", {"stats"})) == R"({"query":"cache-stats"})");
  const command_line prune = line("cache", {"prune", "--older-than", "1d", "--max-size", "5G", "--dry-run"});
  CHECK(prune_cache_request(prune, 1000) ==
        R"({"query":"prune-cache","olderThan":"1d","maxSize":"5G","dryRun":true,"waitMs":1000})");
  CHECK(prune_cache_request(line("cache", {"prune", "--max-size", "5G"}), std::nullopt) ==
        R"({"query":"prune-cache","maxSize":"5G"})");
}
