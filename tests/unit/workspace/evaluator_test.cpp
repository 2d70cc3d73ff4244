// Real runtimes evaluate real configs here. `node` on PATH (or VX_NODE) is needed; without one the cases say so and pass.
// VX_TEST_NODE_MODULES: a node_modules directory that holds esbuild or typescript (before 7), or several separated by ':'; the
// TypeScript cases run once for each, and are left out without it unless the runtime strips types itself.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/path.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "memory_memo.hpp"
#include "support/temp_dir.hpp"
#include "workspace/config_loader.hpp"

using namespace vx;
using namespace vx::workspace;
using vx::test::memory_memo;
using vx::test::temp_dir;

namespace {

std::string runtime() {
  const environment env = environment::of_process();
  return env.find("VX_NODE") != nullptr ? env.get("VX_NODE") : find_program(env, "node");
}

#define NEED_RUNTIME()                               \
  if (runtime().empty()) {                           \
    MESSAGE("no JavaScript runtime: case left out"); \
    return;                                          \
  }

struct round {
  std::vector<result<std::shared_ptr<const project_config>>> results;
  bool started = false;
};

round evaluate(const temp_dir& root, const std::vector<std::string>& paths, eval_memo* memo = nullptr,
               environment env = environment::of_process()) {
  config_loader loader({root.path(), &env, memo, nullptr});
  std::vector<config_file> files;
  for (const std::string& p : paths) files.push_back({std::string(path::parent(p)), p, false});
  round r;
  r.results = loader.load(files);
  loader.finish();
  r.started = loader.started_runtime();
  return r;
}

std::string command_of(const result<std::shared_ptr<const project_config>>& r, std::string_view task = "build") {
  if (!r) return "refused: " + r.error().message;
  for (const task_config& t : (*r)->tasks) {
    if (t.name == task) return t.command;
  }
  return "no task";
}

std::string refusal_of(const result<std::shared_ptr<const project_config>>& r) {
  return r ? "accepted: " + (*r)->json : r.error().message;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Everything just written leaves the racy window, so that evaluations are stored.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

const std::string k_build = "export default { tasks: { build: { exec: { command: 'x' } } } }\n";

}  // namespace

TEST_CASE("a script config yields the same canonical text and digest as its JSON twin") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("a/vx.config.mjs",
             "import { defineProject } from '@vzn/vx/config'\nimport * as vx from '@vzn/vx'\n"
             "const config = Promise.resolve({ tasks: { build: { description: undefined, exec: { timeout: 1000, command: 'x' } "
             "} }, tags: ['\\u00e9', 'b'] })\n"
             "if (typeof vx.defineWorkspace !== 'function') throw new Error('no defineWorkspace')\nexport default "
             "defineProject(config)\n");
  root.write("b/vx.config.cjs",
             "const { defineProject } = require('@vzn/vx')\nmodule.exports = defineProject({ tags: ['\\u00e9', 'b'], tasks: { "
             "build: { exec: { command: 'x', timeout: 1e3 } } } })\n");
  root.write(
      "c/vx.config.jsonc",
      "{ \"tags\": [\"\xC3\xA9\", \"b\"], \"tasks\": { \"build\": { \"exec\": { \"command\": \"x\", \"timeout\": 1000 } } } }");
  const round r = evaluate(root, {"a/vx.config.mjs", "b/vx.config.cjs", "c/vx.config.jsonc"});
  CHECK(r.started);
  for (const auto& one : r.results) {
    REQUIRE_MESSAGE(one.has_value(), refusal_of(one));
    CHECK((*one)->json == (*r.results[2])->json);
    CHECK((*one)->tasks.front().digest == (*r.results[2])->tasks.front().digest);
    CHECK((*one)->volatile_reasons.empty());
  }
}

