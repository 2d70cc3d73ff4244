#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "workspace/overlap.hpp"

using namespace vx;
using workspace::project;
using workspace::project_config;
using workspace::task_config;

namespace {

using list = std::vector<std::string>;

/// A workspace whose tasks are all in the graph.
struct world {
  workspace::workspace ws;
  graph::task_graph g;
  graph::catalog c;
  std::vector<std::shared_ptr<project_config>> configs;
  std::vector<std::vector<std::uint32_t>> deps;

  std::uint32_t project(const std::string& name, const std::string& dir) {
    workspace::project p;
    p.name = name;
    p.dir = dir;
    ws.projects.push_back(p);
    configs.push_back(std::make_shared<project_config>());
    return static_cast<std::uint32_t>(configs.size() - 1);
  }
  std::uint32_t task(std::uint32_t in, const std::string& name, const list& outputs, const list& inputs = {},
                     const list& ws_outputs = {}, const list& ws_inputs = {}, const std::vector<std::uint32_t>& after = {}) {
    task_config t;
    t.name = name;
    t.has_exec = t.has_cache = true;
    t.output_files = outputs;
    t.input_files = inputs;
    t.output_workspace_files = ws_outputs;
    t.input_workspace_files = ws_inputs;
    configs[in]->tasks.push_back(t);
    g.nodes.push_back({in, 0, ws.projects[in].name + "#" + name, true, false});
    deps.push_back(after);
    return static_cast<std::uint32_t>(g.nodes.size() - 1);
  }
  status check() {
    for (std::size_t i = 0; i < configs.size(); ++i) {
      std::sort(configs[i]->tasks.begin(), configs[i]->tasks.end(),
                [](const task_config& a, const task_config& b) { return a.name < b.name; });
      ws.projects[i].config = configs[i];
    }
    g.edges = graph::dag(deps);
    return workspace::check_overlaps(ws, g, c);
  }
};

double milliseconds(world& w) {
  const std::clock_t start = std::clock();  // CPU time: a busy machine must not fail this
  const status s = w.check();
  const double ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK_MESSAGE(s.has_value(), (s ? "" : s.error().message));
  return ms;
}

}  // namespace

TEST_CASE("two tasks of one project may not own one path") {
  struct row {
    list a, b;
    bool refused;
  };
  const std::vector<row> rows = {
      {{"dist/**"}, {"dist/**"}, true},
      {{"dist"}, {"dist/app.js"}, true},
      {{"dist/app.js"}, {"dist"}, true},
      {{"dist/**"}, {"dist/extra/**"}, true},
      {{"dist/**"}, {"dist/*.js"}, true},
      {{"dist/*.js"}, {"dist/app.js"}, true},
      {{"out/{a,b}/**"}, {"out/b/x"}, true},
      {{"dist/*"}, {"dist/sub/**"}, false},
      {{"dist/**"}, {"dist2/**"}, false},
      {{"dist"}, {"dist2"}, false},
      {{"dist/**"}, {"lib/**", "types/**"}, false},
      {{"dist/**", "!dist/extra/**"}, {"dist/extra/**"}, false},
      {{"dist/extra/**"}, {"dist/**", "!dist/extra"}, false},
      {{"dist/**", "!dist/extra/a.js"}, {"dist/extra/**"}, true},
      {{"**/*.js"}, {"**/*.css"}, false},
      {{"**/*.js"}, {"src/a.js"}, true},
      {{}, {}, false},
  };
  for (const row& r : rows) {
    world w;
    const auto p = w.project("web", "apps/web");
    w.task(p, "build", r.a);
    w.task(p, "bundle", r.b);
    const status s = w.check();
    CAPTURE(r.a.empty() ? "" : r.a.front());
    CAPTURE(r.b.empty() ? "" : r.b.front());
    CHECK(s.has_value() == !r.refused);
    if (s) continue;
    CHECK(s.error().code == errc::CONFIG);
    CHECK(s.error().message.find("web#build") != std::string::npos);
    CHECK(s.error().message.find("web#bundle") != std::string::npos);
    CHECK(s.error().message.find("directory of its own") != std::string::npos);
    // Without a path between them the rule can't be switched off, so it is not offered.
    CHECK(s.error().message.find("rules.exclusiveOutputs") == std::string::npos);
  }
}

