// Whole runs in process, on real little workspaces.
#include "run/run.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <map>
#include <thread>

#include "key/fold.hpp"
#include "run/plan.hpp"
#include "run/show.hpp"
#include "support/temp_dir.hpp"
#include "workspace/workspace.hpp"

using namespace vx;

namespace {

/// A git workspace with a private store and a private lock directory.
struct bed {
  test::temp_dir dir;
  std::string root;

  explicit bed(bool git = true) {
    dir.write("home/.keep", "");
    dir.write("ws/package.json", R"({"name":"root","private":true,"workspaces":["packages/*"]})");
    dir.write("ws/.gitignore", "dist/\n.vx/\n");
    root = dir / "ws";
    if (git)
      dir.sh("cd ws && git init -q && git config user.email a@b.c && git config user.name n && git add -A && git commit -qm 1");
  }
  void package(const std::string& name, const std::string& tasks, const std::string& deps = "{}") const {
    dir.write("ws/packages/" + name + "/package.json",
              R"({"name":")" + name + R"(","version":"1.0.0","dependencies":)" + deps + "}");
    dir.write("ws/packages/" + name + "/vx.config.json", R"({"tasks":)" + tasks + "}");
    dir.write("ws/packages/" + name + "/src/x", name + "\n");
  }
  std::shared_ptr<const run::host> host(const std::string& cwd = {}) const {
    auto h = std::make_shared<run::host>();
    h->root = root;
    h->cwd = cwd.empty() ? root : cwd;
    h->platform = key::host_platform();
    h->env = environment::of_process();
    h->env.set("HOME", dir / "home");
    h->env.set("TMPDIR", dir / "home");
    h->env.set("VX_KILL_GRACE_MS", "300");
    h->env.unset("XDG_CACHE_HOME");
    h->env.unset("VX_RUN_WORKSPACE");
    return h;
  }
};

struct seen {
  std::vector<std::string> events, order;
  std::map<std::uint32_t, std::string> output;
};

struct watcher final : run::observer {
  explicit watcher(seen& s) : s_(s) {}
  void event(std::string_view text) override {
    s_.events.emplace_back(text);
    const auto v = json::parse(text);
    if (v && v->get("kind")->as_string() == "task.end") s_.order.push_back(v->get("taskId")->as_string());
  }
  void output(std::uint32_t task, int, std::string_view bytes, bool) override { s_.output[task] += bytes; }
  seen& s_;
};

struct ran {
  json::value doc;
  seen told;
  int code = 0;
  std::string status(const std::string& id) const {
    for (const json::value& t : doc.get("tasks")->as_array())
      if (t.get("id")->as_string() == id) {
        const json::value* restored = t.get("restored");
        return t.get("status")->as_string() + (restored == nullptr ? "" : restored->as_bool() ? " restored" : " current");
      }
    for (const json::value& t : doc.get("aborted")->as_array())
      if (t.get("id")->as_string() == id) return "aborted";
    return "absent";
  }
  bool said(const std::string& fragment) const {
    for (const std::string& e : told.events)
      if (e.find("run.status") != std::string::npos && e.find(fragment) != std::string::npos) return true;
    return false;
  }
};

ran go(const bed& b, const std::string& request, const std::string& cwd = {}) {
  auto doc = json::parse(request);
  REQUIRE(doc);
  auto parsed = run::parse_run_request(*doc);
  REQUIRE(parsed);
  ran out;
  auto r = run::active_run::start(b.host(cwd), *parsed, std::make_unique<watcher>(out.told), nullptr);
  if (!r) FAIL(r.error().message);
  auto text = (*r)->wait(true);
  REQUIRE(text);
  auto summary = json::parse(*text);
  REQUIRE(summary);
  out.doc = std::move(*summary);
  out.code = (*r)->exit_code();
  return out;
}

failure refused(const bed& b, const std::string& request) {
  auto doc = json::parse(request);
  REQUIRE(doc);
  auto parsed = run::parse_run_request(*doc);
  if (!parsed) return parsed.error();
  seen s;
  auto r = run::active_run::start(b.host(), *parsed, std::make_unique<watcher>(s), nullptr);
  REQUIRE_FALSE(r);
  CHECK(s.events.empty());
  return r.error();
}

const char* const k_build =
    R"({"build":{"exec":{"command":"mkdir -p dist && cat src/* > dist/out && echo built"},"dependsOn":["^build"],
       "cache":{"inputs":{"files":["src/**"]},"outputs":{"files":["dist/**"]}}}})";

}  // namespace

TEST_CASE("dependencies run first, a second run hits, deleted outputs come back, an edit reruns what it reaches") {
  bed b;
  b.package("a", k_build, R"({"b":"*"})");
  b.package("b", k_build, R"({"c":"*"})");
  b.package("c", k_build);
  const char* request = R"({"tasks":["build"],"all":true})";
  const ran cold = go(b, request);
  CHECK(cold.code == 0);
  CHECK(cold.told.order == std::vector<std::string>{"c#build", "b#build", "a#build"});
  CHECK(b.dir.read("ws/packages/a/dist/out") == "a\n");

  const ran warm = go(b, request);
  for (const char* id : {"a#build", "b#build", "c#build"}) CHECK(warm.status(id) == "cache-hit current");

  b.dir.remove("ws/packages/b/dist");
  const ran restored = go(b, request);
  CHECK(restored.status("b#build") == "cache-hit restored");
  CHECK(restored.status("a#build") == "cache-hit current");
  CHECK(b.dir.read("ws/packages/b/dist/out") == "b\n");

  b.dir.write("ws/packages/b/src/x", "changed\n");
  const ran edited = go(b, request);
  CHECK(edited.status("c#build") == "cache-hit current");
  CHECK(edited.status("b#build") == "success");
  CHECK(edited.status("a#build") == "success");

  b.dir.write("ws/packages/b/src/x", "b\n");
  const ran reverted = go(b, request);
  CHECK(reverted.status("b#build") == "cache-hit restored");
  CHECK(reverted.status("a#build").rfind("cache-hit", 0) == 0);
}

TEST_CASE("without git the same things hold, with one notice") {
  bed b(false);
  b.package("a", k_build);
  CHECK(go(b, R"({"tasks":["a#build"]})").said("git"));
  CHECK(go(b, R"({"tasks":["a#build"]})").status("a#build") == "cache-hit current");
}

TEST_CASE("a failure skips its dependants by default, stops everything under never, taints under always") {
  bed b;
  b.package("a", k_build, R"({"b":"*"})");
  b.package(
      "b",
      R"({"build":{"exec":{"command":"exit 3"},"cache":{"inputs":{"files":["src/**"]},"outputs":{"files":["dist/**"]}}}})");
  const ran skip = go(b, R"({"tasks":["build"],"all":true})");
  CHECK(skip.code == 1);
  CHECK(skip.status("b#build") == "failed");
  CHECK(skip.status("a#build") == "skipped");
  const ran always = go(b, R"({"tasks":["build"],"all":true,"continue":"always"})");
  CHECK(always.status("a#build") == "success");
  const ran again = go(b, R"({"tasks":["build"],"all":true,"continue":"always"})");
  CHECK(again.status("a#build") == "success");  // tainted: nothing was stored
}

TEST_CASE("an input written while the task runs withholds the save, also of what builds on it") {
  bed b;
  b.package("a", k_build, R"({"b":"*"})");
  b.package("b", R"({"build":{"exec":{"command":"echo more >> src/x; mkdir -p dist; echo 1 > dist/o"},
    "cache":{"inputs":{"files":["src/**"]},"outputs":{"files":["dist/**"]}}}})");
  const ran first = go(b, R"({"tasks":["build"],"all":true})");
  CHECK(first.code == 0);
  CHECK(first.said("packages/b/src/x"));
  const ran second = go(b, R"({"tasks":["build"],"all":true})");
  CHECK(second.status("b#build") == "success");
  CHECK(second.status("a#build") == "success");
}

TEST_CASE("an uncached generator in front of a cached reader is always followed") {
  bed b;
  b.package("a", R"({"gen":{"exec":{"command":"cp seed src/gen"}},
    "build":{"dependsOn":["gen"],"exec":{"command":"mkdir -p dist; cp src/gen dist/gen"},"cache":{"inputs":{"files":["src/**"]},"outputs":{"files":["dist/**"]}}}})");
  b.dir.write("ws/.gitignore", "dist/\n.vx/\n");
  for (const char* content : {"A", "B", "A", "B"}) {
    b.dir.write("ws/packages/a/seed", content);
    CHECK(go(b, R"({"tasks":["a#build"]})").code == 0);
    CHECK(b.dir.read("ws/packages/a/dist/gen") == content);
  }
}

TEST_CASE("a failing runtime probe fails its task before the command, and nothing is stored") {
  bed b;
  b.package(
      "a",
      R"({"build":{"exec":{"command":"touch ran"},"cache":{"inputs":{"files":["src/**"],"runtime":["exit 3"]},"outputs":{"files":["dist/**"]}}}})");
  b.package("d", k_build);
  const ran r = go(b, R"({"tasks":["build"],"all":true})");
  CHECK(r.status("a#build") == "failed");
  CHECK(r.status("d#build") == "success");
  CHECK(r.said("exit 3"));
  CHECK_FALSE(b.dir.exists("ws/packages/a/ran"));
}

TEST_CASE("retries stop at the first success and count the lost attempts") {
  bed b;
  b.package("a",
            R"({"t":{"exec":{"command":"n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; test $n -ge 2","retries":3}}})");
  const ran r = go(b, R"({"tasks":["a#t"]})");
  CHECK(r.status("a#t") == "success");
  CHECK(b.dir.read("ws/packages/a/n") == "3\n");
}

TEST_CASE("forwarded arguments reach the requested task and its key only") {
  bed b;
  b.package("a", R"({"t":{"dependsOn":["u"],"exec":{"command":"echo t"},"cache":{"inputs":{"files":[]},"outputs":{"files":[]}}},
    "u":{"exec":{"command":"echo u"},"cache":{"inputs":{"files":[]},"outputs":{"files":[]}}}})");
  const ran plain = go(b, R"({"tasks":["a#t"]})");
  CHECK(plain.code == 0);
  const ran with = go(b, R"({"tasks":["a#t"],"args":["one two"]})");
  CHECK(with.status("a#t") == "success");
  CHECK(with.status("a#u") == "cache-hit current");
  bool shown = false;
  for (const auto& [index, text] : with.told.output) shown = shown || text.find("t one two") != std::string::npos;
  CHECK(shown);
}

TEST_CASE("a cancel ends running tasks as aborted and records nothing") {
  bed b;
  b.package("a", R"({"t":{"exec":{"command":"echo up; sleep 60"}},"v":{"dependsOn":["t"],"exec":{"command":"true"}}})");
  auto doc = json::parse(R"({"tasks":["a#v"]})");
  auto parsed = run::parse_run_request(*doc);
  struct stopper final : run::observer {
    explicit stopper(std::shared_ptr<cancel_token> c) : cancel(std::move(c)) {}
    void event(std::string_view) override {}
    void output(std::uint32_t, int, std::string_view, bool) override { cancel->request(SIGINT); }
    std::shared_ptr<cancel_token> cancel;
  };
  auto stop = std::make_shared<cancel_token>();
  auto r = run::active_run::start(b.host(), *parsed, std::make_unique<stopper>(stop), stop);
  REQUIRE(r);
  const auto text = (*r)->wait(true);
  REQUIRE(text);
  const auto summary = json::parse(*text);
  CHECK((*r)->exit_code() == 130);
  CHECK(summary->get("tasks")->as_array().empty());
  CHECK(summary->get("aborted")->as_array().size() == 2);
}

TEST_CASE("a server is ready before its dependants start, and is gone afterwards") {
  bed b;
  b.package("a",
            R"({"serve":{"exec":{"command":"echo $$ > pid; echo listening; exec sleep 60","persistent":{"readyWhen":"listen"}}},
    "t":{"dependsOn":["serve"],"exec":{"command":"kill -0 $(cat pid) && echo alive"}}})");
  const ran r = go(b, R"({"tasks":["a#t"]})");
  CHECK(r.code == 0);
  CHECK(r.status("a#serve") == "success");
  const std::string pid = b.dir.read("ws/packages/a/pid");
  CHECK(b.dir.sh("kill -0 " + pid.substr(0, pid.size() - 1) + " 2>/dev/null && echo up || echo down") == "down\n");
}

TEST_CASE("two runs of one workspace follow each other; a nested run is refused") {
  bed b;
  b.package("a", R"({"t":{"exec":{"command":"mkdir busy && rmdir busy"}}})");
  std::vector<std::thread> threads;
  std::vector<int> codes(4, -1);
  for (std::size_t i = 0; i < codes.size(); ++i)
    threads.emplace_back([&, i] { codes[i] = go(b, R"({"tasks":["a#t"]})").code; });
  for (std::thread& t : threads) t.join();
  CHECK(codes == std::vector<int>{0, 0, 0, 0});

  auto h = std::make_shared<run::host>(*b.host());
  h->env.set("VX_RUN_WORKSPACE", b.root);
  auto r = run::active_run::start(h, *run::parse_run_request(*json::parse(R"({"tasks":["a#t"]})")), nullptr, nullptr);
  REQUIRE_FALSE(r);
  CHECK(r.error().code == errc::REFUSED);
}

TEST_CASE("refusals name the thing and start nothing") {
  bed b;
  b.package("a", R"({"t":{"exec":{"command":"touch ran"}},"g":{"dependsOn":["t"]}})");
  CHECK(refused(b, R"({"tasks":["a#x"]})").code == errc::UNKNOWN_TASK);
  CHECK(refused(b, R"({"tasks":["zzz#t"]})").code == errc::UNKNOWN_PROJECT);
  CHECK(refused(b, R"({"tasks":["a#t","missing"],"all":true})").code == errc::UNKNOWN_TASK);
  CHECK(refused(b, R"({"tasks":["a#g"],"args":["--x"]})").message.find("groups") != std::string::npos);
  CHECK(refused(b, R"({"tasks":["a#t"],"concurrency":"0"})").code == errc::USAGE);
  CHECK_FALSE(b.dir.exists("ws/packages/a/ran"));
}

TEST_CASE("a plan tells keys and predictions and changes no result") {
  bed b;
  b.package("a", k_build, R"({"b":"*"})");
  b.package("b", k_build);
  const auto plan_now = [&] {
    auto p = run::plan(b.host(), *run::parse_run_request(*json::parse(R"({"tasks":["build"],"all":true})")), nullptr);
    REQUIRE(p);
    return *p;
  };
  const json::value before = plan_now();
  CHECK(before.get("tasks")->as_array().size() == 2);
  for (const json::value& t : before.get("tasks")->as_array()) CHECK(t.get("cacheStatus")->as_string() == "miss");
  const ran r = go(b, R"({"tasks":["build"],"all":true})");
  const json::value after = plan_now();
  for (std::size_t i = 0; i < 2; ++i) {
    const json::value& t = after.get("tasks")->as_array()[i];
    CHECK(t.get("cacheStatus")->as_string() == "hit-local");
    CHECK(t.get("hash")->as_string() == before.get("tasks")->as_array()[i].get("hash")->as_string());
  }
  CHECK(r.code == 0);
}

TEST_CASE("force runs and stores, no-cache does neither and cleans nothing") {
  bed b;
  b.package("a", k_build);
  CHECK(go(b, R"({"tasks":["a#build"]})").code == 0);
  CHECK(go(b, R"({"tasks":["a#build"],"force":true})").status("a#build") == "success");
  b.dir.write("ws/packages/a/dist/stray", "x");
  CHECK(go(b, R"({"tasks":["a#build"],"noCache":true})").status("a#build") == "success");
  CHECK(b.dir.exists("ws/packages/a/dist/stray"));
  CHECK(go(b, R"({"tasks":["a#build"]})").status("a#build") == "cache-hit restored");
  CHECK_FALSE(b.dir.exists("ws/packages/a/dist/stray"));
}

TEST_CASE("a dropped dependency is keyed but not run, and its reader is not stored") {
  bed b;
  b.package("a", k_build, R"({"b":"*"})");
  b.package("b", k_build);
  const ran only = go(b, R"({"tasks":["a#build"],"excludeDependencies":true})");
  CHECK(only.status("a#build") == "success");
  CHECK(only.status("b#build") == "absent");
  const ran full = go(b, R"({"tasks":["a#build"]})");
  CHECK(full.status("a#build") == "success");
  CHECK(full.status("b#build") == "success");
}

TEST_CASE("show answers projects, one task, and unknown names with a hint") {
  bed b;
  b.package("alpha", k_build);
  const auto all = run::show(b.host(), {}, nullptr);
  REQUIRE(all);
  CHECK(all->get("kind")->as_string() == "projects");
  run::show_request one;
  one.has_target = true;
  one.target = "alpha#build";
  const auto task = run::show(b.host(), one, nullptr);
  REQUIRE(task);
  CHECK(task->get("result")->get("config")->get("exec")->get("command")->is_string());
  one.target = "alhpa";
  const auto bad = run::show(b.host(), one, nullptr);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.find("alpha") != std::string::npos);
}