TEST_CASE("a default export that is no data is refused with its inner path and kind") {
  NEED_RUNTIME();
  struct row {
    std::string value;
    std::vector<std::string> says;
  };
  const std::vector<row> rows = {
      {"{ tasks: { b: () => 1 } }", {"tasks.b is a function", "JSON"}},
      {"{ tasks: { b: { exec: { command: NaN } } } }", {"tasks.b.exec.command is NaN"}},
      {"{ tags: [-Infinity] }", {"tags[0] is -Infinity"}},
      {"{ tags: [1n] }", {"tags[0] is a bigint"}},
      {"{ tags: [Symbol('x')] }", {"tags[0] is a symbol"}},
      {"{ tags: ['a', undefined] }", {"tags[1] is undefined in an array"}},
      {"{ tags: ['a', , 'b'] }", {"tags[1] is undefined in an array"}},
      {"{ tasks: new Map() }", {"tasks is a Map object"}},
      {"{ tasks: { b: new Date(0) } }", {"tasks.b is a Date object"}},
      {"{ tags: [/x/] }", {"tags[0] is a RegExp object"}},
      {"new (class Preset { })()", {"is a Preset object"}},
      {"{ get tags() { throw new Error('invoked') } }", {"tags is a getter"}},
      {"{ set tags(x) {} }", {"tags is a setter"}},
      {"(() => { const o = {}; o.tasks = { self: o }; return o })()", {"tasks.self is a cycle"}},
      {"{ tags: ['\\ud800'] }", {"tags[0] is a string with a lone surrogate"}},
      {"{ [Symbol('s')]: 1 }", {"symbol key"}},
      {"() => ({})", {"exports a function: export what it returns"}},
      {"Promise.resolve(() => 1)", {"exports a function"}},
      {"null", {"must export an object, not null"}},
      {"[]", {"must export an object, not an array"}},
      {"'x'", {"must export an object, not string"}},
      {"undefined", {"must export an object, not undefined"}},
      {"{ tasks: { b: { exce: {} } } }", {"tasks.b has no key \"exce\"", "did you mean exec?"}},
  };
  const temp_dir root;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    paths.push_back("p" + std::to_string(i) + "/vx.config.mjs");
    root.write(paths.back(), "export default " + rows[i].value + "\n");
  }
  const round r = evaluate(root, paths);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string got = refusal_of(r.results[i]);
    CAPTURE(rows[i].value);
    CAPTURE(got);
    REQUIRE_FALSE(r.results[i].has_value());
    CHECK(r.results[i].error().code == errc::CONFIG);
    CHECK(got.starts_with(paths[i] + ":"));
    for (const std::string& s : rows[i].says) CHECK(holds(got, s));
  }
}

TEST_CASE("a config that does not evaluate names itself, the file at fault and the place") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("lib/broken.mjs", "export const a = 1\nexport const b = (\n");
  root.write("lib/good.mjs", "export const a = 1\n");
  const std::vector<std::pair<std::string, std::vector<std::string>>> rows = {
      {"export const a = 1\n", {"no default export", "export default defineProject"}},
      {"module.exports = 1\n", {"vx.config.mjs:1:1: ReferenceError: module is not defined"}},
      {"\nexport default {{\n", {"vx.config.mjs:2:17: SyntaxError"}},
      {"import '../lib/broken.mjs'\nexport default {}\n",
       {"lib/broken.mjs:3:1: ", "SyntaxError", "(loading p3/vx.config.mjs)"}},
      {"import x from './gone.mjs'\nexport default {}\n",
       {"vx.config.mjs:1:15: cannot resolve \"./gone.mjs\"", "no such file"}},
      {"import x from 'no-such-package'\nexport default {}\n",
       {"vx.config.mjs:1:15: cannot resolve \"no-such-package\"", "install dependencies first"}},
      {"import { zzz } from '../lib/good.mjs'\nexport default {}\n", {"zzz"}},
      {"\n\nthrow new Error('told\\nyou')\n", {"vx.config.mjs:3:7: Error: told"}},
      {"export default Promise.reject(new Error('later'))\n", {"Error: later"}},
      {"throw 'text'\n", {"threw 'text'"}},
      {"export default new Promise(() => {})\n", {"never finishes"}},
      {"await new Promise(() => {})\nexport default {}\n", {"never finishes"}},
      {"setTimeout(() => { throw new Error('late') }, 1)\nexport default new Promise((r) => setTimeout(r, 5000))\n",
       {"Error: late"}},
      {"export default await import('nope-dynamic')\n", {"cannot resolve \"nope-dynamic\""}},
  };
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    paths.push_back("p" + std::to_string(i) + "/vx.config.mjs");
    root.write(paths.back(), rows[i].first);
  }
  paths.push_back("last/vx.config.mjs");
  root.write(paths.back(), k_build);
  const round r = evaluate(root, paths);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string got = refusal_of(r.results[i]);
    CAPTURE(rows[i].first);
    CAPTURE(got);
    CHECK_FALSE(r.results[i].has_value());
    CHECK_FALSE(holds(got, "\n"));
    for (const std::string& s : rows[i].second) CHECK(holds(got, s));
  }
  CHECK(command_of(r.results.back()) == "x");
}

