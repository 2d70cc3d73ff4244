#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "support/temp_dir.hpp"
#include "task_fixture.hpp"

using namespace vx::test;
using vx::exec::server;
using vx::exec::spawn_result;
using clock_type = std::chrono::steady_clock;

namespace {

/// A server and everything it told.
struct watched {
  server::options options;
  vx::exec::process_table table;
  vx::cancel_token cancel;
  std::unique_ptr<server> running;

  std::mutex mutex;
  std::condition_variable changed;
  std::string output;
  int ready = 0, slow = 0, exits = 0;
  std::int64_t ready_ns = -1;
  bool before_ready = false;
  spawn_result result;

  explicit watched(std::string command, std::string ready_when = "") {
    options.spawn.shell = "/bin/sh";
    options.spawn.command = std::move(command);
    options.spawn.cwd = "/";
    options.spawn.env = {"PATH=/usr/bin:/bin"};
    options.spawn.keep_stdin_open = true;
    options.ready_when = std::move(ready_when);
  }

  server::hooks hooks() {
    server::hooks h;
    const auto note = [this](const std::function<void()>& change) {
      const std::lock_guard lock(mutex);
      change();
      changed.notify_all();
    };
    h.output = [=, this](int, std::string_view bytes) { note([&] { output += bytes; }); };
    h.on_ready = [=, this](std::int64_t ns) { note([&] { ++ready, ready_ns = ns; }); };
    h.on_slow = [=, this] { note([&] { ++slow; }); };
    h.on_exit = [=, this](const spawn_result& r, bool before) { note([&] { ++exits, result = r, before_ready = before; }); };
    return h;
  }

  void start() {
    auto got = server::start(options, hooks(), table, cancel);
    REQUIRE_MESSAGE(got.has_value(), (got ? "" : got.error().message));
    running = std::move(*got);
  }
  bool until(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), holds);
  }
};

}  // namespace

TEST_CASE("without a pattern a server is ready when it has started, and stop() ends it") {
  watched w("echo up; sleep 60 & wait");
  w.start();
  REQUIRE(w.until([&] { return w.ready == 1 && w.output == "up\n"; }));
  CHECK(w.running->alive());
  CHECK(w.ready_ns >= 0);
  CHECK(w.table.groups().size() == 1);
  const auto start = clock_type::now();
  w.running->stop();
  CHECK(seconds_since(start) < 10);
  CHECK_FALSE(w.running->alive());
  CHECK(w.exits == 1);
  CHECK(w.result.stopped);
  CHECK_FALSE(w.result.cancelled);
  CHECK(w.result.signal == SIGTERM);
  CHECK(w.result.note == "");
  CHECK_FALSE(w.before_ready);
  CHECK(w.table.groups().empty());
  w.running->stop();
  w.running.reset();
  CHECK(w.exits == 1);
}

TEST_CASE("readiness") {
  struct row {
    const char* name;
    const char* command;  // prints, then stays
    const char* pattern;
  };
  for (const row& r : {
           row{"marker on a line", "echo listening on 3000", "listening on \\d+"},
           row{"marker without a newline", "printf ready", "^ready$"},
           row{"marker on stderr", "echo ready >&2", "^ready$"},
           row{"marker in two writes", "printf rea; sleep 0.05; printf dy", "^ready$"},
           row{"coloured banner", "printf '\\033[1m\\033[32mrea\\033[0mdy\\033[0m\\n'", "^ready$"},
           row{"bare carriage return", "printf '10%%\\rready\\r20%%'", "^ready$"},
           row{"after a line that does not fit", "echo starting; echo ready", "^ready$"},
       }) {
    CAPTURE(r.name);
    watched w(std::string(r.command) + "; sleep 60 & wait", r.pattern);
    w.start();
    CHECK(w.until([&] { return w.ready == 1; }));
    CHECK(w.exits == 0);
    w.running.reset();
    CHECK(w.ready == 1);
    CHECK(w.exits == 1);
    CHECK_FALSE(w.before_ready);
  }
}

TEST_CASE("the streams are not one line together") {
  watched w("printf rea; printf dy >&2; echo; echo done; sleep 60 & wait", "ready");
  w.start();
  REQUIRE(w.until([&] { return w.output.find("done") != std::string::npos; }));
  CHECK(w.ready == 0);
  w.running.reset();
  CHECK(w.before_ready);
  CHECK(w.result.stopped);
}

TEST_CASE("an exit before readiness is told with its code") {
  watched w("echo broken; exit 3", "ready");
  w.start();
  REQUIRE(w.until([&] { return w.exits == 1; }));
  CHECK(w.before_ready);
  CHECK(w.ready == 0);
  CHECK(w.result.exit_code == 3);
  CHECK_FALSE(w.result.timed_out);
  CHECK_FALSE(w.result.stopped);
  CHECK_FALSE(w.running->alive());
}

