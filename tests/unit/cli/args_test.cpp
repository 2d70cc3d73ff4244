#include "cli/args.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;
using words = std::vector<std::string>;

namespace {

command_line parsed(const char* verb, const words& given) {
  auto out = parse_verb(*find_verb(verb), given);
  if (const auto* error = std::get_if<usage_error>(&out)) FAIL(error->message);
  return std::get<command_line>(out);
}

std::string refused(const char* verb, const words& given) {
  const auto out = parse_verb(*find_verb(verb), given);
  const auto* error = std::get_if<usage_error>(&out);
  return error == nullptr ? "(accepted)" : error->message;
}

}  // namespace

TEST_CASE("names, flags and forwarded arguments are told apart") {
  const command_line line = parsed("run", {"build", "--filter", "a", "shop#test", "--filter=!b", "--", "--help", "--", "-x"});
  CHECK(line.operands == words{"build", "shop#test"});
  CHECK(line.values("--filter") == words{"a", "!b"});
  CHECK(line.forwarded == words{"--help", "--", "-x"});
  CHECK_FALSE(line.help);
}

TEST_CASE("an optional value needs its equals sign") {
  const command_line line = parsed("run", {"--affected", "build"});
  CHECK(line.operands == words{"build"});
  CHECK(line.has("--affected"));
  CHECK_FALSE(line.value("--affected").has_value());
  CHECK(parsed("run", {"--affected=main", "build"}).value("--affected") == "main");
  CHECK(parsed("run", {"--continue", "never"}).operands == words{"never"});
  CHECK(parsed("run", {"--dry=json", "build"}).value("--dry") == "json");
}

TEST_CASE("an empty value means the bare flag on few flags and is refused on the others") {
  CHECK_FALSE(parsed("run", {"b", "--affected="}).value("--affected").has_value());
  CHECK(parsed("run", {"b", "--affected="}).has("--affected"));
  CHECK(parsed("run", {"b", "--summarize="}).has("--summarize"));
  for (const char* flag : {"--retry=", "--filter=", "--dry=", "--continue=", "--exclude-dependencies=", "--cache=", "--tag="}) {
    CHECK(refused("run", {"b", flag}).find("needs a value") != std::string::npos);
  }
  CHECK(refused("run", {"b", "--filter", ""}) == "--filter needs a value");
  CHECK(refused("run", {"b", "--filter"}) == "--filter needs a value");
}

TEST_CASE("values are checked for their form") {
  struct row {
    words given;
    const char* says;
  };
  const row rows[] = {
      {{"b", "--retry", "-1"}, "--retry needs a whole number from 0, got \"-1\""},
      {{"b", "--retry", "1.5"}, "--retry needs a whole number from 0, got \"1.5\""},
      {{"b", "--retry", "0x2"}, "--retry needs a whole number from 0, got \"0x2\""},
      {{"b", "--retry", "9007199254740993"}, "--retry needs a whole number from 0, got \"9007199254740993\""},
      {{"b", "--timeout", "0"}, "--timeout needs a positive integer of milliseconds, got \"0\""},
      {{"b", "--timeout", "2147483648"}, "--timeout needs at most 2147483647 milliseconds, got \"2147483648\""},
      {{"b", "--concurrency", "0"}, "--concurrency needs a positive integer or a share of the cores, got \"0\""},
      {{"b", "--concurrency", "fast"}, "--concurrency needs a positive integer or a share of the cores, got \"fast\""},
      {{"b", "--concurrency", "0%"}, "--concurrency needs a positive integer or a share of the cores, got \"0%\""},
      {{"b", "--tag", "x"}, "--tag needs key=value, got \"x\""},
      {{"b", "--tag", "=x"}, "--tag needs a key before \"=\", got \"=x\""},
      {{"b", "--continue=alwys"}, "--continue needs never, deps-ok, always, got \"alwys\" (did you mean always?)"},
      {{"b", "--output-logs", "loud"}, "--output-logs needs full, errors-only, hash-only, none, got \"loud\""},
      {{"b", "--format", "yaml"}, "--format needs pretty, json, got \"yaml\""},
      {{"b", "--all=yes"}, "--all takes no value, got \"yes\""},
      {{"b", "--cache-dir", "-x"}, "--cache-dir needs a value, got \"-x\" (write --cache-dir=-x if it is meant)"},
      {{""}, "an empty task name"},
      {{"b", "--dry", "--summarize"}, "--dry runs nothing, so it cannot go with --summarize"},
      {{"b", "--dry", "--format", "json"}, "--format json is for runs; say --dry=json"},
  };
  for (const row& r : rows) CHECK(refused("run", r.given) == r.says);
  for (const words& fine : {words{"b", "--retry", "0"},
                            {"b", "--concurrency", "200%"},
                            {"b", "--timeout", "2147483647"},
                            {"b", "--tag", "a=b=c"},
                            {"b", "--cache-dir=-x"},
                            {"b", "--all=true"},
                            {"b", "--continue"},
                            {"b", "--verbosity=0"}}) {
    CHECK(refused("run", fine) == "(accepted)");
  }
  CHECK_FALSE(parsed("run", {"b", "--force=false"}).has("--force"));
}

