#include "run/request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace vx;
using run::cache_policy;

namespace {

result<run::run_request> parse(const char* text) {
  auto doc = json::parse(text);
  REQUIRE(doc);
  return run::parse_run_request(*doc);
}

}  // namespace

TEST_CASE("a cache policy names layers exactly and leaves the others") {
  struct row {
    const char* spec;
    const char* letters;
  };
  const row rows[] = {{"local:rw", "lR,lW,rR,rW"}, {"local:r", "lR,rR,rW"},  {"local:w", "lW,rR,rW"},
                      {"local:", "rR,rW"},         {"remote:", "lR,lW"},     {"local:r,remote:r", "lR,rR"},
                      {"local:,remote:", ""},      {"remote:w", "lR,lW,rW"}, {"local:wr", "lR,lW,rR,rW"}};
  for (const row& r : rows) {
    CAPTURE(r.spec);
    const auto p = run::parse_cache_spec(r.spec, cache_policy{});
    REQUIRE(p);
    CHECK(p->letters() == r.letters);
  }
}

TEST_CASE("a bad cache policy is refused naming the part at fault") {
  struct row {
    const char* spec;
    const char* fragment;
  };
  const row rows[] = {{"", "--no-cache"}, {"  ", "--no-cache"},         {"disk:r", "disk"},
                      {"local:x", "x"},   {"local", "<layer>:<flags>"}, {"local:r,", "<layer>"}};
  for (const row& r : rows) {
    CAPTURE(r.spec);
    const auto p = run::parse_cache_spec(r.spec, cache_policy{});
    REQUIRE_FALSE(p);
    CHECK(p.error().code == errc::USAGE);
    CHECK(p.error().message.find(r.fragment) != std::string::npos);
  }
}

TEST_CASE("no-cache beats force, and both beat the policy") {
  CHECK(parse(R"({"force":true})")->policy.letters() == "lW,rW");
  CHECK(parse(R"({"noCache":true})")->policy.letters().empty());
  CHECK(parse(R"({"noCache":true,"force":true,"cache":"local:rw"})")->policy.letters().empty());
  CHECK(parse(R"({"cache":"local:","force":true})")->policy.letters() == "rW");
  CHECK(parse(R"({"force":true,"cache":"local:r"})")->policy.letters() == "rW");
}

TEST_CASE("every field of a request is read") {
  const auto r = parse(R"({"tasks":["build","a#test"],"all":true,"filter":["x"],"affected":"main","excludeDependencies":["gen"],
    "args":["--x"],"concurrency":"50%","cacheDir":"c","retry":2,"continue":"always","timeout":10,"summarize":"s.json","tags":{"a":"b"},
    "command":"vx run","flow":"broad","hold":true})");
  REQUIRE(r);
  CHECK(r->select.names == std::vector<std::string>{"build", "a#test"});
  CHECK(r->select.all);
  CHECK(r->select.filters == std::vector<std::string>{"x"});
  CHECK(r->select.affected);
  CHECK(r->select.affected_base == "main");
  CHECK(r->exclude.names == std::vector<std::string>{"gen"});
  CHECK(r->args == std::vector<std::string>{"--x"});
  CHECK(r->concurrency == "50%");
  CHECK(r->cache_dir == "c");
  CHECK(r->retry == 2u);
  CHECK(r->mode == graph::continue_mode::always);
  CHECK(r->timeout_ms == 10u);
  CHECK(r->summarize);
  CHECK(r->summarize_path == "s.json");
  CHECK(r->tags.size() == 1);
  CHECK(r->flow == "broad");
  CHECK(r->hold);
}

TEST_CASE("unknown fields and wrong types are refused by name") {
  struct row {
    const char* text;
    const char* fragment;
  };
  const row rows[] = {{R"({"task":["a"]})", "did you mean tasks?"},
                      {R"({"tasks":"a"})", "tasks must be"},
                      {R"({"tasks":[1]})", "tasks must be"},
                      {R"({"all":1})", "all must be"},
                      {R"({"retry":-1})", "retry must be"},
                      {R"({"timeout":0})", "timeout must be"},
                      {R"({"timeout":2147483648})", "timeout must"},
                      {R"({"continue":"maybe"})", "continue must"},
                      {R"({"concurrency":true})", "concurrency must"},
                      {R"({"tags":{"":"x"}})", "tags must be"},
                      {R"({"flow":"wide"})", "flow must be"},
                      {R"({"summarize":""})", "summarize must"},
                      {R"({"excludeDependencies":[]})", "excludeDependencies must"},
                      {R"([1])", "JSON object"},
                      {R"({"affected":3})", "affected must"}};
  for (const row& r : rows) {
    CAPTURE(r.text);
    const auto got = parse(r.text);
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::USAGE);
    CHECK(got.error().message.find(r.fragment) != std::string::npos);
  }
}

TEST_CASE("concurrency is a count or a share of the cores") {
  CHECK(run::resolve_concurrency("4", 8) == 4u);
  CHECK(run::resolve_concurrency("50%", 8) == 4u);
  CHECK(run::resolve_concurrency("1%", 8) == 1u);
  CHECK(run::resolve_concurrency("200%", 8) == 16u);
  for (const char* bad : {"", "0", "-1", "1.5", "x", "%", "0%", " 4", "4 "}) {
    CAPTURE(bad);
    const auto r = run::resolve_concurrency(bad, 8);
    REQUIRE_FALSE(r);
    CHECK(r.error().message.find("positive integer") != std::string::npos);
  }
}