TEST_CASE("Yarn PnP is named when a package can't be found") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write(".pnp.cjs", "");
  root.write("a/vx.config.mjs", "import 'left-pad'\nexport default {}\n");
  const std::string got = refusal_of(evaluate(root, {"a/vx.config.mjs"}).results[0]);
  CHECK(holds(got, "PnP"));
  CHECK(holds(got, "nodeLinker: node-modules"));
}

TEST_CASE("a config that ends or hangs the runtime fails alone") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("a/vx.config.mjs", "process.exit(3)\n");
  root.write("b/vx.config.mjs", k_build);
  root.write("c/vx.config.mjs", "process.kill(process.pid, 'SIGKILL')\nawait new Promise((r) => setTimeout(r, 60000))\n");
  root.write("d/vx.config.mjs", k_build);
  root.write("e/vx.config.mjs", "for (;;) {}\n");
  root.write("f/vx.config.mjs", k_build);
  environment env = environment::of_process();
  env.set("VX_CONFIG_WORKER_TIMEOUT_MS", "500");
  const std::int64_t start = mono_ns();
  const round r = evaluate(
      root, {"a/vx.config.mjs", "b/vx.config.mjs", "c/vx.config.mjs", "d/vx.config.mjs", "e/vx.config.mjs", "f/vx.config.mjs"},
      nullptr, env);
  CHECK(mono_ns() - start < 20'000'000'000);
  CHECK(holds(refusal_of(r.results[0]), "a/vx.config.mjs: calls process.exit(3)"));
  CHECK(command_of(r.results[1]) == "x");
  CHECK(holds(refusal_of(r.results[2]), "c/vx.config.mjs: took the JavaScript runtime down: it was killed by signal 9"));
  CHECK(command_of(r.results[3]) == "x");
  CHECK(holds(refusal_of(r.results[4]), "e/vx.config.mjs: is not evaluated after 500ms"));
  CHECK(command_of(r.results[5]) == "x");
}

TEST_CASE("no runtime is refused with the config and the ways without one") {
  const temp_dir root;
  root.write("a/vx.config.mjs", k_build);
  root.write("b/vx.config.json", "{}");
  environment env;
  env.set("PATH", root.path());
  const round r = evaluate(root, {"a/vx.config.mjs", "b/vx.config.json"}, nullptr, env);
  CHECK_FALSE(r.started);
  const std::string got = refusal_of(r.results[0]);
  for (const char* s : {"a/vx.config.mjs: ", "VX_NODE", ".json", "--frozen"}) CHECK(holds(got, s));
  CHECK(r.results[1].has_value());
  env.set("VX_NODE", "/no/such/node");
  CHECK(holds(refusal_of(evaluate(root, {"a/vx.config.mjs"}, nullptr, env).results[0]), "/no/such/node"));
  env.set("VX_NODE", "/bin/true");
  CHECK(holds(refusal_of(evaluate(root, {"a/vx.config.mjs"}, nullptr, env).results[0]), "/bin/true can't evaluate configs"));
}

