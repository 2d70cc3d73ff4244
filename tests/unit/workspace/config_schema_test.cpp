#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/json.hpp"
#include "key/digest.hpp"
#include "workspace/config_loader.hpp"

using namespace vx;
using namespace vx::workspace;

namespace {

json::value parsed(const std::string& text) {
  json::parse_options o;
  o.comments = true;
  auto v = json::parse(text, o);
  REQUIRE_MESSAGE(v.has_value(), (v ? std::string() : v.error().message));
  return std::move(*v);
}

result<project_config> project_of(const std::string& text, bool has_package_name = false,
                                  const char* file = "a/vx.config.json") {
  return validate_project(parsed(text), file, text, has_package_name);
}

struct refusal_case {
  std::string text;  ///< '@' marks where the caret must stand; none: no position
  std::vector<std::string> says;
  bool has_package_name = false;
};

void check_refused(const refusal_case& c, bool project) {
  std::string text = c.text;
  const std::size_t mark = text.find('@');
  if (mark != std::string::npos) text.erase(mark, 1);
  const std::string file = project ? "a/vx.config.json" : "vx.workspace.json";
  std::optional<failure> f;
  if (project) {
    auto r = validate_project(parsed(text), file, text, c.has_package_name);
    if (!r) f = r.error();
  } else {
    auto r = validate_workspace(parsed(text), file, text);
    if (!r) f = r.error();
  }
  CAPTURE(c.text);
  REQUIRE(f.has_value());
  CAPTURE(f->message);
  CHECK(f->code == errc::CONFIG);
  CHECK(f->path == file);
  CHECK(f->message.find('\n') == std::string::npos);
  for (const std::string& s : c.says) {
    CAPTURE(s);
    CHECK(f->message.find(s) != std::string::npos);
  }
  const auto details = json::parse(f->details);
  REQUIRE(details.has_value());
  CHECK(details->get("file")->as_string() == file);
  if (mark == std::string::npos) {
    CHECK(f->message.starts_with(file + ": "));
    CHECK(details->get("line") == nullptr);
    return;
  }
  const json::position p = json::locate(text, static_cast<std::uint32_t>(mark));
  CHECK(f->message.starts_with(file + ":" + std::to_string(p.line) + ":" + std::to_string(p.column) + ": "));
  CHECK(details->get("line")->as_int() == p.line);
  CHECK(details->get("column")->as_int() == p.column);
  CHECK(details->get("frame")->as_string().ends_with("^"));
}

std::string task(const std::string& body) { return R"({"tasks":{"build":)" + body + "}}"; }
std::string exec(const std::string& body) { return task(R"({"exec":{"command":"x",)" + body + "}}"); }
std::string cached(const std::string& inputs, const std::string& outputs, const std::string& more = "") {
  return task(R"({"exec":{"command":"x"},"cache":{"inputs":)" + inputs + R"(,"outputs":)" + outputs + more + "}}");
}
std::string in_glob(const std::string& list) { return cached(R"({"files":)" + list + "}", R"({"files":[]})"); }
std::string out_glob(const std::string& list) { return cached(R"({"files":[]})", R"({"files":)" + list + "}"); }

}  // namespace

