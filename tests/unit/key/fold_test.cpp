#include "key/fold.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <random>

using namespace vx;
using namespace vx::key;

namespace {

/// The first golden vector; views point into static text.
struct golden {
  std::string config_text =
      R"({"cache":{"inputs":{"env":["API","MODE"],"files":["src/**"]},"outputs":{"files":["dist/**"]}},"exec":{"command":"true"}})";
  std::string identity = git_blob_id("1\n", object_format::sha1).hex();
  std::vector<input_item> inputs{{"packages/a/src/x", identity}};
  task_material m;

  golden() {
    m.task_id = "a#build";
    m.platform = "linux-x64";
    m.workspace = fold_fingerprint({});
    m.config = xxh3_128(config_text);
    m.env = {{"MODE", ""}, {"API", std::nullopt}};
    m.inputs = inputs;
  }
};

/// Writes the walk down as the two sinks see it.
struct record_sink final : fold_sink {
  std::string bytes;
  void put(tag t, std::uint32_t n) {
    byte_writer w;
    w.u16(static_cast<std::uint16_t>(t));
    w.u32(n);
    bytes += w.str();
  }
  void list(tag t, std::uint32_t n) override { put(t, n); }
  void item(tag t, std::string_view v) override {
    put(t, static_cast<std::uint32_t>(v.size()));
    bytes += v;
  }
};

digest128 key_of(const task_material& m) { return task_key(m); }

std::map<std::string, std::string> explained(const task_material& m, digest128 salt = {}) {
  explain_sink sink(salt, {});
  fold(m, sink);
  std::map<std::string, std::string> out;
  for (const component& c : sink.take()) out[std::string(component_kind_name(c.kind)) + " " + c.name] = c.digest;
  return out;
}

}  // namespace

TEST_CASE("the golden vectors belong to this schema: change neither alone") {
  const golden g;
  REQUIRE(k_schema == "vx-key-1");
  CHECK(g.m.workspace.hex() == "6d8cbc77c45e880e6383ac5869b5b3e9");
  CHECK(g.m.config.hex() == "84ad148c1e4b37f4cf3a8a503d1c089b");
  digest_sink sink;
  fold(g.m, sink);
  CHECK(sink.bytes() == 233);
  CHECK(sink.finish().hex() == "318e9fc70b7482a14f6aae60f17d3d30");
  CHECK(task_key(g.m).hex() == "318e9fc70b7482a14f6aae60f17d3d30");
  CHECK(fold_rollup({{"a#build", task_key(g.m)}}).hex() == "dae63d51307b95b40c3c91710f769c86");
  CHECK(fold_scope("pr-7", task_key(g.m)).hex() == "fd8add2282c8a94dd14cee11ae8adcf0");
}

TEST_CASE("every difference in the material is a difference in the key") {
  const golden g;
  std::vector<std::string> keys{key_of(g.m).hex()};
  const auto differs = [&](const char* what, auto change) {
    golden other;
    change(other);
    const std::string k = key_of(other.m).hex();
    CAPTURE(what);
    CHECK(std::count(keys.begin(), keys.end(), k) == 0);
    keys.push_back(k);
  };
  static const std::vector<std::string> a_bc{"a", "bc"};
  static const std::vector<std::string> ab_c{"ab", "c"};
  static const std::vector<std::string> empty_argument{""};
  differs("task", [](golden& o) { o.m.task_id = "a#test"; });
  differs("platform", [](golden& o) { o.m.platform = "darwin-arm64"; });
  differs("portable", [](golden& o) { o.m.portable = true; });
  differs("workspace", [](golden& o) { o.m.workspace.raw[0] ^= std::byte{1}; });
  differs("manifest", [](golden& o) { o.m.manifest = "x"; });
  differs("empty manifest", [](golden& o) { o.m.manifest = ""; });
  differs("config", [](golden& o) { o.m.config.raw[15] ^= std::byte{1}; });
  differs("arguments", [&](golden& o) { o.m.forward = a_bc; });
  differs("arguments cut elsewhere", [&](golden& o) { o.m.forward = ab_c; });
  differs("an empty argument", [&](golden& o) { o.m.forward = empty_argument; });
  differs("env set to empty", [](golden& o) { o.m.env[1].value = ""; });
  differs("env set", [](golden& o) { o.m.env[1].value = "x"; });
  differs("env unlisted", [](golden& o) { o.m.env.pop_back(); });
  differs("runtime", [](golden& o) { o.m.runtime = {{"node -v", "20", ""}}; });
  differs("the same on stderr", [](golden& o) { o.m.runtime = {{"node -v", "", "20"}}; });
  differs("in the workspace's namespace", [](golden& o) { o.m.ws_runtime = {{"node -v", "20", ""}}; });
  differs("upstream", [](golden& o) { o.m.upstream = {digest128{}}; });
  differs("host", [](golden& o) { o.m.host = {{"lockfile", "x"}}; });
  differs("host, the other way round", [](golden& o) { o.m.host = {{"x", "lockfile"}}; });
  differs("input mode", [](golden& o) {
    o.identity = "100755:" + o.identity;
    o.inputs[0].identity = o.identity;
    o.m.inputs = o.inputs;
  });
  differs("input absent", [](golden& o) {
    o.inputs[0].identity = {};
    o.m.inputs = o.inputs;
  });
  differs("input path", [](golden& o) {
    o.inputs[0].path = "packages/a/src/y";
    o.m.inputs = o.inputs;
  });
  differs("no input", [](golden& o) { o.m.inputs = {}; });
}

TEST_CASE("the order and repetition of sets do not move the key") {
  golden a;
  a.m.env = {{"B", "1"}, {"A", "2"}, {"C", std::nullopt}};
  a.m.runtime = {{"y", "1", ""}, {"x", "2", ""}};
  a.m.host = {{"n", "2"}, {"n", "1"}};
  digest128 one{};
  one.raw[0] = std::byte{1};
  a.m.upstream = {one, digest128{}};
  golden b;
  b.m.env = {{"C", std::nullopt}, {"A", "2"}, {"B", "1"}, {"A", "2"}};
  b.m.runtime = {{"x", "2", ""}, {"y", "1", ""}, {"x", "2", ""}};
  b.m.host = {{"n", "1"}, {"n", "2"}, {"n", "1"}};
  b.m.upstream = {digest128{}, one, digest128{}};
  CHECK(task_key(a.m) == task_key(b.m));
}

TEST_CASE("a portable key ignores the platform") {
  golden a;
  golden b;
  a.m.portable = b.m.portable = true;
  b.m.platform = "darwin-arm64";
  CHECK(task_key(a.m) == task_key(b.m));
}

TEST_CASE("both sinks see the same walk") {
  golden g;
  static const std::vector<std::string> args{"x", "y"};
  g.m.forward = args;
  g.m.runtime = {{"node -v", "20", "warn"}};
  g.m.ws_runtime = {{"node -v", "20", ""}};
  g.m.upstream = {g.m.config};
  g.m.host = {{"lockfile", "z"}};
  record_sink seen;
  fold(g.m, seen);
  digest_sink virtually;
  fold(g.m, virtually);
  CHECK(xxh3_128(seen.bytes) == virtually.finish());
  CHECK(xxh3_128(seen.bytes) == task_key(g.m));
  CHECK(virtually.bytes() == seen.bytes.size());

  // Every component comes from an item of the stream, so removing any kind of material removes its rows and moves the key.
  const auto rows = explained(g.m);
  CHECK(rows.size() == 14);
  for (const char* name : {"format schema", "platform platform", "workspace fingerprint", "package package.json",
                           "config task config", "forward 1", "forward 2", "env API", "env MODE", "runtime node -v",
                           "ws-runtime node -v", "host lockfile", "file packages/a/src/x"}) {
    CAPTURE(name);
    CHECK(rows.count(name) == 1);
  }
}

TEST_CASE("explain keeps identities as they are and salts values") {
  golden g;
  g.m.env = {{"SECRET", "hunter2"}, {"GONE", std::nullopt}, {"EMPTY", ""}};
  g.m.host = {{"n", "v"}};
  g.m.runtime = {{"cmd", "out", "err"}};
  g.m.upstream = {g.m.config};
  digest128 salt{};
  salt.raw[3] = std::byte{7};
  const auto rows = explained(g.m, salt);
  CHECK(rows.at("format schema") == "vx-key-1");
  CHECK(rows.at("platform platform") == "linux-x64");
  CHECK(rows.at("workspace fingerprint") == g.m.workspace.hex());
  CHECK(rows.at("package package.json") == "absent");
  CHECK(rows.at("config task config") == g.m.config.hex());
  CHECK(rows.at("env GONE") == "unset");
  CHECK(rows.at("file packages/a/src/x") == g.identity);
  CHECK(rows.at("upstream " + g.m.config.hex()) == g.m.config.hex());
  byte_writer w;
  w.raw(salt.view());
  w.u16(0x000d);
  w.text32("hunter2");
  CHECK(rows.at("env SECRET") == xxh3_128(w.str()).hex());
  byte_writer p;
  p.raw(salt.view());
  p.u16(0x0011);
  p.text32("out");
  p.u16(0x0012);
  p.text32("err");
  CHECK(rows.at("runtime cmd") == xxh3_128(p.str()).hex());
  CHECK(rows.at("env EMPTY").size() == 32);
  CHECK(explained(g.m).at("env SECRET") != rows.at("env SECRET"));
  CHECK(explained(g.m).at("host n") != rows.at("host n"));
  CHECK(explained(g.m).at("file packages/a/src/x") == rows.at("file packages/a/src/x"));
}

TEST_CASE("explain names upstreams and sorts by kind and name") {
  golden g;
  digest128 one{};
  one.raw[0] = std::byte{1};
  g.m.upstream = {one, digest128{}};
  explain_sink sink({}, {{one, "lib#build"}, {digest128{}, "core#build"}});
  fold(g.m, sink);
  const std::vector<component> rows = sink.take();
  CHECK(std::is_sorted(rows.begin(), rows.end(), [](const component& a, const component& b) {
    return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
  }));
  const auto up = std::find_if(rows.begin(), rows.end(), [](const component& c) { return c.kind == component_kind::upstream; });
  REQUIRE(up != rows.end());
  CHECK(up->name == "core#build");
  CHECK(up->digest == digest128{}.hex());
  CHECK((up + 1)->name == "lib#build");
  CHECK(component_kind_name(component_kind::ws_runtime) == "ws-runtime");
  CHECK(component_kind_name(component_kind::format) == "format");
  CHECK(component_kind_name(component_kind::file) == "file");
}

TEST_CASE("the digest does not depend on how the stream is cut") {
  std::mt19937 rng(9);
  for (int i = 0; i < 300; ++i) {
    digest_sink digest;
    record_sink record;
    const std::size_t n = rng() % 40;
    for (std::size_t k = 0; k < n; ++k) {
      const std::string value(rng() % (i % 5 == 0 ? 20000 : 300), static_cast<char>('a' + k % 26));
      digest.item(tag::argument, value);
      record.item(tag::argument, value);
      digest.list(tag::env, static_cast<std::uint32_t>(k));
      record.list(tag::env, static_cast<std::uint32_t>(k));
    }
    CHECK(digest.bytes() == record.bytes.size());
    CHECK(digest.finish() == xxh3_128(record.bytes));
    CHECK(digest.ok());
  }
}

TEST_CASE("roll-ups are sorted by id and fingerprints keep their order") {
  const digest128 a = xxh3_128("a");
  const digest128 b = xxh3_128("b");
  CHECK(fold_rollup({{"x", a}, {"y", b}}) == fold_rollup({{"y", b}, {"x", a}}));
  CHECK(fold_rollup({{"x", a}, {"y", b}}) != fold_rollup({{"x", b}, {"y", a}}));
  CHECK(fold_rollup({}) != fold_fingerprint({}));
  const std::vector<std::pair<std::string, std::string>> p{{"a", "1"}, {"b", "2"}};
  const std::vector<std::pair<std::string, std::string>> q{{"b", "2"}, {"a", "1"}};
  CHECK(fold_fingerprint(p) != fold_fingerprint(q));
  CHECK(fold_scope("a", a) != fold_scope("b", a));
}

TEST_CASE("the platform is named by system and architecture") {
  const std::string p(host_platform());
  CHECK((p == "linux-x64" || p == "linux-arm64" || p == "darwin-x64" || p == "darwin-arm64"));
}

TEST_CASE("bench: 3,270 keys of 14 inputs" * doctest::skip()) {
  std::vector<std::string> paths;
  for (int i = 0; i < 14; ++i) paths.push_back("packages/group-07/package-0123/src/file" + std::to_string(i) + ".ts");
  const golden g;
  std::vector<input_item> inputs;
  for (const auto& p : paths) inputs.push_back({p, g.identity});
  task_material m;
  m.task_id = "@scope/package-0123#build";
  m.platform = "linux-x64";
  m.manifest = g.identity;
  m.inputs = inputs;
  m.upstream.resize(11);
  const std::clock_t begin = std::clock();
  unsigned sum = 0;
  for (int i = 0; i < 3270; ++i) sum += static_cast<unsigned>(task_key(m).raw[0]);
  const auto us = (std::clock() - begin) * 1000000 / CLOCKS_PER_SEC;
  MESSAGE("CPU us: " << us << " (" << sum << ")");
}