TEST_CASE("a cancel ends the round") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("a/vx.config.mjs", "for (;;) {}\n");
  root.write("b/vx.config.mjs", k_build);
  const environment env = environment::of_process();
  cancel_token cancel;
  config_loader loader({root.path(), &env, nullptr, &cancel});
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cancel.request(2);
  });
  const auto out = loader.load({{"a", "a/vx.config.mjs", false}, {"b", "b/vx.config.mjs", false}});
  stopper.join();
  for (const auto& r : out) {
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == errc::CANCELLED);
  }
}

TEST_CASE("a shared preset is instantiated for each config, a package once") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("preset.mjs", "let n = 0\nexport const next = () => String(++n)\n");
  root.write("node_modules/counter/package.json", R"({"name":"counter","type":"module","exports":"./index.js"})");
  root.write("node_modules/counter/index.js", "let n = 0\nexport const next = () => 'pkg' + ++n\n");
  root.write("packages/linked/package.json", R"({"name":"linked","type":"module","main":"index.js"})");
  root.write("packages/linked/index.js", "let n = 0\nexport const next = () => 'linked' + ++n\n");
  root.symlink("../packages/linked", "node_modules/linked");
  const std::string text =
      "import { next } from '../preset.mjs'\nimport * as counter from 'counter'\nimport { next as linked } from "
      "'linked'\nconst again = await import('../preset.mjs')\n"
      "export default { tasks: { build: { exec: { command: next() + again.next() } }, pkg: { exec: { command: counter.next() } "
      "}, linked: { exec: { command: linked() } } } }\n";
  root.write("a/vx.config.mjs", text);
  root.write("b/vx.config.mjs", text);
  const round r = evaluate(root, {"a/vx.config.mjs", "b/vx.config.mjs"});
  CHECK(command_of(r.results[0]) == "12");
  CHECK(command_of(r.results[1]) == "12");
  CHECK(command_of(r.results[0], "pkg") == "pkg1");
  CHECK(command_of(r.results[1], "pkg") == "pkg2");
  CHECK(command_of(r.results[0], "linked") == "linked1");
  CHECK(command_of(r.results[1], "linked") == "linked1");
}

TEST_CASE("CommonJS, ES modules, JSON and cycles load together") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("package.json", "{}");
  root.write("node_modules/old/package.json", R"({"name":"old","main":"main.js"})");
  root.write("node_modules/old/main.js", "exports.word = require('./part').word");
  root.write("node_modules/old/part.js", "exports.word = 'old'");
  root.write("data.json", R"({"word":"json"})");
  root.write("a/one.mjs", "import { two } from './two.mjs'\nexport const one = () => 'one' + two\n");
  root.write("a/two.mjs", "import { one } from './one.mjs'\nexport const two = 'two' + (() => typeof one).length\n");
  root.write("a/local.cjs",
             "const data = require('../data.json')\nmodule.exports = { word: 'local' + data.word, path: "
             "require('path').basename(__filename) }\n");
  root.write("a/vx.config.js",
             "import { one } from './one.mjs'\nimport local, { word } from './local.cjs'\nimport { word as old } from "
             "'old'\nimport data from '../data.json' with { type: 'json' }\n"
             "import { fileURLToPath } from 'node:url'\nimport path from 'path'\n"
             "export default { tasks: { build: { exec: { command: [one(), local.path, word, old, data.word, "
             "path.basename(fileURLToPath(import.meta.url)), path.basename(import.meta.dirname)].join(' ') } } } }\n");
  root.write("b/vx.config.js",
             "const local = require('../a/local.cjs')\nexports.tasks = { build: { exec: { command: local.word + "
             "require('old').word } } }\n");
  const round r = evaluate(root, {"a/vx.config.js", "b/vx.config.js"});
  CHECK(command_of(r.results[0]) == "onetwo0 local.cjs localjson old json vx.config.js a");
  CHECK(command_of(r.results[1]) == "localjsonold");
}

