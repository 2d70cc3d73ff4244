#include "cli/run_output.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/request.hpp"

using namespace vx::cli;

namespace {

struct recorder final : text_sink {
  void out(std::string_view text) override { shown += text; }
  void note(std::string_view line) override { notes += std::string(line) + "\n"; }
  void flush() override {}
  std::string shown, notes;
};

/// A run of one dependency (util#build, index 0) and one requested task (shop#build, index 1).
class scene {
 public:
  explicit scene(output_options options, unsigned requested = 1) : output_(with_version(std::move(options)), sink_) {
    event(fmt::format(
        R"({{"v":1,"kind":"run.start","concurrency":2,"requestedCount":{},"projects":{{"inRun":2,"total":2}},"run":{{"cachePolicy":"lR,lW"}}}})",
        requested));
    start(0, "util#build", "cc util.c", false);
    start(1, "shop#build", "node build.mjs", true);
  }
  void event(const std::string& json) { output_.event(json); }
  void start(unsigned index, const std::string& id, const std::string& command, bool requested, const std::string& more = "") {
    event(fmt::format(
        R"({{"v":1,"kind":"task.start","index":{},"taskId":"{}","isGroup":false,"requested":{},"surfaced":false,"persistent":false,"command":"{}"{}}})",
        index, id, requested, command, more));
  }
  void end(const std::string& id, const std::string& status, double ms = 1370, const std::string& more = "", int code = 0) {
    event(fmt::format(
        R"({{"v":1,"kind":"task.end","taskId":"{}","status":"{}","exitCode":{},"durationMs":{},"hash":"0a1b2c3d4e5f60718293a4b5c6d7e8f9"{}}})",
        id, status, code, ms, more));
  }
  void print(unsigned index, std::string_view text, int stream = 1, bool replayed = false) {
    output_.output(index, stream, text, replayed);
  }
  void finish() {
    event(R"({"v":1,"kind":"run.summary","totalDurationMs":2710,"taskCount":2,"missCount":2})");
    event(R"({"v":1,"kind":"run.end","ok":true,"exitCode":0})");
  }
  const std::string& shown() const { return sink_.shown; }
  const std::string& notes() const { return sink_.notes; }
  /// Everything above the footer.
  std::string body() const { return sink_.shown.substr(0, sink_.shown.find("─ vx 1.2.3")); }

 private:
  static output_options with_version(output_options o) {
    o.version = "1.2.3";
    return o;
  }
  recorder sink_;
  run_output output_;
};

output_options focused() { return {}; }
output_options broad() {
  output_options o;
  o.broad = true;
  return o;
}
output_options full() {
  output_options o;
  o.logs = log_mode::full;
  return o;
}
output_options mode(log_mode m) {
  output_options o;
  o.logs = m;
  return o;
}

constexpr const char* k_rule = "├─ OUTPUT ──────────────────────────────────────────────────\n";

/// What one ending of a task shows: `index` 0 is the dependency, 1 the requested task. Two were requested, so nothing streams.
std::string one(const output_options& options, unsigned index, const std::string& status, const std::string& more = "",
                int code = 0, const char* output = "", bool replayed = false) {
  scene s(options, 2);
  if (*output != '\0') s.print(index, output, 1, replayed);
  s.end(index == 0 ? "util#build" : "shop#build", status, 1370, more, code);
  s.finish();
  return s.body();
}

const std::string k_frame_success =
    std::string("┌─ shop#build > success\n\n$ node build.mjs\n\n") + k_rule + "\nhello\n\n└─ shop#build ── (1.37s) success\n\n";
const std::string k_frame_restored = std::string("┌─ shop#build > restored-local • 0a1b2c3d\n\n$ node build.mjs\n\n") + k_rule +
                                     "\nhello\n\n└─ shop#build ── (1.37s) restored-local • 0a1b2c3d\n\n";
const std::string k_dep_failed_frame = std::string("┌─ util#build > failed (exit 2)\n\n$ cc util.c\n\n") + k_rule +
                                       "\nboom\n\n└─ util#build ── (1.37s) failed (exit 2)\n\n";
const std::string k_dep_failed_row = " ◼\uFE0E   1.37s failed  miss     util#build\n";

}  // namespace

TEST_CASE("executed: a frame where it was asked for, silence below, a row when broad, a frame when full") {
  CHECK(one(focused(), 1, "success", "", 0, "hello\n") == k_frame_success);
  CHECK(one(focused(), 0, "success", "", 0, "hello\n").empty());
  CHECK(one(broad(), 1, "success", "", 0, "hello\n") == " ⏺\uFE0E   1.37s success miss     shop#build\n\n");
  CHECK(one(full(), 1, "success", "", 0, "hello\n") == k_frame_success);
  CHECK(one(full(), 0, "success") == "┌─ util#build > success\n\n$ cc util.c\n\n└─ util#build ── (1.37s) success\n\n");
}