TEST_CASE("projects may use one name for their outputs") {
  world w;
  const auto a = w.project("a", "packages/a");
  const auto b = w.project("b", "packages/b");
  const auto root = w.project("root", "");
  w.task(a, "build", {"dist/**"});
  w.task(b, "build", {"dist/**"});
  w.task(root, "build", {"packages/a/dist/**"});  // project-relative globs never reach into a nested project
  CHECK(w.check().has_value());
}

TEST_CASE("with a path between them the rule decides") {
  for (const bool on : {true, false}) {
    world w;
    const auto p = w.project("web", "apps/web");
    const auto first = w.task(p, "build", {"dist/**"});
    const auto mid = w.task(p, "middle", {});
    w.deps[mid] = {first};
    w.task(p, "post", {"dist/post/**"}, {}, {}, {}, {mid});
    w.ws.settings.exclusive_outputs = on;
    const status s = w.check();
    CHECK(s.has_value() == !on);
    if (!s) CHECK(s.error().message.find("rules.exclusiveOutputs") != std::string::npos);
  }
}

TEST_CASE("root-relative outputs meet each other and every project's outputs") {
  struct row {
    list ws_a, files_b, ws_b;
    bool refused;
  };
  const std::vector<row> rows = {
      {{"gen/**"}, {}, {"gen/x"}, true},
      {{"gen/a/**"}, {}, {"gen/b/**"}, false},
      {{"packages/b/dist/x"}, {"dist/**"}, {}, true},
      {{"packages/*/dist/x"}, {"dist/x"}, {}, true},
      {{"packages/c/dist/**"}, {"dist/**"}, {}, false},
      {{"packages/**"}, {"dist"}, {}, true},
      {{"packages/b/inner/dist/**"}, {"**/dist/**"}, {}, false},  // inner is a project of its own
  };
  for (const row& r : rows) {
    world w;
    const auto a = w.project("a", "packages/a");
    const auto b = w.project("b", "packages/b");
    w.project("inner", "packages/b/inner");
    w.task(a, "gen", {}, {}, r.ws_a);
    w.task(b, "build", r.files_b, {}, r.ws_b);
    CAPTURE(r.ws_a.front());
    CHECK(w.check().has_value() == !r.refused);
  }
}

TEST_CASE("with the rule off a root-relative glob of an additive task must start inside its dependency's project") {
  for (const bool inside : {true, false}) {
    world w;
    const auto a = w.project("a", "packages/a");
    const auto b = w.project("b", "packages/b");
    const auto first = w.task(a, "build", {"dist/**"});
    w.task(b, "post", {}, {}, {inside ? "packages/a/dist/post/**" : "packages/**"}, {}, {first});
    w.ws.settings.exclusive_outputs = false;
    CHECK(w.check().has_value() == inside);
  }
}

TEST_CASE("a cached task may not read what another task writes, edge or not") {
  struct row {
    list inputs, outputs;
    bool refused;
  };
  const std::vector<row> rows = {
      {{"**"}, {"dist/**"}, true},
      {{"**", "!dist/**"}, {"dist/**"}, false},
      {{"**", "!dist"}, {"dist/**"}, false},
      {{"**", "!dist/a"}, {"dist/**"}, true},
      {{"src/**"}, {"dist/**"}, false},
      {{"src/**"}, {"src/gen/**"}, true},
      {{"src/*.ts"}, {"src/gen/**"}, false},
      {{"dist"}, {"dist/x"}, true},
      {{"**"}, {"tsconfig.tsbuildinfo"}, false},
      {{"**/*.ts"}, {"dist/*.js"}, false},
  };
  for (const row& r : rows) {
    for (const bool edge : {false, true}) {
      world w;
      const auto p = w.project("web", "apps/web");
      const auto writer = w.task(p, "build", r.outputs);
      w.task(p, "test", {}, r.inputs, {}, {}, edge ? std::vector<std::uint32_t>{writer} : std::vector<std::uint32_t>{});
      const status s = w.check();
      CAPTURE(r.inputs.front());
      CAPTURE(r.outputs.front());
      CHECK(s.has_value() == !r.refused);
      if (!s) {
        CHECK(s.error().message.find("web#test") != std::string::npos);
        CHECK(s.error().message.find("web#build") != std::string::npos);
        CHECK(s.error().message.find("\"!" + r.outputs.front() + "\"") != std::string::npos);
        CHECK(s.error().message.find("rules.upfrontKeys") != std::string::npos);
      }
      w.ws.settings.upfront_keys = false;
      CHECK(w.check().has_value());
    }
  }
}