TEST_CASE("output that comes just after the exit still counts") {
  temp_dir dir;
  REQUIRE(::mkfifo((dir / "go").c_str(), 0600) == 0);
  // The leftover prints only when the shell has gone: it waits for the end of the pipe that the shell holds open.
  watched w("exec 9<>" + vx::text::shell_quote(dir / "go") +
                "; (exec 9<&-; while kill -0 $$ 2>/dev/null && [ \"$(cut -d' ' -f3 /proc/$$/stat)\" != Z ]; do :; done; "
                "echo ready; exec sleep 60) & exit 0",
            "^ready$");
  w.start();
  REQUIRE(w.until([&] { return w.exits == 1; }));
  CHECK(w.ready == 1);
  CHECK_FALSE(w.before_ready);
  CHECK(w.result.exit_code == 0);
}

TEST_CASE("the readiness timeout ends a server; a server that is ready is bounded no more") {
  watched never("echo starting; sleep 60 & wait", "ready");
  never.options.ready_timeout_ms = 150;
  never.start();
  REQUIRE(never.until([&] { return never.exits == 1; }));
  CHECK(never.result.timed_out);
  CHECK(never.result.exit_code == 143);
  CHECK(never.before_ready);

  watched ready("echo ready; sleep 60 & wait", "ready");
  ready.options.ready_timeout_ms = 150;
  ready.options.notice_ms = 150;
  ready.start();
  REQUIRE(ready.until([&] { return ready.ready == 1; }));
  // A later server's timeout has fired in full before this one is looked at again.
  watched clock("sleep 60 & wait", "never");
  clock.options.ready_timeout_ms = 300;
  clock.start();
  REQUIRE(clock.until([&] { return clock.exits == 1; }));
  CHECK(ready.running->alive());
  ready.running.reset();
  CHECK(ready.slow == 0);
  CHECK_FALSE(ready.result.timed_out);
}

TEST_CASE("a slow server is noticed once") {
  watched w("sleep 60 & wait", "ready");
  w.options.notice_ms = 30;
  w.options.ready_timeout_ms = 400;
  w.start();
  REQUIRE(w.until([&] { return w.exits == 1; }));
  CHECK(w.slow == 1);
  watched no_pattern("sleep 60 & wait");
  no_pattern.options.notice_ms = 1;
  no_pattern.start();
  REQUIRE(no_pattern.until([&] { return no_pattern.ready == 1; }));
  no_pattern.running.reset();
  CHECK(no_pattern.slow == 0);
}

TEST_CASE("a server's stdin stays open and empty") {
  temp_dir dir;
  // cat would end, and say so, if its input ended.
  REQUIRE(::mkfifo((dir / "look").c_str(), 0600) == 0);
  watched w("exec 3<&0; (cat <&3; echo eof) & read -r x < " + vx::text::shell_quote(dir / "look") + "; echo ready; wait",
            "ready");
  w.start();
  std::ofstream(dir / "look") << "go\n";
  REQUIRE(w.until([&] { return w.ready == 1; }));
  CHECK(w.running->alive());
  CHECK(w.output == "ready\n");
  w.running.reset();
  CHECK(w.output == "ready\n");
}

TEST_CASE("the run's cancel reaches a server, and its second request kills it") {
  watched w("trap '' TERM; echo ready; while :; do sleep 60; done", "ready");
  w.options.spawn.kill_grace_ms = 60'000;
  w.start();
  REQUIRE(w.until([&] { return w.ready == 1; }));
  const auto start = clock_type::now();
  w.cancel.request(SIGTERM);
  w.cancel.request(SIGKILL);
  REQUIRE(w.until([&] { return w.exits == 1; }));
  CHECK(seconds_since(start) < 10);
  CHECK(w.result.cancelled);
  CHECK(w.result.exit_code == 137);
}

TEST_CASE("a server that dies later tells so by itself") {
  temp_dir dir;
  REQUIRE(::mkfifo((dir / "die").c_str(), 0600) == 0);
  watched w("echo ready; read -r code < " + vx::text::shell_quote(dir / "die") + "; exit $code", "ready");
  w.start();
  REQUIRE(w.until([&] { return w.ready == 1; }));
  std::ofstream(dir / "die") << "5\n";
  REQUIRE(w.until([&] { return w.exits == 1; }));
  CHECK_FALSE(w.before_ready);
  CHECK(w.result.exit_code == 5);
  CHECK_FALSE(w.running->alive());
}

TEST_CASE("what cannot start calls no hook and says why") {
  watched shell("true");
  shell.options.spawn.shell = "/no/such/sh";
  auto got = server::start(shell.options, shell.hooks(), shell.table, shell.cancel);
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().message.find("start the shell /no/such/sh") == 0);
  CHECK(shell.exits == 0);
  CHECK(shell.ready == 0);
  CHECK(shell.table.groups().empty());

  watched pattern("true", "a(?=b)");
  got = server::start(pattern.options, pattern.hooks(), pattern.table, pattern.cancel);
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code == vx::errc::INVALID);
  CHECK(got.error().message.find("look-ahead") == 0);
}

TEST_CASE("a server's output hides secrets, readiness sees what was printed") {
  const vx::exec::mask secrets({"hunter2-secret"});
  watched w("echo login hunter2-secret; sleep 60 & wait", "hunter2-secret$");
  w.options.spawn.secrets = &secrets;
  w.start();
  REQUIRE(w.until([&] { return w.ready == 1; }));
  CHECK(w.output == "login ***\n");
  w.running.reset();
}
