#include "cli/answer_text.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cli/answer.hpp"

using namespace vx::cli;

namespace {

const palette k_plain(false);

std::string invocation(const std::string& more = "", bool ok = true) {
  return std::string(
             R"({"runId":"0192b3c4-d5e6-7000-8000-000000000001","command":"vx run test --all","startedAt":1793614272131,"totalDurationMs":606.4,"taskCount":3,"failedCount":)") +
         (ok ? "0" : "1") + R"(,"hitCount":1,"upToDateCount":1,"restoredLocalCount":0,"restoredRemoteCount":0,"exitOk":)" +
         (ok ? "true" : "false") + R"(,"commitSha":"1a2b3c4d5e6f","branch":"topic","dirty":true)" + more + "}";
}

std::string task(const std::string& id, const std::string& status, const std::string& more = "") {
  const auto hash = id.find('#');
  return R"({"project":")" + id.substr(0, hash) + R"(","task":")" + id.substr(hash + 1) + R"(","status":")" + status +
         R"(","exitCode":0,"durationMs":4,"hash":"fb349347000000000000000000000000")" + more + "}";
}

}  // namespace

TEST_CASE("why: the two runs, the verdict, what changed, the root cause, what to do") {
  const auto view = read_why(R"({"result":{"taskId":"shop#build","runId":"0192b3c4-d5e6-7000-8000-000000000001",
    "why":{"thisRun":{"hash":"9f8e7d6c5b4a39219f8e7d6c5b4a3921","status":"success","cacheHit":false,"restored":null,"startedAt":1793614272131},
           "previousRun":{"hash":"0a1b2c3d4e5f60710a1b2c3d4e5f6071","status":"success","startedAt":1793613480000},"note":"cache key changed: file packages/shop/src/a.ts"},
    "diff":{"entries":[{"kind":"upstream","name":"lib#build","change":"changed","before":"0000000000000000000000000000000a","after":"00000001000000000000000000000000"},
                       {"kind":"file","name":"packages/shop/src/a.ts","change":"added","before":null,"after":"100755:89abcdef0123"}],"unchangedCount":12,"note":""},
    "roots":[{"chain":["shop#build","lib#build"],"entries":[{"kind":"file","name":"lib/x\u001b[31m"},{"kind":"file","name":"y"}]},{"chain":["shop#build","z#build"],"entries":[]}]},
    "notices":["n"]})",
                             k_plain);
  REQUIRE(view);
  CHECK(view->text ==
        "shop#build — run 0192b3c4-d5e6-7000-8000-000000000001\n"
        "  this run   2026-11-02T10:11:12.131Z · success · executed · key 9f8e7d6c5b4a39219f8e7d6c5b4a3921\n"
        "  previous   2026-11-02T09:58:00.000Z · success · key 0a1b2c3d4e5f60710a1b2c3d4e5f6071\n"
        "  verdict    cache key changed: file packages/shop/src/a.ts\n"
        "\n"
        "  what changed (2 components, 12 unchanged):\n"
        "    changed upstream  lib#build               00000000 → 00000001\n"
        "    added   file      packages/shop/src/a.ts  100755:89abcdef\n"
        "\n"
        "  root cause:\n"
        "    shop#build ← lib#build ← file lib/x\\x1b[31m and 1 more\n"
        "    shop#build ← z#build (what its key was made of is not recorded)\n"
        "\n"
        "  what to do:\n"
        "    upstream  a dependency's key changed: see the root cause; `cache.inputs.tasks` says which dependencies count\n"
        "    file      an input file changed; if the task does not read it, narrow `cache.inputs.files`\n");
  CHECK(view->notices == std::vector<std::string>{"n"});
  CHECK_FALSE(read_why("{}", k_plain));
}