TEST_CASE("a stored evaluation is served until something it consulted changes") {
  NEED_RUNTIME();
  const temp_dir root;
  memory_memo memo;
  root.write("preset.mjs", "export const word = 'p'\n");
  root.write("node_modules/dep/package.json", R"({"name":"dep","main":"i.js"})");
  root.write("node_modules/dep/i.js", "exports.word = require('./j').word");
  root.write("node_modules/dep/j.js", "exports.word = 'd'");
  root.write("x.json", R"({"v":1})");
  root.mkdir("list");
  root.write("list/one", "");
  root.write("a/vx.config.mjs",
             "import fs, { existsSync } from 'node:fs'\nimport { word } from '../preset.mjs'\nimport dep from 'dep'\n"
             "const at = (n) => new URL('../' + n, import.meta.url)\n"
             "const parts = [word, dep.word, JSON.parse(fs.readFileSync(at('x.json'), 'utf8')).v, existsSync(at('flag')), "
             "process.env.FOO ?? 'unset', 'BAZ' in process.env,\n"
             "  fs.readdirSync(at('list')).length, fs.statSync(at('list')).isDirectory()]\n"
             "export default { tasks: { build: { exec: { command: parts.join(' ') } } } }\n");
  root.write("b/vx.config.mjs", k_build);
  environment env = environment::of_process();
  env.unset("FOO");
  env.unset("BAZ");
  const auto run = [&] {
    settle();
    return evaluate(root, {"a/vx.config.mjs", "b/vx.config.mjs"}, &memo, env);
  };
  round r = run();
  REQUIRE(command_of(r.results[0]) == "p d 1 false unset false 1 true");
  CHECK((*r.results[0])->volatile_reasons.empty());
  REQUIRE(memo.stored == 2);
  const std::vector<std::string>& reads = (*r.results[0])->reads;
  for (const char* name : {"a/vx.config.mjs", "preset.mjs", "x.json", "flag", "node_modules/dep/j.js"}) {
    CAPTURE(name);
    CHECK(std::find(reads.begin(), reads.end(), name) != reads.end());
  }
  const std::string json = (*r.results[0])->json;

  const auto served = [&] {
    const round again = run();
    CHECK(command_of(again.results[1]) == "x");
    return !again.started;
  };
  CHECK(served());
  env.set("BAR", "1");
  root.write("unrelated", "x");
  CHECK(served());

  struct change {
    const char* what;
    std::function<void()> make;
    const char* then;
  };
  const std::vector<change> changes = {
      {"preset", [&] { root.write("preset.mjs", "export const word = 'q'\n"); }, "q d 1 false unset false 1 true"},
      {"package file", [&] { root.write("node_modules/dep/j.js", "exports.word = 'e'"); }, "q e 1 false unset false 1 true"},
      {"data", [&] { root.write("x.json", R"({"v":2})"); }, "q e 2 false unset false 1 true"},
      {"flag", [&] { root.write("flag", ""); }, "q e 2 true unset false 1 true"},
      {"variable", [&] { env.set("FOO", "f"); }, "q e 2 true f false 1 true"},
      {"empty variable", [&] { env.set("FOO", ""); }, "q e 2 true  false 1 true"},
      {"tested variable", [&] { env.set("BAZ", ""); }, "q e 2 true  true 1 true"},
      {"listing", [&] { root.write("list/two", ""); }, "q e 2 true  true 2 true"},
      {"nested package",
       [&] {
         root.write("a/node_modules/dep/package.json", R"({"name":"dep","main":"k.js"})");
         root.write("a/node_modules/dep/k.js", "exports.word = 'near'");
       },
       "q near 2 true  true 2 true"},
  };
  for (const change& c : changes) {
    CAPTURE(c.what);
    c.make();
    const round fresh = run();
    CHECK(fresh.started);
    CHECK(command_of(fresh.results[0]) == c.then);
    CHECK(served());
  }
  // The same bytes under new stamps still hold.
  root.sh("touch preset.mjs && cp -p x.json y && mv y x.json");
  CHECK(served());
}

