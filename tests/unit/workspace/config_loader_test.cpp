#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.hpp"
#include "memory_memo.hpp"
#include "support/temp_dir.hpp"
#include "workspace/config_codec.hpp"
#include "workspace/config_loader.hpp"

using namespace vx;
using namespace vx::workspace;
using vx::test::memory_memo;
using vx::test::temp_dir;

namespace {

const char* const k_simple = R"({"tasks":{"build":{"exec":{"command":"x"}}}})";

/// A round over one file with a fresh loader.
result<std::shared_ptr<const project_config>> load_one(const temp_dir& root, const std::string& path, eval_memo* memo = nullptr,
                                                       bool named = false) {
  static const environment env = environment::of_process();
  config_loader loader({root.path(), &env, memo, nullptr});
  auto out = loader.load({{"a", path, named}});
  loader.finish();
  CHECK_FALSE(loader.started_runtime());
  return std::move(out.front());
}

/// Stamps younger than the racy window are not trusted; the file system's own clock says when it has passed.
void settle(const temp_dir& root, const std::string& name) {
  struct stat st {};
  for (;;) {
    REQUIRE(::lstat((root / name).c_str(), &st) == 0);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t age = (now.tv_sec - st.st_ctim.tv_sec) * 1'000'000'000LL + now.tv_nsec - st.st_ctim.tv_nsec;
    if (age > 60'000'000) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(61'000'000 - age));
  }
}

}  // namespace

TEST_CASE("JSON configs take comments, trailing commas, a byte-order mark, CRLF and $schema, whatever their ending") {
  const temp_dir root;
  const std::string text =
      "\xEF\xBB\xBF{\r\n  // one\r\n  \"$schema\": \"x\", /* two */\r\n  \"tasks\": { \"build\": { \"exec\": { \"command\": "
      "\"x\", }, }, },\r\n}\r\n";
  for (const char* name : {"a/vx.config.json", "a/vx.config.jsonc"}) {
    root.write(name, text);
    const auto r = load_one(root, name);
    REQUIRE_MESSAGE(r.has_value(), (r ? "" : r.error().message));
    CHECK((*r)->tasks.size() == 1);
    CHECK((*r)->reads == std::vector<std::string>{name});
    CHECK((*r)->path == name);
  }
}

TEST_CASE("JSON that is none is refused with its place") {
  struct row {
    std::string text;
    std::vector<std::string> says;
  };
  std::string deep;
  for (int i = 0; i < 600; ++i) deep += "[";
  const std::vector<row> rows = {
      {"{\n  \"tasks\": {,}\n}", {"a/vx.config.json:2:13: "}},
      {"{\n  \"tasks\": {},\n  \"tasks\": {}\n}", {"a/vx.config.json:3:3: ", "duplicate key \"tasks\"", "2:3"}},
      {"{\"tags\":[\"\\ud800\"]}", {"a/vx.config.json:1:", "surrogate"}},
      {"{\"tags\":[\"\xFF\"]}", {"a/vx.config.json:1:", "UTF-8"}},
      {"", {"a/vx.config.json:1:1: "}},
      {"{\"a\":" + deep, {"a/vx.config.json:1:"}},
      {"[]", {"a/vx.config.json:1:1: the project config must be an object"}},
      {"{'tasks':{}}", {"a/vx.config.json:1:2: "}},
  };
  for (const row& r : rows) {
    const temp_dir root;
    root.write("a/vx.config.json", r.text);
    const auto got = load_one(root, "a/vx.config.json");
    CAPTURE(r.text.substr(0, 80));
    REQUIRE_FALSE(got.has_value());
    CAPTURE(got.error().message);
    CHECK(got.error().code == errc::CONFIG);
    for (const std::string& s : r.says) CHECK(got.error().message.find(s) != std::string::npos);
    CHECK(json::parse(got.error().details)->get("frame") != nullptr);
  }
}