TEST_CASE("last: failures first, then executed, then hits; usage of executed tasks; the line that runs failures again") {
  const auto view = read_last(R"({"kind":"run","result":{"invocation":)" + invocation("", false) + R"(,"tasks":[)" +
                                  task("util#test", "cache-hit", R"(,"restored":false)") + "," +
                                  task("shop#test", "success", R"(,"peakRssBytes":327155712,"cpuMs":5.6)") + "," +
                                  task("late#test", "skipped", R"(,"blockedBy":"cart#test")") + "," +
                                  task("cart#test", "failed", R"(,"exitCode":1)") + "]}}",
                              k_plain);
  REQUIRE(view);
  // rapidjson keeps the first of two members of one name, so the exit code above is 0.
  CHECK(view->text ==
        "run 0192b3c4-d5e6-7000-8000-000000000001 — FAILED\n"
        "  $ vx run test --all\n"
        "  2026-11-02T10:11:12.131Z · 606ms · topic @ 1a2b3c4d+dirty\n"
        "  3 tasks · 1 hits (1 up-to-date, 0 restored) · 1 failed\n"
        "\n"
        "  failed (exit 0)                   cart#test  4ms  fb349347\n"
        "  success                           shop#test  4ms  fb349347  312 MB · 1.4× cpu\n"
        "  skipped (after cart#test failed)  late#test  4ms  fb349347\n"
        "  up-to-date                        util#test  4ms  fb349347\n"
        "\n"
        "  re-run what failed: vx run cart#test\n");
}

TEST_CASE("last: sixteen hits are shown, restores first, and the rest is a count") {
  std::string tasks;
  for (int i = 0; i < 20; ++i)
    tasks += (i == 0 ? "" : ",") +
             task("p" + std::to_string(i) + "#b", "cache-hit", i == 19 ? R"(,"restored":true)" : R"(,"restored":false)");
  const auto view =
      read_last(R"({"kind":"run","result":{"invocation":)" + invocation() + R"(,"tasks":[)" + tasks + "]}}", k_plain);
  REQUIRE(view);
  CHECK(view->text.find("  restored-local  p19#b") != std::string::npos);
  CHECK(view->text.find("  … +4 more cache hits\n") != std::string::npos);
  CHECK(view->text.find("re-run") == std::string::npos);
}

TEST_CASE("last: forwarded arguments are not known, and a dependency never had them") {
  const auto view = read_last(R"({"kind":"run","result":{"invocation":)" + invocation("", false) + R"(,"tasks":[)" +
                                  task("a#t", "failed", R"(,"forwarded":true)") + "," +
                                  task("b#t", "failed", R"(,"forwarded":false)") + "]}}",
                              k_plain);
  CHECK(view->text.ends_with("\n  re-run what failed: vx run b#t\n  re-run what failed: vx run a#t -- …\n"));
}

TEST_CASE("last: the list is aligned, an empty one says so, a log is printed as it is") {
  const auto list = read_last(R"({"kind":"list","result":[)" + invocation() + "," + invocation("", false) +
                                  R"(],"shortIds":["0192b3c4-d5e6","0192b3c4-d5e7"]})",
                              k_plain);
  REQUIRE(list);
  CHECK(list->text ==
        "ok      2026-11-02T10:11:12.131Z  0192b3c4-d5e6  3 tasks · 1 hits (1 up-to-date, 0 restored)             606ms  $ vx "
        "run test --all\n"
        "FAILED  2026-11-02T10:11:12.131Z  0192b3c4-d5e7  3 tasks · 1 hits (1 up-to-date, 0 restored) · 1 failed  606ms  $ vx "
        "run test --all\n");
  CHECK(read_last(R"({"kind":"list","result":[]})", k_plain)->text == "no run is recorded\n");
  CHECK(read_last(R"({"kind":"log","result":{"source":"cache","output":"a\nb"}})", k_plain)->text == "a\nb\n");
  const auto none = read_last(
      R"({"kind":"log","result":{"runId":"r","taskId":"a#b","status":"success","source":null,"output":""}})", k_plain);
  CHECK(none->text.empty());
  CHECK(none->notices == std::vector<std::string>{"no output of a#b in run r was kept (success)"});
}

TEST_CASE("prune: what went, and in a dry run what would") {
  CHECK(read_prune(R"({"result":{"dryRun":false,"evicted":1,"bytesFreed":1024,"orphans":0,"orphanBytes":0}})")->text ==
        "Pruned 1 entry (1.0 KB freed)\n");
  CHECK(read_prune(R"({"result":{"dryRun":true,"evicted":0,"bytesFreed":0,"orphans":2,"orphanBytes":4096}})")->text ==
        "Would prune 0 entries (0 B freed), reap 2 orphaned artifacts (4.0 KB)\n");
}

TEST_CASE("info: rows without content are left out; a runtime is needed, missing or named") {
  const auto info = [](const std::string& more) {
    return read_info(
               R"({"result":{"vx":"0.1.0","platform":"linux-x64","git":null,"workspaceRoot":"/home/u/ws","projects":2,"tasks":3,"workers":{"count":2,"source":"cores","cores":2},
      "memory":{"usableBytes":1024},"cacheDir":"/x","cacheSource":"flag","cacheMode":"read-only","stateDir":"/home/u/ws/.vx","cacheVersion":"vx-key-1","schemaVersion":1,
      "cacheEntries":5,"cacheBytes":512,"cacheRetention":{"olderThan":"30d","maxSize":"1KB","maxBytes":1024},"runs24h":4,"hits24h":3,"restored24h":1)" +
                   more + "}}",
               "/home/u")
        ->text;
  };
  const std::string plain = info(R"(,"configErrors":[],"configs":{"json":2,"cached":0,"everyRun":[]})");
  CHECK(plain.find("node             not needed\n") != std::string::npos);
  CHECK(plain.find("git              (not found)\n") != std::string::npos);
  CHECK(plain.find("workspace root   ~/ws\n") != std::string::npos);
  CHECK(plain.find("cache entries    5 (512 B of 1.0 KB, 50%)\n") != std::string::npos);
  CHECK(plain.find("cache dir        /x (flag, read-only)\n") != std::string::npos);
  CHECK(plain.find("task runs (24h)  4 (3 cache hits: 2 up-to-date, 1 restored)\n") != std::string::npos);
  CHECK(plain.find("orphans") == std::string::npos);
  CHECK(plain.find("sandbox") == std::string::npos);
  const std::string broken = info(
      R"(,"configErrors":[{"path":"a/vx.config.ts","message":"no runtime"}],"configs":{"json":0,"cached":0,"everyRun":[]})");
  CHECK(broken.find("(not found)\ngit") != std::string::npos);
  CHECK(broken.find("a/vx.config.ts: no runtime\n") != std::string::npos);
  CHECK(broken.find("1 config did not load") != std::string::npos);
}