TEST_CASE("unknown flags are named, with the nearest one when it is near") {
  CHECK(refused("run", {"--retries", "2"}) == "unknown flag: --retries (did you mean --retry?)");
  CHECK(refused("run", {"--forc"}) == "unknown flag: --forc (did you mean --force?)");
  CHECK(refused("run", {"--json"}) == "unknown flag: --json (did you mean --format json?)");
  CHECK(refused("show", {"--json"}) == "unknown flag: --json (did you mean --format json?)");
  CHECK(refused("show", {"--hepl"}) == "unknown flag: --hepl (did you mean --help?)");
  CHECK(refused("run", {"--zebra"}) == "unknown flag: --zebra");
  CHECK(refused("run", {"-V"}) == "unknown flag: -V");
  CHECK(refused("show", {"--jsom"}) == "unknown flag: --jsom");
}

TEST_CASE("a verb takes as many words as it says") {
  CHECK(refused("version", {"now"}) == "unexpected word: now");
  CHECK(refused("show", {"a", "b"}) == "unexpected word: b");
  CHECK(refused("show", {"a", "--", "b"}) == "takes no arguments after --");
  CHECK(refused("show", {"a", "--"}) == "(accepted)");
}

TEST_CASE("help is asked for before the dashes only") {
  CHECK(parsed("run", {"--help"}).help);
  CHECK(parsed("run", {"build", "-h"}).help);
  CHECK_FALSE(parsed("run", {"build", "--", "-h"}).help);
}

TEST_CASE("JSON is asked for before the dashes, whatever else is wrong") {
  CHECK(asks_json({"run", "--bogus", "--format", "json"}));
  CHECK(asks_json({"run", "--format=json"}));
  CHECK(asks_json({"run", "--dry=json"}));
  CHECK_FALSE(asks_json({"run", "--", "--format=json"}));
  CHECK_FALSE(asks_json({"run", "--format", "pretty"}));
}

TEST_CASE("last: a count after --list is its value, and what can't go together is refused") {
  const auto parse = [](const std::vector<std::string>& words) { return parse_verb(*find_verb("last"), words); };
  const auto count = [&](const std::vector<std::string>& words) {
    return std::get<command_line>(parse(words)).value("--list");
  };
  CHECK(count({"--list", "20"}) == "20");
  CHECK(count({"--list=20"}) == "20");
  CHECK_FALSE(count({"--list"}));
  CHECK(std::get<command_line>(parse({"--list", "20"})).operands.empty());
  CHECK(std::get<command_line>(parse({"20"})).operands == std::vector<std::string>{"20"});
  CHECK(std::get<command_line>(parse({"--log", "a#b", "01b2"})).operands.size() == 1);
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{{"--list", "01b2"},
                                                                                   {"--list=0"},
                                                                                   {"--list=3", "4"},
                                                                                   {"--failed", "01b2"},
                                                                                   {"--log", "a", "--failed"},
                                                                                   {"--log", "a", "--list"},
                                                                                   {"a", "b"}}) {
    CHECK(std::holds_alternative<usage_error>(parse(bad)));
  }
}

TEST_CASE("cache takes two words, why needs one") {
  const auto message = [](const char* verb, const std::vector<std::string>& words) {
    const auto parsed = parse_verb(*find_verb(verb), words);
    const auto* error = std::get_if<usage_error>(&parsed);
    return error == nullptr ? std::string() : error->message;
  };
  CHECK(message("cache", {"stats"}).empty());
  CHECK(message("cache", {"prune", "--older-than", "1d"}).empty());
  CHECK(message("cache", {}).starts_with("missing word"));
  CHECK(message("cache", {"prune"}).starts_with("prune needs a bound"));
  CHECK(message("cache", {"prune", "--dry-run"}).starts_with("prune needs a bound"));
  CHECK(message("cache", {"ls"}).find("`vx cache stats`") != std::string::npos);
  CHECK(message("cache", {"stats", "--dry-run"}).starts_with("--dry-run is for prune"));
  CHECK(message("why", {}).starts_with("missing task name"));
  CHECK(message("why", {"a", "b"}).starts_with("unexpected word"));
}