TEST_CASE("a project config is refused with its field, its value and what to write") {
  const std::vector<refusal_case> cases = {
      {R"(@[])", {"the project config must be an object, not an array", "dependencies, name, tags, tasks"}},
      {R"(@3)", {"the project config must be an object, not 3"}},
      {R"({"tasks":@[]})", {"tasks must be an object keyed by task name, not []"}},
      {R"({"tags":@"x"})", {"tags must be an array of strings"}},
      {R"({"tags":["ok",@3]})", {"tags[1] must be a string, not 3"}},
      {R"({"tags":[@""]})", {"tags[0]", "is empty", "tag:"}},
      {R"({"tags":[@" a"]})", {"white space"}},
      {R"({"tags":[@"a*"]})", {"contains `*`"}},
      {R"({"tags":[@"a..."]})", {"ends in `...`"}},
      {R"({"tags":[@"a[main]"]})", {"ends in `[...]`"}},
      {R"({"name":@"a"})", {"name must be left out: the name comes from package.json"}, true},
      {R"({"name":@3})", {"name must be a string, not 3"}},
      {R"({"name":@""})", {"is empty"}},
      {R"({"name":@"a#b"})", {"contains `#`", "\"a#b\""}},
      {R"({"name":@"//"})", {"`//`"}},
      {R"({"name":@"!a"})", {"begins with `!`"}},
      {R"({"name":@"^a"})", {"begins with `^`"}},
      {R"({"name":@"{a"})", {"begins with `{`"}},
      {R"({"name":@"[a"})", {"begins with `[`"}},
      {R"({"name":@"./a"})", {"begins with `./`"}},
      {R"({"name":@"a..."})", {"ends in `...`"}},
      {R"({"name":@"a\u0000b"})", {"NUL"}},
      {R"({"dependencies":@{}})", {"dependencies must be an array of project names"}},
      {R"({"dependencies":[@""]})", {"dependencies[0] must be the name of a project"}},
      {R"({"name":"a","dependencies":["b",@"a"]})", {"dependencies[1] must name another project"}},
      {R"({"$schema":@1})", {"$schema must be a string"}},
      {R"({@"task":{}})",
       {"has no key \"task\" (did you mean tasks?)", "accepted keys: $schema, dependencies, name, tags, tasks"}},
      {R"({@"targets":{}})", {"has no key \"targets\"", "write them as `tasks`"}},
      {R"({@"extends":["//"]})", {"preset"}},
      {R"({@"implicitDependencies":[]})", {"`dependencies`"}},
      {R"({@"exec":{}})", {"tasks.<name>.exec"}},
      {R"({@"outputs":[]})", {"tasks.<name>.cache.outputs"}},
  };
  for (const refusal_case& c : cases) check_refused(c, true);
}

TEST_CASE("a task is refused at every level that does not fit") {
  const std::vector<refusal_case> cases = {
      {task(R"(@"tsc -b")"), {"tasks.build must be an object: write {\"exec\":{\"command\":\"tsc -b\"}}"}},
      {task("@null"), {"tasks.build must be an object, not null"}},
      {task("@7"), {"tasks.build must be an object, not 7"}},
      {task("@[]"), {"tasks.build must be an object, not an array; accepted keys: cache, dependsOn, description, exec"}},
      {task("@{}"), {"tasks.build has nothing to do: declare exec, dependsOn or cache"}},
      {task(R"(@{"description":"x"})"), {"has nothing to do"}},
      {R"({"tasks":{@"":{"dependsOn":[]}}})", {"tasks[\"\"] is no task name: it is empty"}},
      {R"({"tasks":{@" a":{"dependsOn":[]}}})", {"white space"}},
      {R"({"tasks":{@"a#b":{"dependsOn":[]}}})", {"contains `#`"}},
      {R"({"tasks":{@"a*":{"dependsOn":[]}}})", {"contains `*`"}},
      {R"({"tasks":{@"^a":{"dependsOn":[]}}})", {"begins with `^`"}},
      {R"({"tasks":{@"!a":{"dependsOn":[]}}})", {"begins with `!`"}},
      {task(R"({"dependsOn":[],"description":@1})"), {"tasks.build.description must be a string, not 1"}},
      {task(R"({"dependsOn":@"^build"})"), {"tasks.build.dependsOn must be an array of strings", "\"^task\"", "project#task"}},
      {task(R"({"dependsOn":["a",@2]})"), {"tasks.build.dependsOn[1]"}},
      {task(R"({"exec":@"tsc"})"), {"tasks.build.exec must be an object with a `command` string, not \"tsc\""}},
      {task(R"({"exec":@["tsc"]})"),
       {"not an array; accepted keys: command, env, interactive, persistent, remote, retries, sandbox, timeout"}},
      {task(R"({@"exce":{"command":"x"}})"), {"tasks.build has no key \"exce\" (did you mean exec?)"}},
      {task(R"({@"env":[]})"), {"tasks.build has no key \"env\"", "`exec.env`"}},
      {task(R"({@"outputs":[]})"), {"`cache.outputs`"}},
      {task(R"({@"persistent":true})"), {"`exec.persistent`"}},
      {task(R"({@"executor":"x"})"), {"`exec.command`"}},
      {task(R"({@"configurations":{}})"), {"one task for each configuration"}},
      {task(R"({"exec":{}})"), {"tasks.build.exec.command is required"}},
      {task(R"({"exec":{"command":@""}})"), {"tasks.build.exec.command must not be empty or blank"}},
      {task(R"({"exec":{"command":@" \t"}})"), {"must not be empty or blank"}},
      {task(R"({"exec":{"command":@"a\u0000"}})"), {"NUL"}},
      {task(R"({"exec":{"command":@["a"]}})"), {"must be a string", "&&"}},
      {task(R"({"exec":{@"cmd":"x"}})"), {"tasks.build.exec has no key \"cmd\"", "write it as `command`"}},
      {task(R"({"exec":{"command":"x",@"cwd":"y"}})"), {"cd dir &&"}},
      {exec(R"("timeout":@0)"), {"tasks.build.exec.timeout must be a positive integer", "not 0"}},
      {exec(R"("timeout":@-1)"), {"positive integer"}},
      {exec(R"("timeout":@1.5)"), {"positive integer", "1.5"}},
      {exec(R"("timeout":@"1s")"), {"positive integer", "\"1s\""}},
      {exec(R"("timeout":@2147483648)"), {"2147483648", "fires at once instead of never", "omit it for no limit"}},
      {exec(R"("retries":@-1)"), {"tasks.build.exec.retries must be an integer from 0"}},
      {exec(R"("retries":@true)"), {"must be an integer from 0"}},
      {exec(R"("persistent":@true)"), {"tasks.build.exec.persistent must be an object { readyWhen? }"}},
      {exec(R"("persistent":{"readyWhen":@3})"), {"readyWhen must be a string"}},
      {exec(R"X("persistent":{"readyWhen":@"(?<=x)y"})X"), {"tasks.build.exec.persistent.readyWhen"}},
      {exec(R"X("persistent":{"readyWhen":@"("})X"), {"readyWhen"}},
      {exec(R"("persistent":{@"ready":"x"})"), {"tasks.build.exec.persistent has no key \"ready\""}},
      {exec(R"("interactive":@1)"), {"tasks.build.exec.interactive must be true or false, not 1"}},
      {exec(R"("remote":@"never")"), {"must be true, false or \"only\""}},
      {exec(R"("env":@[])"), {"tasks.build.exec.env must be an object"}},
      {exec(R"("env":{@"pass":[]})"), {"tasks.build.exec.env has no key \"pass\""}},
      {exec(R"("env":{"passThrough":@"A"})"), {"must be an array of variable names"}},
      {exec(R"("env":{"passThrough":[@""]})"), {"empty"}},
      {exec(R"("env":{"passThrough":[@"A=1"]})"), {"without `=`"}},
      {exec(R"("env":{"passThrough":[@"NEXT_PUBLIC_*"]})"), {"wildcards"}},
      {exec(R"("env":{"passThrough":[@"!A"]})"), {"exclusions"}},
      {exec(R"("env":{"passThrough":[@"A-B"]})"), {"[A-Za-z_][A-Za-z0-9_]*"}},
      {exec(R"("env":{"passThrough":[@"1A"]})"), {"[A-Za-z_][A-Za-z0-9_]*"}},
      {exec(R"("env":{"define":@[]})"), {"must be an object of name to string"}},
      {exec(R"("env":{"define":{"A":@1}})"), {"tasks.build.exec.env.define.A must be a string"}},
      {exec(R"("env":{"define":{"A":@"x\u0000"}})"), {"NUL"}},
      {exec(R"("env":{"define":{@"A-B":"x"}})"), {"a shell drops"}},
      {exec(R"("env":{"secret":[@3]})"), {"tasks.build.exec.env.secret[0]"}},
      {exec(R"("sandbox":@true)"), {"tasks.build.exec.sandbox must be an object"}},
      {exec(R"("sandbox":{@"read":[]})"), {"tasks.build.exec.sandbox has no key \"read\""}},
      {exec(R"("sandbox":{"allow":{@"reads":[]}})"),
       {"tasks.build.exec.sandbox.allow has no key \"reads\" (did you mean read?)"}},
      {exec(R"("sandbox":{"allow":{"network":@false}})"), {"must be true or an array of host patterns"}},
      {exec(R"("sandbox":{"allow":{"network":[@"https://a.b"]}})"), {"scheme"}},
      {exec(R"("sandbox":{"allow":{"network":[@"a.b/c"]}})"), {"path"}},
      {exec(R"("sandbox":{"allow":{"network":[@"host"]}})"), {"no dot"}},
      {exec(R"("sandbox":{"allow":{"network":[@"a.b:0"]}})"), {"port"}},
      {exec(R"("sandbox":{"allow":{"network":[@"*"]}})"), {"every host"}},
      {exec(R"("sandbox":{"allow":{"network":[@"*.com"]}})"), {"top-level"}},
      {exec(R"("sandbox":{"allow":{"localBinding":[@70000]}})"), {"port"}},
      {exec(R"("sandbox":{"deny":{@"read":[]}})"), {"sandbox.deny has no key"}},
      {exec(R"("sandbox":{"ignore":{"read":@3}})"), {"sandbox.ignore.read must be an array"}},
      {exec(R"("sandbox":{"weakerWhenNested":@1})"), {"must be true or false"}},
  };
  for (const refusal_case& c : cases) check_refused(c, true);
}

TEST_CASE("fields that contradict each other are refused, naming both") {
  const std::string cache = R"(,"cache":{"inputs":{"files":[]},"outputs":{"files":[]}})";
  const std::vector<refusal_case> cases = {
      {task(R"({"exec":{"command":"x",@"persistent":{}})" + cache + "}"),
       {"tasks.build.exec.persistent cannot go with `cache`"}},
      {task(R"({"exec":{"command":"x",@"interactive":true})" + cache + "}"),
       {"tasks.build.exec.interactive cannot go with `cache`"}},
      {exec(R"("persistent":{},@"retries":1)"), {"tasks.build.exec.retries cannot go with `exec.persistent`"}},
      {exec(R"("interactive":true,@"sandbox":{})"), {"tasks.build.exec.sandbox cannot go with `exec.interactive`"}},
      {exec(R"("interactive":true,"persistent":{@"readyWhen":"x"})"), {"readyWhen cannot go with `exec.interactive`"}},
      {exec(R"(@"remote":"only")"), {"tasks.build.exec.remote can be \"only\" for a task with `cache` only"}},
      {task(R"({"cache":{"inputs":{"files":["a"]},"outputs":{@"files":["dist/**"]}}})"),
       {"cache.outputs.files must be empty: a task without exec writes nothing"}},
      {task(R"({"cache":{"inputs":{"files":["a"]},"outputs":{"files":[],@"workspaceFiles":["x"]}}})"),
       {"a task without exec writes nothing"}},
  };
  for (const refusal_case& c : cases) check_refused(c, true);
  CHECK(project_of(exec(R"("interactive":false,"sandbox":{})")).has_value());
  CHECK(project_of(exec(R"("interactive":true,"persistent":{})")).has_value());
  CHECK(project_of(task(R"({"exec":{"command":"x","remote":"only"})" + cache + "}")).has_value());
}

TEST_CASE("a cache block is refused with the list it wants") {
  const std::vector<refusal_case> cases = {
      {task(R"({"exec":{"command":"x"},"cache":@false})"),
       {"tasks.build.cache must be an object { inputs, outputs }", "not false"}},
      {task(R"({"exec":{"command":"x"},"cache":@[]})"),
       {"not an array; accepted keys: inputStability, inputs, outputs, portable"}},
      {task(R"({"exec":{"command":"x"},"cache":{"outputs":{"files":[]}}})"),
       {"tasks.build.cache.inputs is required when `cache` is set"}},
      {task(R"({"exec":{"command":"x"},"cache":{"inputs":{"files":[]}}})"),
       {"tasks.build.cache.outputs is required when `cache` is set"}},
      {cached(R"(@["src/**"])", R"({"files":[]})"),
       {"tasks.build.cache.inputs must be an object: write `{ files: [...] }`", "accepted keys: env, files, runtime"}},
      {cached(R"({"files":[]})", R"(@["dist/**"])"),
       {"tasks.build.cache.outputs must be an object: write `{ files: [...] }`", "accepted keys: files, workspaceFiles"}},
      {cached(R"({"env":[]})", R"({"files":[]})"), {"tasks.build.cache.inputs.files is required: write `[]` for none"}},
      {cached(R"({"files":[]})", R"({})"), {"tasks.build.cache.outputs.files is required"}},
      {cached(R"({"files":[],@"globs":[]})", R"({"files":[]})"), {"cache.inputs has no key \"globs\"", "`files`"}},
      {cached(R"({"files":[],@"exclude":[]})", R"({"files":[]})"), {"`!` entry"}},
      {cached(R"({"files":[]})", R"({"files":[],@"patterns":[]})"), {"cache.outputs has no key"}},
      {cached(R"({"files":[]})", R"({"files":[]})", R"(,@"enabled":true)"), {"a task without `cache` is never cached"}},
      {cached(R"({"files":[]})", R"({"files":[]})", R"(,"portable":@"yes")"),
       {"tasks.build.cache.portable must be true or false"}},
      {cached(R"({"files":[]})", R"({"files":[]})", R"(,"inputStability":{"strategy":@"never"})"),
       {"\"immutable\", \"mutable\" or \"unchecked\""}},
      {cached(R"({"files":[]})", R"({"files":[]})", R"(,"inputStability":{"severity":@"fatal"})"), {"\"warn\" or \"error\""}},
      {cached(R"({"files":[],"env":@"A"})", R"({"files":[]})"), {"cache.inputs.env must be an array of variable names"}},
      {cached(R"({"files":[],"env":[@"A*"]})", R"({"files":[]})"), {"exact name"}},
      {cached(R"({"files":[],"runtime":@"node -v"})", R"({"files":[]})"),
       {"cache.inputs.runtime must be an array of commands"}},
      {cached(R"({"files":[],"runtime":[@" "]})", R"({"files":[]})"),
       {"cache.inputs.runtime[0] must not be an empty or blank command"}},
      {cached(R"({"files":[],"workspaceRuntime":[@3]})", R"({"files":[]})"), {"must be a command string"}},
      {cached(R"({"files":[],"tasks":@"*"})", R"({"files":[]})"), {"cache.inputs.tasks must be an array"}},
      {cached(R"({"files":[],"tasks":[@""]})", R"({"files":[]})"), {"cache.inputs.tasks[0]", "empty"}},
      {cached(R"({"files":[],"tasks":[@"!a"]})", R"({"files":[]})"), {"begin with `*` or `^*`"}},
      {cached(R"({"files":@"src"})", R"({"files":[]})"), {"cache.inputs.files must be an array of globs"}},
      {cached(R"({"files":[@3]})", R"({"files":[]})"), {"cache.inputs.files[0] must be a glob string"}},
  };
  for (const refusal_case& c : cases) check_refused(c, true);
}

TEST_CASE("globs are refused with their entry and the spelling to write") {
  const std::vector<refusal_case> cases = {
      {in_glob(R"([@""])"), {"cache.inputs.files[0]"}},
      {in_glob(R"([@" "])"), {"cache.inputs.files[0]"}},
      {in_glob(R"(["a",@"."])"), {"cache.inputs.files[1]", "**"}},
      {in_glob(R"([@"./"])"), {"**"}},
      {in_glob(R"([@"/etc/x"])"), {"/etc/x"}},
      {in_glob(R"([@"../shared/**"])"), {"workspaceFiles"}},
      {in_glob(R"([@"a/../b"])"), {"a/../b"}},
      {in_glob(R"([@"{../shared,src}/**"])"), {"{../shared,src}/**"}},
      {in_glob(R"([@"src\\**"])"), {"slash"}},
      {in_glob(R"([@"C:/src"])"), {"C:/src"}},
      {in_glob(R"([@"src/{a,b"])"), {"brace"}},
      {in_glob(R"([@"{b}.ts"])"), {"b.ts"}},
      {in_glob(R"X([@"@(a|b)"])X"), {"{a,b}"}},
      {in_glob(R"([@"!!x"])"), {"!!x"}},
      {in_glob(R"(@["!x"])"), {"cache.inputs.files:", "positive"}},
      {in_glob(R"([@"$TURBO_DEFAULT$"])"), {"**"}},
      {in_glob(R"([@"{projectRoot}/src"])"), {"src"}},
      {in_glob(R"([@"^build"])"), {"dependsOn"}},
      {in_glob(R"(@["src/**","!src/gen/**","src/gen/keep.ts"])"), {"src/gen/keep.ts", "remove one"}},
      {out_glob(R"([@".git/hooks"])"), {".git"}},
      {out_glob(R"([@"a/.vx/b"])"), {".vx"}},
      {out_glob(R"([@"**"])"), {"cache.outputs.files[0]", "package.json", "!package.json"}},
      {out_glob(R"(["dist/**",@"*.json"])"), {"cache.outputs.files[1]", "package.json"}},
      {out_glob(R"([@"**","!package.json"])"), {"vx.config.json"}},
      {cached(R"({"files":[]})", R"({"files":[],"workspaceFiles":[@"a/**"]})"), {"workspaceFiles[0]", "!a/package.json"}},
      {cached(R"({"files":[@"src/**"]})", R"({"files":["src/**"]})"), {"cache.inputs.files[0]", "own outputs", "narrow"}},
      {cached(R"({"files":["lib/**",@"gen/a.ts"]})", R"({"files":["gen"]})"), {"cache.inputs.files[1]"}},
      {cached(R"({"files":[],"workspaceFiles":[@"a/gen/x"]})", R"({"files":["gen/**"]})"), {"cache.inputs.workspaceFiles[0]"}},
      {cached(R"({"files":[@"gen/x"]})", R"({"files":[],"workspaceFiles":["a/gen/**"]})"), {"cache.inputs.files[0]"}},
  };
  for (const refusal_case& c : cases) check_refused({c.text, c.says}, true);
  for (const std::string& fine :
       {in_glob(R"(["src/**","!src/gen/**"])"), in_glob(R"(["app/[id]/**","default"])"),
        out_glob(R"(["**","!package.json","!vx.config.json"])"), out_glob(R"(["node_modules/**"])"),
        cached(R"({"files":["src/**"]})", R"({"files":["src/gen/**"]})"),
        cached(R"({"files":["dist/fixture.html"]})", R"({"files":["dist/**","!dist/fixture.html"]})")}) {
    const auto r = project_of(fine);
    CHECK_MESSAGE(r.has_value(), fine, (r ? "" : r.error().message));
  }
}

TEST_CASE("cache.inputs.tasks entries must name dependencies of the task") {
  CHECK_FALSE(project_of(task(
      R"({"exec":{"command":"x"},"dependsOn":["gen"],"cache":{"inputs":{"files":[],"tasks":["gne"]},"outputs":{"files":[]}}})")));
  CHECK(project_of(task(
      R"({"exec":{"command":"x"},"dependsOn":["gen","^build"],"cache":{"inputs":{"files":[],"tasks":["gen","^build"]},"outputs":{"files":[]}}})")));
  CHECK(project_of(
      task(R"({"exec":{"command":"x"},"cache":{"inputs":{"files":[],"tasks":["*","^*","!^noisy"]},"outputs":{"files":[]}}})")));
}

TEST_CASE("a workspace config is refused with its field, its value and what to write") {
  const std::vector<refusal_case> cases = {
      {R"(@null)", {"the workspace config must be an object"}},
      {R"({"projects":@"a"})", {"projects must be an array"}},
      {R"({"projects":[@""]})", {"projects[0] must not be empty"}},
      {R"({"projects":[@1]})", {"projects[0]"}},
      {R"({"concurrency":@0})", {"concurrency must be a positive integer, not 0"}},
      {R"({"concurrency":@"50%"})", {"positive integer"}},
      {R"({"timeout":@0})", {"timeout must be a positive integer"}},
      {R"({"timeout":@99999999999})", {"fires at once"}},
      {R"({"cacheDir":@1})", {"cacheDir must be a string"}},
      {R"({"cacheDir":@" "})", {"cacheDir must be a directory of its own"}},
      {R"({"cacheDir":@"~"})", {"cacheDir must be a directory of its own"}},
      {R"({"cacheDir":@"a\u0000"})", {"NUL"}},
      {R"({"cacheRetention":@true})", {"cacheRetention must be false or an object"}},
      {R"({"cacheRetention":@{}})", {"cacheRetention must name a bound"}},
      {R"({"cacheRetention":{"maxSize":@500}})", {"cacheRetention.maxSize must be an integer with a unit"}},
      {R"({"cacheRetention":{"maxSize":@"1.5G"}})", {"maxSize"}},
      {R"({"cacheRetention":{"olderThan":@"30"}})", {"cacheRetention.olderThan"}},
      {R"({"cacheRetention":{@"maxAge":"3d"}})", {"cacheRetention has no key \"maxAge\""}},
      {R"({"affectedBase":@"-x"})", {"affectedBase"}},
      {R"({"affectedBase":@""})", {"affectedBase"}},
      {R"({"affectedBase":@"a b"})", {"affectedBase"}},
      {R"({"cacheScope":@"a b"})", {"cacheScope"}},
      {R"({"rules":{@"exclusive":true}})", {"rules has no key"}},
      {R"({"rules":{"upfrontKeys":@1}})", {"rules.upfrontKeys must be true or false"}},
      {R"({"lockfile":@"some"})", {"lockfile must be \"whole\" or \"closure\""}},
      {R"({"schedule":@"fast"})", {"\"critical-path\", \"most-work\", \"direct-dependents\" or \"ready-order\""}},
      {R"({"admission":@"cpu"})", {"admission must be \"memory\""}},
      {R"({"sandbox":{"require":@"none"}})", {"sandbox.require must be \"namespaces\" or \"any\""}},
      {R"({"telemetry":@true})", {"telemetry must be an object"}},
      {R"({"telemetry":{"otlp":{"endpoint":@"x"}}})", {"absolute http or https URL"}},
      {R"({"telemetry":{"otlp":{"endpoint":@"http://u:p@h/"}}})", {"user or password"}},
      {R"({"remoteCache":@"x"})", {"remoteCache must be an object with a `type`"}},
      {R"({"remoteCache":{}})", {"remoteCache.type is required", "turbo", "http", "s3", "nx", "reapi"}},
      {R"({"remoteCache":{"type":@"gcs"}})", {"\"turbo\", \"http\", \"s3\", \"nx\" or \"reapi\"", "\"gcs\""}},
      {R"({"remoteCache":{"type":"turbo",@"bucket":"x"}})", {"remoteCache has no key \"bucket\"", "team"}},
      {R"({"remoteCache":{"type":"turbo","url":@"http://u@h"}})", {"user or password"}},
      {R"({"remoteCache":{"type":"http","url":@"h"}})", {"absolute URL"}},
      {R"({"remoteCache":{"type":"nx","signature":@true}})", {"nx"}},
      {R"({"remoteCache":[{"type":"http"},{"type":"s3","budgetMs":@0}]})",
       {"remoteCache[1].budgetMs must be a positive integer"}},
      {R"({"remoteCache":{"type":"http","tokenEnv":@"a=b"}})", {"remoteCache.tokenEnv"}},
      {R"({@"concurency":3})", {"did you mean concurrency?"}},
      {R"({@"pipeline":{}})", {"vx.config"}},
      {R"({@"cacheDirectory":"x"})", {"`cacheDir`"}},
      {R"({@"globalEnv":[]})", {"cache.inputs.env"}},
      {R"({@"packages":[]})", {"`projects`"}},
  };
  for (const refusal_case& c : cases) {
    // '@' also occurs in a URL: the marker is the first one.
    check_refused(c, false);
  }
  CHECK(validate_workspace(parsed(R"({"remoteCache":{"type":"http","url":"http://u:p@h/"}})"), "vx.workspace.json", "")
            .has_value());
}

TEST_CASE("bounds of the cache keep their defaults unless they are named") {
  const auto load = [](const char* text) {
    return validate_workspace(parsed(text), "vx.workspace.json", text)->cache_retention;
  };
  CHECK(load("{}").older_than_ms == std::uint64_t{30} * 24 * 3600 * 1000);
  CHECK(load(R"({"cacheRetention":{"maxSize":0}})").max_bytes == std::nullopt);
  CHECK(load(R"({"cacheRetention":{"maxSize":0}})").older_than_ms == std::uint64_t{30} * 24 * 3600 * 1000);
  CHECK(load(R"({"cacheRetention":{"maxSize":"10B"}})").max_bytes == std::uint64_t{10});
  CHECK(load(R"({"cacheRetention":{"maxSize":"2gb","olderThan":"2D"}})").max_bytes == std::uint64_t{2} << 30);
  CHECK(load(R"({"cacheRetention":{"olderThan":"2D"}})").older_than_ms == std::uint64_t{2} * 24 * 3600 * 1000);
  CHECK(load(R"({"cacheRetention":{"olderThan":false}})").older_than_ms == std::nullopt);
  CHECK(load(R"({"cacheRetention":false})").max_bytes == std::nullopt);
}

TEST_CASE("the digest of a task covers its canonical text without exec.remote and cache.inputStability") {
  const std::string golden =
      R"({"cache":{"inputs":{"env":["API","MODE"],"files":["src/**"]},"outputs":{"files":["dist/**"]}},"exec":{"command":"true"}})";
  CHECK(canonical_task(parsed(golden)) == golden);
  const auto digest = [](const std::string& body) { return project_of(task(body))->tasks.front().digest.hex(); };
  CHECK(digest(golden) == "84ad148c1e4b37f4cf3a8a503d1c089b");
  // Another order, comments, fields that say where a task runs: the same task.
  CHECK(
      digest(
          R"({ /* c */ "exec":{"remote":false,"command":"true"},"cache":{"outputs":{"files":["dist/**"]},"inputStability":{"strategy":"mutable"},
                  "inputs":{"files":["src/**"],"env":["API","MODE"]}}})") == "84ad148c1e4b37f4cf3a8a503d1c089b");
  CHECK(
      digest(
          R"({"cache":{"inputs":{"env":["MODE","API"],"files":["src/**"]},"outputs":{"files":["dist/**"]}},"exec":{"command":"true"}})") !=
      "84ad148c1e4b37f4cf3a8a503d1c089b");
  CHECK(digest(R"({"description":"","exec":{"command":"true"}})") != digest(R"({"exec":{"command":"true"}})"));
}

TEST_CASE("the implicit build is a keyed group that reads everything and writes nothing") {
  const task_config t = implicit_build();
  CHECK(t.keyed_group());
  CHECK(t.implicit);
  CHECK(t.depends_on == std::vector<std::string>{"^build"});
  CHECK(t.input_files == std::vector<std::string>{"**"});
  CHECK(t.output_files.empty());
  CHECK(t.digest == project_of(task(R"({"dependsOn":["^build"],"cache":{"inputs":{"files":["**"]},"outputs":{"files":[]}}})"))
                        ->tasks.front()
                        .digest);
}

TEST_CASE("a validated task reads back field by field") {
  const auto p = project_of(R"({"tags":["t"],"name":"a","dependencies":["b"],"tasks":{
    "z":{"dependsOn":[]},
    "b":{"description":"d","dependsOn":["^b"],"exec":{"command":"c","timeout":5,"retries":0,"env":{"passThrough":["P"],"secret":["S"],"define":{"Y":"2","X":"1"}},"sandbox":{}},
         "cache":{"inputs":{"files":["f"],"workspaceFiles":["w"],"env":["E"],"runtime":["r"],"workspaceRuntime":["wr"],"tasks":[]},
                  "outputs":{"files":["o"],"workspaceFiles":["wo"]},"portable":true,"inputStability":{"strategy":"unchecked","severity":"error"}}},
    "s":{"exec":{"command":"s","persistent":{"readyWhen":"up"}}}}})");
  REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
  REQUIRE(p->tasks.size() == 3);
  const task_config& b = p->tasks[0];
  CHECK(b.name == "b");
  CHECK(p->tasks[1].name == "s");
  CHECK(p->tasks[2].is_group());
  CHECK(b.description == "d");
  CHECK(b.command == "c");
  CHECK(b.timeout_ms == 5u);
  CHECK(b.retries == 0u);
  CHECK(b.env_define == std::vector<std::pair<std::string, std::string>>{{"X", "1"}, {"Y", "2"}});
  CHECK(b.has_sandbox);
  CHECK(b.input_workspace_runtime == std::vector<std::string>{"wr"});
  CHECK(b.input_tasks == std::vector<std::string>{});
  CHECK(b.output_workspace_files == std::vector<std::string>{"wo"});
  CHECK(b.portable);
  CHECK(b.strategy == stability_strategy::unchecked);
  CHECK(b.severity == stability_severity::error);
  CHECK(p->tasks[1].persistent);
  CHECK(p->tasks[1].ready_when == "up");
  CHECK(p->dependencies == std::vector<std::string>{"b"});
}

TEST_CASE("a refusal in a script is found by its keys, and shows the line") {
  const std::string text =
      "export default {\n  tasks: {\n    build: { exec: { command: 'x', timeout: 0 } },\n    // timeout: 1\n    'a b': { exec: "
      "{ 'cmd': 'y' } },\n  },\n}\n";
  const auto r =
      validate_project(parsed(R"({"tasks":{"build":{"exec":{"command":"x","timeout":0}}}})"), "a/vx.config.ts", text, false);
  REQUIRE_FALSE(r);
  CHECK(r.error().message.starts_with("a/vx.config.ts:3:36: tasks.build.exec.timeout must be"));
  const auto details = json::parse(r.error().details);
  CHECK(details->get("frame")->as_string() ==
        "    build: { exec: { command: 'x', timeout: 0 } },\n" + std::string(35, ' ') + "^");
  CHECK(details->get("field")->as_string() == "tasks.build.exec.timeout");
  const auto s = validate_project(parsed(R"({"tasks":{"a b":{"exec":{"cmd":"y"}}}})"), "a/vx.config.ts", text, false);
  CHECK(s.error().message.starts_with("a/vx.config.ts:5:23: tasks[\"a b\"].exec has no key \"cmd\""));
  const auto nowhere = validate_project(parsed(R"({"tags":["a*"]})"), "a/vx.config.ts", text, false);
  CHECK(nowhere.error().message.starts_with("a/vx.config.ts: tags[0]"));
}