TEST_CASE("a task's own outputs are subtracted from its inputs, and tasks without cache read what they like") {
  world w;
  const auto p = w.project("web", "apps/web");
  w.task(p, "build", {"dist/**"}, {"**"});
  w.task(p, "lint", {}, {"src/**"});
  w.task(p, "dev", {}, {"**"});
  w.configs[p]->tasks.back().has_cache = false;
  CHECK(w.check().has_value());
  w.task(p, "group", {}, {"**"});
  w.configs[p]->tasks.back().has_exec = false;
  CHECK(w.check().has_value());
}

TEST_CASE("root-relative inputs and outputs cross projects") {
  struct row {
    list files_a, ws_a, files_b, ws_out_b;
    bool refused;
  };
  const std::vector<row> rows = {
      {{}, {"packages/b/dist/**"}, {"dist/**"}, {}, true},
      {{}, {"packages/*/dist/**"}, {"dist/**"}, {}, true},
      {{}, {"packages/**", "!packages/b/dist/**"}, {"dist/**"}, {}, false},
      {{}, {"tsconfig.json"}, {"dist/**"}, {}, false},
      {{}, {"gen/**"}, {}, {"gen/x"}, true},
      {{"src/**"}, {}, {}, {"packages/a/src/gen.ts"}, true},
      {{"src/**"}, {}, {}, {"packages/b/src/gen.ts"}, false},
      {{"src/**", "!src/gen.ts"}, {}, {}, {"packages/a/src/gen.ts"}, false},
  };
  for (const row& r : rows) {
    world w;
    const auto a = w.project("a", "packages/a");
    const auto b = w.project("b", "packages/b");
    w.task(a, "test", {}, r.files_a, {}, r.ws_a);
    w.task(b, "build", r.files_b, {}, r.ws_out_b);
    CAPTURE(r.files_a.empty() ? r.ws_a.front() : r.files_a.front());
    CHECK(w.check().has_value() == !r.refused);
  }
}

TEST_CASE("an output of the root project's own files is not an input of a member") {
  world w;
  const auto root = w.project("root", "");
  const auto a = w.project("a", "packages/a");
  w.task(root, "scan", {}, {"**"});
  w.task(a, "build", {"dist/**"}, {"src/**"});
  CHECK(w.check().has_value());
}

TEST_CASE("large projects are compared through an index, not pair by pair") {
  // All pairs of these would be billions of comparisons: minutes, not seconds, on any machine.
  constexpr double k_seconds = 8000;
  SUBCASE("4,000 literals") {
    world w;
    const auto p = w.project("web", "apps/web");
    for (int i = 0; i < 4000; ++i) w.task(p, "t" + std::to_string(i), {"out/file" + std::to_string(i) + ".js"});
    CHECK(milliseconds(w) < k_seconds);
  }
  SUBCASE("50,000 trees, each task reading its own sources") {
    world w;
    const auto p = w.project("web", "apps/web");
    for (int i = 0; i < 50000; ++i)
      w.task(p, "t" + std::to_string(i), {"out/" + std::to_string(i) + "/**"}, {"src/" + std::to_string(i) + "/**"});
    CHECK(milliseconds(w) < k_seconds);
  }
  SUBCASE("50,000 wildcards under one head") {
    world w;
    const auto p = w.project("web", "apps/web");
    for (int i = 0; i < 50000; ++i)
      w.task(p, "t" + std::to_string(i), {"out/*-" + std::to_string(i) + ".js"}, {"src/**", "!out"});
    CHECK(milliseconds(w) < k_seconds);
  }
  SUBCASE("1,000 projects that share root files") {
    world w;
    for (int i = 0; i < 1000; ++i) {
      const auto p = w.project("p" + std::to_string(i), "packages/p" + std::to_string(i));
      w.task(p, "build", {"dist/**"}, {"src/**"}, {}, {"tsconfig.base.json", "config/**"});
      w.task(p, "test", {}, {"src/**", "test/**"}, {}, {"tsconfig.base.json", "jest/" + std::to_string(i) + ".js"});
    }
    CHECK(milliseconds(w) < k_seconds);
  }
}
