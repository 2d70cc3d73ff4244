#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "run/json_line.hpp"
#include "run/lane.hpp"
#include "run/notices.hpp"
#include "run/observer.hpp"
#include "run/run_lock.hpp"
#include "support/temp_dir.hpp"

using namespace vx;

TEST_CASE("a record is one valid JSON object") {
  run::json_line line;
  line.text("a", "q\"\n\xff").number("n", -3).boolean("b", true).null("z").raw("list", "[1]");
  const std::string text = line.finish();
  const auto parsed = json::parse(text);
  REQUIRE(parsed);
  CHECK(parsed->get("n")->as_int() == -3);
  CHECK(parsed->get("b")->as_bool());
  CHECK(parsed->get("z")->is_null());
  CHECK(parsed->get("list")->as_array().size() == 1);
}

TEST_CASE("milliseconds keep three decimals and no trailing zeros") {
  struct row {
    std::int64_t ns;
    const char* text;
  };
  for (const row& r : {row{0, "0"}, row{1'000'000, "1"}, row{1'500'000, "1.5"}, row{1'234'567, "1.235"}, row{1'010'000, "1.01"},
                       row{-5, "0"}, row{999'999'999, "1000"}}) {
    CAPTURE(r.ns);
    run::json_line line;
    line.ms("d", r.ns);
    CHECK(line.finish() == std::string("{\"d\":") + r.text + "}");
  }
}

TEST_CASE("a lane runs everything, never more at once than its width") {
  std::atomic<int> running{0}, peak{0}, done{0};
  {
    run::lane lane(3);
    for (int i = 0; i < 200; ++i) {
      lane.post([&] {
        const int now = ++running;
        int seen = peak.load();
        while (now > seen && !peak.compare_exchange_weak(seen, now)) {
        }
        ++done;
        --running;
      });
    }
    lane.drain();
    CHECK(done == 200);
    lane.post([&] { ++done; });
  }
  CHECK(done == 201);
  CHECK(peak <= 3);
}

namespace {

struct recorder final : run::observer {
  recorder(std::vector<std::string>& to, std::atomic<int>& inside, std::atomic<bool>& overlapped)
      : to_(to), inside_(inside), overlapped_(overlapped) {}
  void event(std::string_view json) override { note(std::string(json)); }
  void output(std::uint32_t task, int stream, std::string_view bytes, bool replayed) override {
    note(std::to_string(task) + ":" + std::to_string(stream) + ":" + std::string(bytes) + (replayed ? ":r" : ""));
  }
  void note(std::string text) {
    if (++inside_ != 1) overlapped_ = true;
    to_.push_back(std::move(text));
    --inside_;
  }
  std::vector<std::string>& to_;
  std::atomic<int>& inside_;
  std::atomic<bool>& overlapped_;
};

}  // namespace

TEST_CASE("records reach the observer in order, one at a time, and all of them") {
  std::vector<std::string> seen;
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  {
    run::dispatcher d(std::make_unique<recorder>(seen, inside, overlapped));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&d, t] {
        for (int i = 0; i < 500; ++i) d.output(static_cast<std::uint32_t>(t), 1, std::to_string(i), false);
      });
    }
    for (std::thread& t : threads) t.join();
    d.event("last");
    d.drain();
    CHECK(seen.size() == 2001);
    CHECK(seen.back() == "last");
  }
  CHECK_FALSE(overlapped);
  for (int t = 0; t < 4; ++t) {
    int next = 0;
    for (const std::string& s : seen)
      if (s.rfind(std::to_string(t) + ":1:", 0) == 0) CHECK(s == std::to_string(t) + ":1:" + std::to_string(next++));
    CHECK(next == 500);
  }
}

TEST_CASE("a full queue makes producers wait instead of growing") {
  std::vector<std::string> seen;
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  run::dispatcher d(std::make_unique<recorder>(seen, inside, overlapped));
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) d.output(0, 1, piece, false);
  d.drain();
  CHECK(seen.size() == 64);
}

TEST_CASE("a notice is said once, and lines from before the sink reach it in order") {
  run::notices n;
  n.say(run::level::notice, "a");
  n.say(run::level::warning, "b", "p#t");
  n.say(run::level::notice, "a");
  std::vector<std::string> got;
  n.set_sink([&](const run::notice_line& l) { got.push_back(l.line); });
  n.say(run::level::notice, "c");
  n.say(run::level::notice, "a");
  CHECK(got == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("the run lock keeps two runs apart and ends with its holder") {
  test::temp_dir tmp;
  run::host h;
  h.root = "/some/root";
  h.env.set("TMPDIR", tmp.path());
  cancel_token stop;
  run::run_lock first;
  const auto ignore = [](std::string) {};
  CHECK(first.take(h, stop, ignore).held);

  run::run_lock second;
  std::string said;
  const run::run_lock::taken how = second.take(h, stop, [&](std::string line) {
    said = std::move(line);
    first.release();
  });
  CHECK(how.held);
  CHECK(how.waited);
  CHECK(said.find(std::to_string(::getpid())) != std::string::npos);
  second.release();

  run::host other = h;
  other.root = "/another/root";
  run::run_lock third, fourth;
  CHECK(third.take(h, stop, ignore).held);
  CHECK(fourth.take(other, stop, ignore).held);
}

TEST_CASE("waiting for the run lock ends with a cancel, and a dead holder does not block") {
  test::temp_dir tmp;
  run::host h;
  h.root = "/r";
  h.env.set("TMPDIR", tmp.path());
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    cancel_token mine;
    run::run_lock held;
    const bool ok = held.take(h, mine, [](std::string) {}).held;
    (void)!::write(ready[1], ok ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  CHECK(answer == 'y');

  cancel_token stop;
  run::run_lock waiting;
  std::thread canceller([&] { stop.request(SIGINT); });
  CHECK(waiting.take(h, stop, [](std::string) {}).cancelled);
  canceller.join();

  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  cancel_token fresh;
  CHECK(waiting.take(h, fresh, [](std::string) {}).held);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lock directory that is not private gives an unlocked run and says so") {
  test::temp_dir tmp;
  run::host h;
  h.root = "/r";
  h.env.set("TMPDIR", tmp.path());
  const std::string dir = "vx-runs-" + std::to_string(::getuid());
  tmp.mkdir(dir);
  REQUIRE(::chmod((tmp / dir).c_str(), 0777) == 0);
  cancel_token stop;
  run::run_lock lock;
  const auto got = lock.take(h, stop, [](std::string) {});
  CHECK_FALSE(got.held);
  CHECK_FALSE(got.warning.empty());
}