TEST_CASE("a config that can't be read is a file-system failure that names it") {
  const temp_dir root;
  const auto gone = load_one(root, "a/vx.config.json");
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().code == errc::FS);
  CHECK(gone.error().path == "a/vx.config.json");
  root.mkdir("a/vx.config.json");
  CHECK_FALSE(load_one(root, "a/vx.config.json").has_value());
}

TEST_CASE("the first spelling wins and the others are named") {
  const temp_dir root;
  for (const char* name :
       {"vx.config.jsonc", "vx.config.mjs", "vx.config.cts", "vx.config.txt", "vx.configx.ts", "vx.workspace.json"})
    root.write(std::string("a/") + name, "{}");
  root.mkdir("a/vx.config.ts");
  std::vector<std::string> others;
  CHECK(config_loader::find(root.path(), "a", "vx.config", &others) == "a/vx.config.cts");
  CHECK(others == std::vector<std::string>{"a/vx.config.mjs", "a/vx.config.jsonc"});
  CHECK(config_loader::find(root.path(), "a", "vx.workspace") == "a/vx.workspace.json");
  CHECK(config_loader::find(root.path(), "b", "vx.config") == std::nullopt);
  root.write("vx.config.json", "{}");
  CHECK(config_loader::find(root.path(), "", "vx.config") == "vx.config.json");
}

TEST_CASE("an unchanged config is served from the memo and a changed one is not") {
  const temp_dir root;
  memory_memo memo;
  root.write("a/vx.config.json", k_simple);
  settle(root, "a/vx.config.json");
  const auto first = load_one(root, "a/vx.config.json", &memo);
  REQUIRE(memo.stored == 1);
  const auto second = load_one(root, "a/vx.config.json", &memo);
  CHECK(memo.stored == 1);
  CHECK((*second)->json == (*first)->json);
  CHECK((*second)->tasks.front().digest == (*first)->tasks.front().digest);
  CHECK((*second)->reads == (*first)->reads);

  // Equal size, other bytes: the stamps tell.
  root.write("a/vx.config.json", R"({"tasks":{"build":{"exec":{"command":"y"}}}})");
  CHECK((*load_one(root, "a/vx.config.json", &memo))->tasks.front().command == "y");
  // Just written: a later write could leave the stamps alone, so nothing was stored.
  CHECK(memo.stored == 1);
  root.write("a/vx.config.json", "{");
  CHECK_FALSE(load_one(root, "a/vx.config.json", &memo).has_value());
}

TEST_CASE("a torn or foreign memo row is evaluated again") {
  const temp_dir root;
  memory_memo memo;
  root.write("a/vx.config.json", k_simple);
  settle(root, "a/vx.config.json");
  REQUIRE(load_one(root, "a/vx.config.json", &memo).has_value());
  const eval_memo::row good = memo.rows.begin()->second;
  for (std::size_t cut = 0; cut < good.json.size(); cut += 7) {
    memo.rows.begin()->second.json = good.json.substr(0, cut);
    const auto r = load_one(root, "a/vx.config.json", &memo);
    REQUIRE(r.has_value());
    CHECK((*r)->tasks.size() == 1);
  }
  for (std::size_t cut = 0; cut < good.trace.size(); ++cut) {
    memo.rows.begin()->second = good;
    memo.rows.begin()->second.trace = good.trace.substr(0, cut);
    const std::size_t before = memo.stored;
    CHECK(load_one(root, "a/vx.config.json", &memo).has_value());
    CHECK(memo.stored == before + 1);
  }
}

TEST_CASE("a stored config with a name is looked at again once package.json gives the name") {
  const temp_dir root;
  memory_memo memo;
  root.write("a/vx.config.json", R"({"name":"a"})");
  settle(root, "a/vx.config.json");
  REQUIRE(load_one(root, "a/vx.config.json", &memo).has_value());
  const auto r = load_one(root, "a/vx.config.json", &memo, true);
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().message.find("package.json") != std::string::npos);
}