TEST_CASE("restored: a frame where it was asked for, silence below and when broad, when full a frame if it had output") {
  const std::string log = R"(,"restored":true,"log":true)";
  CHECK(one(focused(), 1, "cache-hit", log, 0, "hello\n", true) == k_frame_restored);
  CHECK(one(focused(), 0, "cache-hit", log, 0, "hello\n", true).empty());
  CHECK(one(broad(), 1, "cache-hit", log, 0, "hello\n", true).empty());
  CHECK(one(full(), 0, "cache-hit", log, 0, "hello\n", true) ==
        std::string("┌─ util#build > restored-local • 0a1b2c3d\n\n") + k_rule +
            "\nhello\n\n└─ util#build ── (1.37s) restored-local • 0a1b2c3d\n\n");
  CHECK(one(full(), 0, "cache-hit", R"(,"restored":true)") == " ⇢   1.37s success local    util#build\n\n");
}

TEST_CASE("up-to-date: a frame with its command where it was asked for, a row when full") {
  CHECK(one(focused(), 1, "cache-hit", R"(,"restored":false)") ==
        "┌─ shop#build > up-to-date • 0a1b2c3d\n\n$ node build.mjs\n\n└─ shop#build ── (1.37s) up-to-date • 0a1b2c3d\n\n");
  CHECK(one(focused(), 0, "cache-hit", R"(,"restored":false)").empty());
  CHECK(one(broad(), 1, "cache-hit", R"(,"restored":false)").empty());
  CHECK(one(full(), 1, "cache-hit", R"(,"restored":false)") == " ►   1.37s success up-to-date shop#build\n\n");
}

TEST_CASE("failed: a frame at once where it was asked for, else a row now and the frame above the footer") {
  CHECK(one(focused(), 1, "failed", "", 2, "boom\n") == std::string("┌─ shop#build > failed (exit 2)\n\n$ node build.mjs\n\n") +
                                                            k_rule + "\nboom\n\n└─ shop#build ── (1.37s) failed (exit 2)\n\n");
  CHECK(one(focused(), 0, "failed", "", 2, "boom\n") == k_dep_failed_row + "\n" + k_dep_failed_frame);
  CHECK(one(broad(), 0, "failed", "", 2, "boom\n") == k_dep_failed_row + "\n" + k_dep_failed_frame);
  CHECK(one(full(), 0, "failed", "", 2, "boom\n") == k_dep_failed_frame);
}

