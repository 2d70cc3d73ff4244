#include "cli/foreign.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;
using words = std::vector<std::string>;

namespace {

words read_as(const words& given) {
  auto out = translate(*find_verb("run"), given);
  if (const auto* error = std::get_if<usage_error>(&out)) return {"refused: " + error->message};
  return std::get<words>(out);
}

}  // namespace

TEST_CASE("other runners' spellings become ours") {
  struct row {
    words given, read;
  };
  const row rows[] = {
      {{"-F", "a"}, {"--filter=a"}},
      {{"-t", "build,test"}, {"build", "test"}},
      {{"--target=build"}, {"build"}},
      {{"-p", "a,b"}, {"--filter=a", "--filter=b"}},
      {{"--projects=!a,b"}, {"--filter=*", "--filter=!a", "--filter=b"}},
      {{"-p", "directory:apps/x"}, {"--filter=./apps/x"}},
      {{"-p", "name:x"}, {"--filter=x"}},
      {{"--exclude", "a,b"}, {"--filter=!a", "--filter=!b"}},
      {{"--base=main"}, {"--affected=main"}},
      {{"--head", "HEAD"}, {}},
      {{"-r", "build"}, {"--all", "build"}},
      {{"--recursive=false"}, {}},
      {{"-w"}, {"--filter=//"}},
      {{"--fail-if-no-match"}, {}},
      {{"--dry-run"}, {"--dry"}},
      {{"--dry-run=json"}, {"--dry=json"}},
      {{"--dryRun"}, {"--dry"}},
      {{"--parallel", "3"}, {"--concurrency=3"}},
      {{"--parallel=false"}, {"--concurrency=1"}},
      {{"--max-parallel=4"}, {"--concurrency=4"}},
      {{"--maxParallel", "4"}, {"--concurrency=4"}},
      {{"--concurrency-limit=50%"}, {"--concurrency=50%"}},
      {{"--skip-nx-cache"}, {"--force"}},
      {{"--skipNxCache=true"}, {"--force"}},
      {{"--nx-bail"}, {"--continue=never"}},
      {{"--continue=dependencies-successful"}, {"--continue=deps-ok"}},
      {{"--skip-remote-cache"}, {"--cache=local:rw,remote:"}},
      {{"--outputLogs=full"}, {"--output-logs=full"}},
      {{"--ignore-depends-on"}, {"--exclude-dependencies"}},
      {{"--filter", "-r", "build"}, {"--filter", "-r", "build"}},
  };
  for (const row& r : rows) CHECK(read_as(r.given) == r.read);
}

TEST_CASE("what has no equal is refused with the way to say it") {
  for (const char* flag : {"--parallel",
                           "--scope=a",
                           "--since=main",
                           "--uncommitted",
                           "-c",
                           "--color",
                           "--no-color",
                           "--heap",
                           "--trace",
                           "--anon-profile",
                           "--login=x",
                           "--token",
                           "--team",
                           "--api",
                           "--remote-only",
                           "--remote-cache-read-only",
                           "--remote-cache-timeout=1",
                           "--cwd",
                           "--env-mode",
                           "--global-deps",
                           "--log-file",
                           "--daemon",
                           "--no-daemon",
                           "--ui",
                           "--log-order",
                           "--log-prefix",
                           "--output-style",
                           "--tui",
                           "--verbose",
                           "--files",
                           "--batch",
                           "--dte",
                           "--use-agents",
                           "--no-cloud",
                           "--nx-ignore-cycles",
                           "--skip-sync",
                           "--runner",
                           "--single-package",
                           "--cache-workers",
                           "--preflight",
                           "--framework-inference",
                           "--root-turbo-json",
                           "--no-update-notifier",
                           "--experimental-otel-endpoint",
                           "--last-details",
                           "--output-logs=new-only",
                           "--head=main"}) {
    const words out = read_as({"build", flag});
    CHECK_MESSAGE(out.size() == 1, flag);
    CHECK_MESSAGE(out[0].find("is not a vx flag: ") != std::string::npos, flag);
  }
}

TEST_CASE("a flag whose value is missing says so") {
  CHECK(read_as({"-F"}) == words{"refused: -F needs a value"});
  CHECK(read_as({"--base="}) == words{"refused: --base needs a value"});
  CHECK(read_as({"--skip-nx-cache=maybe"}) == words{"refused: --skip-nx-cache takes no value, got \"maybe\""});
}

TEST_CASE("what nobody knows is left to the parser") { CHECK(read_as({"--bogus=1", "x"}) == words{"--bogus=1", "x"}); }