TEST_CASE("a config keeps every field in its stored form") {
  const std::string text = R"({"tags":["t"],"name":"a","dependencies":["b"],"tasks":{
    "b":{"description":"","dependsOn":["^b"],"exec":{"command":"c","timeout":5,"retries":0,"interactive":false,"env":{"passThrough":["P"],"secret":["S"],"define":{"X":"1"}},"sandbox":{}},
         "cache":{"inputs":{"files":["f"],"workspaceFiles":["w"],"env":["E"],"runtime":["r"],"workspaceRuntime":["wr"],"tasks":[]},
                  "outputs":{"files":["o"],"workspaceFiles":["wo"]},"portable":true,"inputStability":{"strategy":"mutable","severity":"error"}}},
    "g":{"dependsOn":[]},"s":{"exec":{"command":"s","persistent":{"readyWhen":"up"}}}}})";
  auto p = validate_project(*json::parse(text), "a/vx.config.json", text, false);
  REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
  p->reads = {"a/vx.config.json", "x"};
  project_config q;
  const std::string raw = encode_project(*p);
  REQUIRE(decode_project(raw, q));
  CHECK(encode_project(q) == raw);
  CHECK(q.tasks.size() == 3);
  CHECK(q.tasks[0].description == "");
  CHECK(q.tasks[0].strategy == stability_strategy::mutable_);
  CHECK(q.tasks[0].input_tasks == std::vector<std::string>{});
  CHECK(q.tasks[2].ready_when == "up");
  for (std::size_t cut = 0; cut < raw.size(); ++cut) {
    project_config torn;
    CHECK_FALSE(decode_project(std::string_view(raw).substr(0, cut), torn));
  }
}

TEST_CASE("results come in request order, and one broken config leaves the others alone") {
  const temp_dir root;
  const environment env;
  std::vector<config_file> files;
  for (int i = 0; i < 60; ++i) {
    const std::string dir = "p" + std::to_string(i);
    root.write(dir + "/vx.config.json", i == 7 ? "{" : R"({"name":")" + dir + "\"}");
    files.push_back({dir, dir + "/vx.config.json", false});
  }
  config_loader loader({root.path(), &env, nullptr, nullptr});
  const auto out = loader.load(files);
  REQUIRE(out.size() == 60);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i == 7) {
      CHECK_FALSE(out[i].has_value());
    } else {
      CHECK((*out[i])->name == files[i].dir);
    }
  }
}

TEST_CASE("the workspace config reads its rules and refuses a cache directory that holds projects") {
  const temp_dir root;
  const environment env;
  root.write("packages/a/package.json", "{}");
  root.write("package.json", "{}");
  const auto load = [&](const std::string& text) {
    root.write("vx.workspace.jsonc", text);
    config_loader loader({root.path(), &env, nullptr, nullptr});
    return loader.load_workspace("vx.workspace.jsonc");
  };
  const auto good = load(
      R"({"projects":["crates/*"],"rules":{"upfrontKeys":false},"cacheDir":".cache/vx","concurrency":3,"schedule":"most-work"})");
  REQUIRE_MESSAGE(good.has_value(), (good ? "" : good.error().message));
  CHECK_FALSE(good->upfront_keys);
  CHECK(good->exclusive_outputs);
  CHECK(good->concurrency == 3u);
  CHECK(good->schedule == "most-work");
  CHECK(good->reads == std::vector<std::string>{"vx.workspace.jsonc"});
  for (const char* dir : {".", "..", "/", "packages", "packages/a", "./packages/../packages"}) {
    const auto r = load(std::string(R"({"cacheDir":")") + dir + "\"}");
    CAPTURE(dir);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().message.find("cacheDir") != std::string::npos);
  }
  CHECK(load(R"({"cacheDir":"~/vx"})").has_value());
  CHECK(load(R"({"cacheDir":"/nowhere/vx"})").has_value());
}
