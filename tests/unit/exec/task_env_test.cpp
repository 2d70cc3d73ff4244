#include "exec/task_env.hpp"

#include <doctest/doctest.h>

using vx::environment;
using vx::exec::build_probe_environment;
using vx::exec::build_task_environment;
using vx::exec::env_request;

namespace {
environment host(std::initializer_list<std::pair<const char*, const char*>> vars) {
  environment env;
  for (const auto& [name, value] : vars) env.set(name, value);
  return env;
}
env_request request(std::string project = "packages/a") {
  env_request r;
  r.root = "/ws";
  r.project_dir = std::move(project);
  r.task_id = "a#build";
  return r;
}
std::string joined(const std::vector<std::string>& block) {
  std::string out;
  for (const std::string& entry : block) out += entry + "\n";
  return out;
}
}  // namespace

TEST_CASE("only the allowlist, declared names and vx's own variables reach a task") {
  const environment env = host({{"PATH", "/usr/bin"}, {"HOME", "/h"}, {"FOO", "1"}, {"BAR", "2"}, {"CI", "1"}, {"TOKEN", "t"}});
  env_request r = request();
  r.pass_through = {"BAR", "ABSENT"};
  r.define = {{"D", "x y"}, {"HOME", "/defined"}};
  r.npm_execpath = "/bin/pnpm";
  const auto out = build_task_environment(env, r);
  CHECK(
      joined(out.block) ==
      "BAR=2\nCI=1\nD=x y\nFORCE_COLOR=1\nHOME=/defined\nPATH=/ws/packages/a/node_modules/.bin:/ws/node_modules/.bin:/usr/bin\n"
      "VX_RUN_TASK=a#build\nVX_RUN_WORKSPACE=/ws\nnpm_execpath=/bin/pnpm\n");
  CHECK(out.path == "/ws/packages/a/node_modules/.bin:/ws/node_modules/.bin:/usr/bin");
  CHECK(out.left_out.empty());
}

TEST_CASE("every allowlisted name is copied") {
  for (const char* name : {"HOME", "SHELL", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "LC_CTYPE", "TERM",
                           "COLORTERM", "FORCE_COLOR", "NO_COLOR", "CI", "NODE_OPTIONS", "COREPACK_HOME", "PNPM_HOME"}) {
    CAPTURE(name);
    CHECK(joined(build_task_environment(host({{name, "v"}}), request()).block).find(std::string(name) + "=v\n") !=
          std::string::npos);
  }
}

TEST_CASE("layers: a definition beats what is passed through") {
  env_request r = request();
  r.pass_through = {"X"};
  r.define = {{"X", "defined"}, {"npm_execpath", "own"}, {"VX_RUN_TASK", "forged"}};
  r.npm_execpath = "/bin/npm";
  const std::string block = joined(build_task_environment(host({{"X", "host"}}), r).block);
  CHECK(block.find("X=defined\n") != std::string::npos);
  CHECK(block.find("npm_execpath=own\n") != std::string::npos);
  CHECK(block.find("VX_RUN_TASK=a#build\n") != std::string::npos);
}

TEST_CASE("FORCE_COLOR is added unless the task hears of colours anyway") {
  struct row {
    std::vector<std::pair<const char*, const char*>> host, define;
    const char* expected;  // "" = not set
  };
  for (const row& r : {
           row{{}, {}, "1"},
           row{{{"NO_COLOR", ""}}, {}, "1"},
           row{{{"NO_COLOR", "1"}}, {}, ""},
           row{{{"FORCE_COLOR", "0"}}, {}, "0"},
           row{{{"FORCE_COLOR", ""}}, {}, ""},
           row{{}, {{"NO_COLOR", "1"}}, ""},
           row{{{"NO_COLOR", "1"}}, {{"NO_COLOR", ""}}, "1"},
           row{{}, {{"FORCE_COLOR", "3"}}, "3"},
       }) {
    environment env;
    for (const auto& [n, v] : r.host) env.set(n, v);
    env_request req = request();
    for (const auto& [n, v] : r.define) req.define.emplace_back(n, v);
    environment got;
    std::vector<const char*> raw;
    const auto block = build_task_environment(env, req).block;
    for (const auto& e : block) raw.push_back(e.c_str());
    raw.push_back(nullptr);
    CHECK(environment::of_pairs(raw.data()).get("FORCE_COLOR") == r.expected);
  }
}

TEST_CASE("bin directories lead PATH, once, and those with a colon are left out") {
  const environment env = host({{"PATH", "/usr/bin"}});
  CHECK(build_task_environment(env, request("")).path == "/ws/node_modules/.bin:/usr/bin");
  env_request colon = request("odd:name");
  const auto out = build_task_environment(env, colon);
  CHECK(out.path == "/ws/node_modules/.bin:/usr/bin");
  CHECK(out.left_out == std::vector<std::string>{"/ws/odd:name/node_modules/.bin"});
  colon.root = "/w:s";
  CHECK(build_task_environment(env, colon).path == "/usr/bin");
  CHECK(build_task_environment(env, colon).left_out.size() == 2);
  // No PATH at all: the programs of the system stay in reach.
  CHECK(build_task_environment({}, request("")).path == "/ws/node_modules/.bin:/usr/local/bin:/usr/bin:/bin");
  CHECK(build_task_environment(host({{"PATH", ""}}), request("")).path == "/ws/node_modules/.bin");
  env_request defined = request("");
  defined.define = {{"PATH", "/only"}};
  CHECK(build_task_environment(env, defined).path == "/ws/node_modules/.bin:/only");
}

TEST_CASE("probes see the whole environment with the bin directories first") {
  const environment env = host({{"PATH", "/usr/bin"}, {"FOO", "1"}});
  CHECK(joined(build_probe_environment(env, "/ws", "p", true)) ==
        "FOO=1\nPATH=/ws/p/node_modules/.bin:/ws/node_modules/.bin:/usr/bin\n");
  CHECK(joined(build_probe_environment(env, "/ws", "p", false)) == "FOO=1\nPATH=/ws/node_modules/.bin:/usr/bin\n");
}
