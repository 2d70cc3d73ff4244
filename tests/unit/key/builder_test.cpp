#include "key/builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace vx;
using namespace vx::key;
using enum vx::key::component_kind;

namespace {

constexpr std::string_view k_config =
    R"({"cache":{"inputs":{"env":["API","MODE"],"files":["src/**"]},"outputs":{"files":["dist/**"]}},"exec":{"command":"true"}})";

digest128 built(builder& b) {
  const auto k = b.finish();
  REQUIRE(k);
  return *k;
}

std::string refusal(const status& s) { return s ? std::string() : s.error().message; }

}  // namespace

TEST_CASE("a key built item by item is the key the fold gives: the first golden vector") {
  builder b(std::string(k_schema), "a#build");
  REQUIRE(b.add(platform, "", "linux-x64"));
  REQUIRE(b.add(config, "", k_config));
  REQUIRE(b.begin_list(env, 2));
  REQUIRE(b.add(env, "MODE", ""));
  REQUIRE(b.add(env, "API", std::nullopt));
  REQUIRE(b.end_list());
  REQUIRE(b.add(file, "packages/a/src/x", git_blob_id("1\n", object_format::sha1).hex()));
  CHECK(built(b).hex() == "318e9fc70b7482a14f6aae60f17d3d30");
  CHECK(built(b).hex() == "318e9fc70b7482a14f6aae60f17d3d30");
}

TEST_CASE("every kind reaches the key, and what was left out is not what was given empty") {
  const auto key_of = [](auto add) {
    builder b("t-1", "x");
    REQUIRE(add(b));
    return built(b).hex();
  };
  std::vector<std::string> keys;
  keys.push_back(key_of([](builder&) { return status{}; }));
  keys.push_back(key_of([](builder& b) { return b.add(platform, "", "linux-x64"); }));
  keys.push_back(key_of([](builder& b) { return b.add(workspace, "lock", ""); }));
  keys.push_back(key_of([](builder& b) { return b.add(package, "", "ab"); }));
  keys.push_back(key_of([](builder& b) { return b.add(config, "", "c"); }));
  keys.push_back(key_of([](builder& b) { return b.add(forward, "", ""); }));
  keys.push_back(key_of([](builder& b) { return b.add(env, "A", ""); }));
  keys.push_back(key_of([](builder& b) { return b.add(env, "A", std::nullopt); }));
  keys.push_back(key_of([](builder& b) { return b.add(runtime, "cc", "1"); }));
  keys.push_back(key_of([](builder& b) { return b.add(ws_runtime, "cc", "1"); }));
  keys.push_back(key_of([](builder& b) { return b.add(upstream, "u", std::string(16, 'k')); }));
  keys.push_back(key_of([](builder& b) { return b.add(host, "h", ""); }));
  keys.push_back(key_of([](builder& b) { return b.add(file, "f", "id"); }));
  keys.push_back(key_of([](builder& b) { return b.add(file, "f", std::nullopt); }));
  std::sort(keys.begin(), keys.end());
  CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
  builder other_schema("t-2", "x"), other_subject("t-1", "y");
  CHECK(!std::binary_search(keys.begin(), keys.end(), built(other_schema).hex()));
  CHECK(!std::binary_search(keys.begin(), keys.end(), built(other_subject).hex()));
}

TEST_CASE("the order of names does not matter, the order of arguments does") {
  const auto key_of = [](std::vector<std::string> names, std::vector<std::string> args) {
    builder b("t-1", "x");
    for (const std::string& a : args) REQUIRE(b.add(forward, "", a));
    for (const std::string& n : names) REQUIRE(b.add(env, n, "v" + n));
    for (const std::string& n : names) REQUIRE(b.add(file, n, "id-" + n));
    return built(b);
  };
  CHECK(key_of({"a", "b"}, {"1", "2"}) == key_of({"b", "a", "b"}, {"1", "2"}));
  CHECK(key_of({"a", "b"}, {"1", "2"}) != key_of({"a", "b"}, {"2", "1"}));
}

TEST_CASE("a wrong order, a second answer and a miscounted list are refused") {
  builder b("t-1", "x");
  CHECK(refusal(b.add(format, "", "f")).find("no kind 1") != std::string::npos);
  CHECK(refusal(b.add(static_cast<component_kind>(13), "", "f")).find("no kind 13") != std::string::npos);
  REQUIRE(b.add(env, "A", "1"));
  CHECK(refusal(b.add(platform, "", "p")) == "platform comes before env in a key; add the kinds in their order");
  CHECK(refusal(b.add(env, "", "1")) == "env needs a name");
  CHECK(refusal(b.add(env, "A=B", "1")).find("holds no =") != std::string::npos);
  CHECK(refusal(b.add(host, "h", std::nullopt)) == "host h needs a value");
  CHECK(refusal(b.add(upstream, "u", "short")).find("16 bytes") != std::string::npos);
  CHECK(refusal(b.add(file, "f", "")).find("1 to 255 bytes") != std::string::npos);
  CHECK(refusal(b.add(file, "f", std::string(256, 'x'))).find("1 to 255 bytes") != std::string::npos);
  CHECK(refusal(b.end_list()) == "no list is open");
  REQUIRE(b.begin_list(file, 2));
  CHECK(refusal(b.begin_list(file, 2)).find("open already") != std::string::npos);
  CHECK(!b.finish());
  REQUIRE(b.add(file, "f", "1"));
  CHECK(refusal(b.end_list()) == "the list of file lacks 1 of the items it announced");
  REQUIRE(b.add(file, "f", "2"));
  CHECK(refusal(b.add(file, "g", "1")) == "file g is more than the list announced");
  REQUIRE(b.end_list());
  const auto k = b.finish();
  REQUIRE(!k);
  CHECK(k.error().message == "file f was added twice, with different values");

  builder c("t-1", "x");
  REQUIRE(c.add(platform, "", "p"));
  CHECK(refusal(c.add(platform, "", "p")) == "platform is in the key already");
  CHECK(refusal(c.add(config, "name", "p")).find("has no name") != std::string::npos);
  REQUIRE(c.add(runtime, "cc", "1"));
  REQUIRE(c.add(runtime, "cc", "2"));
  CHECK(!c.finish());
  builder d("t-1", "x");
  REQUIRE(d.add(env, "A", ""));
  REQUIRE(d.add(env, "A", std::nullopt));
  CHECK(!d.finish());
  builder e("t-1", "x");
  REQUIRE(e.finish());
  CHECK(refusal(e.add(env, "A", "1")).find("finished") != std::string::npos);
}

TEST_CASE("the explanation names what was added, and salts what bears values") {
  builder b("t-1", "x");
  REQUIRE(b.add(forward, "", "-O2"));
  REQUIRE(b.add(runtime, "cc --version", " 12\n"));
  REQUIRE(b.add(upstream, "dep", std::string(16, 'k')));
  REQUIRE(b.add(file, "f", "id"));
  (void)built(b);
  digest128 salt;
  salt.raw[0] = std::byte{1};
  const auto plain = b.explain({}), salted = b.explain(salt);
  REQUIRE(plain.size() == salted.size());
  std::string names;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const bool bears_value = plain[i].kind == forward || plain[i].kind == runtime;
    CHECK((plain[i].digest != salted[i].digest) == bears_value);
    names += std::string(component_kind_name(plain[i].kind)) + " " + plain[i].name + ";";
  }
  CHECK(names ==
        "format schema;platform platform;workspace fingerprint;package package.json;config task config;forward 1;"
        "runtime cc --version;upstream dep;file f;");
}