TEST_CASE("what can't be traced makes a config volatile, with the reason") {
  NEED_RUNTIME();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"new Date().getFullYear()", "clock"},
      {"Date.now()", "clock"},
      {"performance.now()", "clock"},
      {"process.hrtime.bigint()", "clock"},
      {"Math.random()", "randomness"},
      {"(await import('node:crypto')).randomUUID()", "randomness"},
      {"crypto.randomUUID()", "randomness"},
      {"(await import('node:child_process')).execSync('true')", "process"},
      {"(await import('node:os')).hostname()", "host"},
      {"(await import('node:fs')).writeFileSync(new URL('./out', import.meta.url), 'x')", "writes files"},
      {"(await import('node:fs/promises')).mkdir(new URL('./d', import.meta.url))", "writes files"},
      {"process.pid", "process.pid"},
      {"await fetch('http://127.0.0.1:1/').catch(() => 0)", "network"},
  };
  const temp_dir root;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    paths.push_back("p" + std::to_string(i) + "/vx.config.mjs");
    root.write(paths.back(), "const v = " + rows[i].first + "\nexport default { tags: [String(typeof v)] }\n");
  }
  paths.push_back("calm/vx.config.mjs");
  root.write(paths.back(),
             "import os from 'node:os'\nconst d = new Date(0)\nexport default { tags: [os.EOL.length + os.platform() + "
             "d.getTime() + (d instanceof Date) + (d.constructor === Date)] }\n");
  settle();
  memory_memo memo;
  const round r = evaluate(root, paths, &memo);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i].first);
    REQUIRE_MESSAGE(r.results[i].has_value(), refusal_of(r.results[i]));
    const auto& why = (*r.results[i])->volatile_reasons;
    REQUIRE(why.size() >= 1);
    CHECK(std::any_of(why.begin(), why.end(), [&](const std::string& w) { return holds(w, rows[i].second); }));
    CHECK(memo.rows.count(paths[i]) == 0);
  }
  REQUIRE_MESSAGE(r.results.back().has_value(), refusal_of(r.results.back()));
  CHECK((*r.results.back())->volatile_reasons.empty());
  CHECK(memo.rows.count("calm/vx.config.mjs") == 1);
}

TEST_CASE("facts of a package loaded for one config reach every config that loads it") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("node_modules/env/package.json", R"({"name":"env","type":"module","exports":"./i.js"})");
  root.write("node_modules/env/i.js", "import { deep } from 'deep'\nexport const word = deep + (process.env.FOO ?? '')\n");
  root.write("node_modules/deep/package.json", R"({"name":"deep","main":"i.js"})");
  root.write("node_modules/deep/i.js", "exports.deep = process.env.BAR ?? 'none'");
  for (const char* dir : {"a", "b"})
    root.write(std::string(dir) + "/vx.config.mjs", "import { word } from 'env'\nexport default { tags: [word || 'x'] }\n");
  root.write("c/vx.config.mjs", "export default { tags: ['c'] }\n");
  settle();
  memory_memo memo;
  environment env = environment::of_process();
  env.unset("FOO");
  env.unset("BAR");
  const std::vector<std::string> all = {"a/vx.config.mjs", "b/vx.config.mjs", "c/vx.config.mjs"};
  REQUIRE(evaluate(root, all, &memo, env).results[1].has_value());
  CHECK_FALSE(evaluate(root, all, &memo, env).started);
  env.set("BAR", "changed");
  const round r = evaluate(root, all, &memo, env);
  CHECK((*r.results[0])->tags.front() == "changed");
  CHECK((*r.results[1])->tags.front() == "changed");
  env.set("FOO", "f");
  CHECK((*evaluate(root, {"b/vx.config.mjs"}, &memo, env).results[0])->tags.front() == "changedf");
  CHECK_FALSE(evaluate(root, {"c/vx.config.mjs"}, &memo, env).started);
}