TEST_CASE("skipped: a row everywhere") {
  const std::string row = " ⊘     0ms skipped          shop#build • blocked by util#build\n\n";
  for (const output_options& options : {focused(), broad(), full()}) {
    scene s(options, 2);
    s.end("shop#build", "skipped", 0, R"(,"blockedBy":"util#build")", 1);
    s.finish();
    CHECK(s.body() == row);
  }
}

TEST_CASE("groups never print and are told by the record alone") {
  for (const output_options& options : {focused(), broad(), full(), mode(log_mode::hash_only)}) {
    scene s(options);
    s.event(R"({"v":1,"kind":"task.start","index":2,"taskId":"shop#ci","isGroup":true,"requested":true})");
    s.event(R"({"v":1,"kind":"task.end","taskId":"shop#ci","status":"skipped","exitCode":1,"durationMs":0,"isGroup":true})");
    s.finish();
    CHECK(s.body().empty());
  }
}

TEST_CASE("errors-only, hash-only and none show what they say") {
  CHECK(one(mode(log_mode::errors_only), 0, "failed", "", 2, "boom\n") == k_dep_failed_frame);
  CHECK(one(mode(log_mode::errors_only), 1, "success", "", 0, "hello\n").empty());
  CHECK(one(mode(log_mode::errors_only), 1, "skipped").empty());
  CHECK(one(mode(log_mode::hash_only), 1, "cache-hit", R"(,"restored":false)") ==
        "up-to-date shop#build 0a1b2c3d4e5f60718293a4b5c6d7e8f9\n\n");
  CHECK(one(mode(log_mode::hash_only), 0, "failed", "", 2, "boom\n") ==
        "failed util#build 0a1b2c3d4e5f60718293a4b5c6d7e8f9\n\n");
  CHECK(one(mode(log_mode::none), 0, "failed", "", 2, "boom\n").empty());
}

TEST_CASE("on CI frames are full whatever was selected, and nothing streams") {
  output_options ci = broad();
  ci.ci = true;
  CHECK(one(ci, 1, "success", "", 0, "hello\n") == k_frame_success);
  ci = focused();
  ci.ci = true;
  scene s(ci, 1);
  s.print(1, "hello\n");
  CHECK(s.shown().empty());
  ci.logs = log_mode::none;
  CHECK(one(ci, 1, "failed", "", 2, "boom\n").empty());
}

TEST_CASE("the one requested task streams as it prints") {
  scene s(focused(), 1);
  s.print(0, "quiet\n");
  CHECK(s.shown().empty());
  s.print(1, "half");
  CHECK(s.shown() == "┌─ shop#build > $ node build.mjs\n\nhalf");
  s.print(1, " line\nmore", 2);
  s.end("shop#build", "success");
  s.finish();
  CHECK(s.body() == "┌─ shop#build > $ node build.mjs\n\nhalf line\nmore\n\n└─ shop#build ── (1.37s) success\n\n");
}

TEST_CASE("a requested task that prints nothing still has its frame") {
  scene s(focused(), 1);
  s.end("shop#build", "success");
  s.finish();
  CHECK(s.body() == "┌─ shop#build > success\n\n$ node build.mjs\n\n└─ shop#build ── (1.37s) success\n\n");
}

TEST_CASE("several tasks printing at once come as whole blocks in the order they end") {
  scene s(full(), 2);
  s.print(0, "u1\n");
  s.print(1, "s1\n");
  s.print(0, "u2\n");
  s.print(1, "s2");
  s.end("shop#build", "success");
  s.end("util#build", "success");
  s.finish();
  const std::string body = s.body();
  CHECK(body.find("s1\ns2\n\n└─ shop#build") != std::string::npos);
  CHECK(body.find("u1\nu2\n\n└─ util#build") != std::string::npos);
  CHECK(body.find("└─ shop#build") < body.find("┌─ util#build"));
}

TEST_CASE("a plain terminal gets no escapes, also when one is cut in two") {
  scene s(full(), 2);
  s.print(1, "a\x1b[3");
  s.print(1, "1mred\x1b[0m\n");
  s.end("shop#build", "success");
  CHECK(s.shown().find('\x1b') == std::string::npos);
  CHECK(s.shown().find("\nared\n") != std::string::npos);
}

TEST_CASE("with colour standard error is red unless it colours itself, and a colour left on is switched off") {
  output_options o = full();
  o.colour = true;
  scene s(o, 2);
  s.print(1, "warn\n", 2);
  s.print(1, "\x1b[33mown\n", 2);
  s.end("shop#build", "success");
  CHECK(s.shown().find("\x1b[38;2;240;91;91mwarn\x1b[0m\n") != std::string::npos);
  CHECK(s.shown().find("\n\x1b[33mown\n") != std::string::npos);
  CHECK(s.shown().find("own\n\x1b[0m") != std::string::npos);
}

TEST_CASE("every frame and row of the matrix is the same text in colour") {
  for (output_options options : {focused(), broad(), full()}) {
    for (const char* status : {"success", "cache-hit", "failed", "skipped"}) {
      for (const unsigned index : {0u, 1u}) {
        const std::string plain = one(options, index, status, "", 2, "text\n");
        options.colour = true;
        scene s(options, 2);
        s.print(index, "text\n");
        s.end(index == 0 ? "util#build" : "shop#build", status, 1370, "", 2);
        s.finish();
        options.colour = false;
        std::string stripped;
        escape_stripper().feed(s.shown(), stripped);
        CHECK(stripped.substr(0, stripped.find("─ vx 1.2.3")) == plain);
      }
    }
  }
}

TEST_CASE("notices go to standard error with their mark, once") {
  scene s(focused());
  s.event(R"({"v":1,"kind":"run.status","level":"notice","line":"waiting"})");
  s.event(R"({"v":1,"kind":"run.status","level":"warning","line":"[vx] marked"})");
  CHECK(s.notes() == "[vx] waiting\n[vx] marked\n");
  CHECK(s.shown().empty());
}

TEST_CASE("aborted tasks have a row with their time, unstarted ones only where they were asked for") {
  scene s(focused(), 2);
  s.end("util#build", "aborted", 1200, R"(,"wallclockStartNs":"5")", 143);
  s.end("shop#build", "aborted", 0, "", 1);
  s.finish();
  CHECK(s.body() == " ✗   1.20s aborted          util#build\n ◌         not run          shop#build\n\n");
  scene wide(broad(), 2);
  wide.end("shop#build", "aborted", 0, "", 1);
  wide.finish();
  CHECK(wide.body().empty());
}

TEST_CASE("verbosity lists every task above the footer") {
  output_options o = broad();
  o.verbosity = 1;
  scene s(o, 2);
  s.end("util#build", "cache-hit", 4, R"(,"restored":false)");
  s.end("shop#build", "success");
  s.finish();
  CHECK(s.body() ==
        " ⏺\uFE0E   1.37s success miss     shop#build\n\nTASK        STATUS           DURATION\nutil#build  up-to-date       "
        "4ms\nshop#build  success          1.37s\n\n");
  CHECK_FALSE(run_output::ignores_current_hits(o));
}

TEST_CASE("the library may leave current hits out where they would not be shown") {
  CHECK(run_output::ignores_current_hits(broad()));
  CHECK(run_output::ignores_current_hits(mode(log_mode::none)));
  CHECK(run_output::ignores_current_hits(mode(log_mode::errors_only)));
  CHECK_FALSE(run_output::ignores_current_hits(focused()));
  CHECK_FALSE(run_output::ignores_current_hits(full()));
  CHECK_FALSE(run_output::ignores_current_hits(mode(log_mode::hash_only)));
  output_options ci = broad();
  ci.ci = true;
  CHECK_FALSE(run_output::ignores_current_hits(ci));
}

TEST_CASE("a server's frame closes when it is ready and its end is not shown twice") {
  const char* start =
      R"({"v":1,"kind":"task.start","index":1,"taskId":"shop#build","requested":true,"persistent":true,"command":"serve"})";
  scene s(focused(), 1);
  s.event(start);
  s.print(1, "listening\n");
  s.event(R"({"v":1,"kind":"task.ready","taskId":"shop#build","durationMs":320})");
  s.end("shop#build", "success", 320);
  s.finish();
  CHECK(s.body() == "┌─ ▸ shop#build > $ serve\n\nlistening\n\n└─ shop#build ── (320ms) running\n\n");
  scene wide(broad(), 1);
  wide.event(start);
  wide.event(R"({"v":1,"kind":"task.ready","taskId":"shop#build","durationMs":320})");
  wide.event(R"({"v":1,"kind":"task.exit","taskId":"shop#build","exitCode":3,"duringRun":true})");
  wide.finish();
  CHECK(wide.body() == " ▸   320ms running          shop#build\n\n");
}

TEST_CASE("nothing follows the footer but what held servers print") {
  scene s(broad(), 2);
  s.start(2, "api#dev", "node api", true);
  s.event(
      R"({"v":1,"kind":"task.start","index":2,"taskId":"api#dev","requested":true,"persistent":true,"command":"node api"})");
  s.event(R"({"v":1,"kind":"task.end","taskId":"api#dev","status":"success","exitCode":0,"durationMs":20,"noCache":true})");
  s.event(R"({"v":1,"kind":"run.summary","totalDurationMs":10,"taskCount":1})");
  s.event(R"({"v":1,"kind":"run.end","ok":true,"exitCode":0,"holding":["api#dev"]})");
  const std::size_t at = s.shown().size();
  CHECK(s.shown().ends_with("10ms\n"));
  s.print(2, "one\ntw");
  s.print(2, "o\n");
  s.print(0, "stray\n");
  CHECK(s.shown().substr(at) == "api#dev │ one\napi#dev │ two\n");
}

TEST_CASE("on GitHub Actions text is fenced, passing blocks are folded, failed ones are errors") {
  output_options o = full();
  o.fence = "word";
  scene s(o, 2);
  s.print(1, "::set-output name=x::y\n");
  s.end("shop#build", "success");
  s.print(0, "boom\n");
  s.end("util#build", "failed", 10, "", 2);
  const std::string& text = s.shown();
  CHECK(text.starts_with("::group::shop#build (success 1.37s)\n┌─ shop#build"));
  CHECK(text.find("::stop-commands::word\n::set-output name=x::y\n::word::\n") != std::string::npos);
  CHECK(text.find("└─ shop#build ── (1.37s) success\n::endgroup::\n\n┌─ util#build") != std::string::npos);
  CHECK(text.ends_with("failed (exit 2)\n::error title=util#build::failed (exit 2)\n\n"));
}

TEST_CASE("a record that is no JSON, an unknown kind and output of an unknown task are ignored") {
  scene s(full());
  s.event("{");
  s.event(R"({"v":2,"kind":"task.telepathy","taskId":"x"})");
  s.print(77, "lost\n");
  s.end("nobody#knows", "success");
  CHECK(s.shown().empty());
}

TEST_CASE("a run that never started has no footer") {
  recorder sink;
  output_options o;
  o.version = "1.2.3";
  run_output output(o, sink);
  output.event(R"({"v":1,"kind":"run.status","level":"warning","line":"no shell"})");
  output.event(R"({"v":1,"kind":"run.end","ok":false,"exitCode":1})");
  CHECK(sink.shown.empty());
}