TEST_CASE("a config's environment, output and directory stay its own") {
  NEED_RUNTIME();
  const temp_dir root;
  environment env = environment::of_process();
  env.set("FOO", "before");
  env.set("NODE_EXTRA_CA_CERTS", "/certs.pem");
  root.write("a/vx.config.mjs", "process.env.FOO = 'after'\nprocess.chdir('/')\nexport default { tags: [process.env.FOO] }\n");
  root.write("b/vx.config.mjs", "export default { tags: [process.env.FOO, process.cwd(), process.env.NODE_EXTRA_CA_CERTS] }\n");
  const round r = evaluate(root, {"a/vx.config.mjs", "b/vx.config.mjs"}, nullptr, env);
  REQUIRE_MESSAGE(r.results[0].has_value(), refusal_of(r.results[0]));
  CHECK((*r.results[0])->tags == std::vector<std::string>{"after"});
  REQUIRE_MESSAGE(r.results[1].has_value(), refusal_of(r.results[1]));
  CHECK((*r.results[1])->tags == std::vector<std::string>{"before", root.path(), "/certs.pem"});
}

TEST_CASE("a workspace config in a script is evaluated once and served afterwards") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("vx.workspace.mjs",
             "import { defineWorkspace } from '@vzn/vx/config'\nexport default defineWorkspace({ projects: ['crates/*'], "
             "concurrency: 2 })\n");
  settle();
  memory_memo memo;
  const environment env = environment::of_process();
  for (const bool first : {true, false}) {
    config_loader loader({root.path(), &env, &memo, nullptr});
    const auto w = loader.load_workspace("vx.workspace.mjs");
    REQUIRE_MESSAGE(w.has_value(), (w ? "" : w.error().message));
    CHECK(w->projects == std::vector<std::string>{"crates/*"});
    CHECK(w->concurrency == 2u);
    loader.finish();
    CHECK(loader.started_runtime() == first);
  }
  root.write("vx.workspace.mjs", "export default { concurency: 2 }\n");
  config_loader loader({root.path(), &env, &memo, nullptr});
  const auto w = loader.load_workspace("vx.workspace.mjs");
  REQUIRE_FALSE(w.has_value());
  CHECK(holds(w.error().message, "vx.workspace.mjs:1:18: the workspace config has no key \"concurency\""));
}

TEST_CASE("TypeScript configs load by every route with one result") {
  NEED_RUNTIME();
  std::vector<std::string> routes;
  const std::string given = environment::of_process().get("VX_TEST_NODE_MODULES");
  for (const std::string_view dir : text::split(given, ':')) {
    if (!dir.empty()) routes.emplace_back(dir);
  }
  const temp_dir probe;
  const bool strips = [&] {
    subprocess_options o;
    o.program = runtime();
    o.args = {"-p", "typeof require('module').stripTypeScriptTypes"};
    o.env = environment::of_process().to_block();
    const auto out = run_subprocess(o);
    return out && holds(out->out, "function");
  }();
  if (strips) routes.emplace_back("");
  if (routes.empty()) MESSAGE("VX_TEST_NODE_MODULES is not set and the runtime strips no types: TypeScript left out");
  for (const std::string& modules : routes) {
    CAPTURE(modules);
    const temp_dir root;
    if (!modules.empty()) root.symlink(modules, "node_modules");
    root.write("preset.ts",
               "export enum Kind { A = 'enum-a' }\nexport type Word = string\nexport const word: Word = 'w'\nexport default "
               "function make<T>(x: T): T { return x }\n");
    root.write("a/vx.config.ts",
               "import { defineProject } from '@vzn/vx/config'\nimport make, { Kind, word, type Word } from "
               "'../preset'\nimport { helper } from './helper.js'\n"
               "const w: Word = word\nclass C { constructor(readonly x: string) {} }\n"
               "export default defineProject({ tasks: { build: { exec: { command: make<string>(`${Kind.A} ${w} ${helper "
               "satisfies string} ${new C('p').x}`) } } } } as const)\n");
    root.write("a/helper.ts", "export const helper: string = 'h'\n");
    root.write(
        "b/vx.config.mts",
        "import data from '../data.json'\nexport default { tasks: { build: { exec: { command: data.v as string } } } }\n");
    root.write("data.json", R"({"v":"json"})");
    root.write("c/vx.config.cts",
               "const { word } = require('../plain') as { word: string }\nmodule.exports = { tasks: { build: { exec: { "
               "command: word } } } }\n");
    root.write("plain.cts", "const word: string = 'w'\nexports.word = word\n");
    root.write("d/vx.config.ts", "export default {\n  tasks: { a: (},\n}\n");
    settle();
    memory_memo memo;
    const std::vector<std::string> all = {"a/vx.config.ts", "b/vx.config.mts", "c/vx.config.cts", "d/vx.config.ts"};
    const round r = evaluate(root, all, &memo);
    CHECK(command_of(r.results[0]) == "enum-a w h p");
    CHECK(command_of(r.results[1]) == "json");
    CHECK(command_of(r.results[2]) == "w");
    CHECK(holds(refusal_of(r.results[3]), "d/vx.config.ts"));
    CHECK(holds(refusal_of(r.results[3]), "yntax error"));
    for (std::size_t i = 0; i < 3; ++i) {
      REQUIRE_MESSAGE(r.results[i].has_value(), refusal_of(r.results[i]));
      CHECK((*r.results[i])->volatile_reasons == std::vector<std::string>{});
    }
    CHECK(memo.rows.size() == 3);
    CHECK_FALSE(evaluate(root, {"a/vx.config.ts", "b/vx.config.mts", "c/vx.config.cts"}, &memo).started);
  }
}

TEST_CASE("TypeScript without any way to read it is refused with the remedies") {
  NEED_RUNTIME();
  const temp_dir root;
  root.write("a/vx.config.ts", "export default { tags: ['a' as string] }\n");
  const auto r = evaluate(root, {"a/vx.config.ts"}).results[0];
  if (r) return;  // this runtime strips types
  for (const char* s : {"a/vx.config.ts", "TypeScript", "esbuild", "typescript", ".mjs", ".jsonc"})
    CHECK(holds(refusal_of(r), s));
}

TEST_CASE("a hundred configs that share a preset are evaluated in one child and served without one") {
  NEED_RUNTIME();
  const temp_dir root;
  memory_memo memo;
  root.write("preset.mjs", "export const task = (c) => ({ exec: { command: c } })\n");
  std::vector<std::string> paths;
  for (int i = 0; i < 100; ++i) {
    paths.push_back("p" + std::to_string(i) + "/vx.config.mjs");
    root.write(paths.back(), "import { task } from '../preset.mjs'\nexport default { tasks: { build: task('x" +
                                 std::to_string(i) + "') } }\n");
  }
  settle();
  round r = evaluate(root, paths, &memo);
  CHECK(r.started);
  CHECK(memo.rows.size() == 100);
  r = evaluate(root, paths, &memo);
  CHECK_FALSE(r.started);
  CHECK(command_of(r.results[99]) == "x99");
  root.write("preset.mjs", "export const task = (c) => ({ exec: { command: 'new ' + c } })\n");
  r = evaluate(root, paths, &memo);
  CHECK(r.started);
  for (int i = 0; i < 100; ++i) CHECK(command_of(r.results[static_cast<std::size_t>(i)]) == "new x" + std::to_string(i));
}
