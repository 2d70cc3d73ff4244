#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "exec/launch.hpp"
#include "exec/reap.hpp"
#include "support/temp_dir.hpp"
#include "task_fixture.hpp"

using namespace vx::test;
using vx::exec::spawn_result;
using clock_type = std::chrono::steady_clock;

namespace {

/// Starts a process in a session of its own that holds its output open, and tells its pid.
int escape(const std::vector<std::string>&) {
  int ready[2];
  if (::pipe(ready) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const ssize_t told = ::write(ready[1], "x", 1);
    (void)told;
    for (;;) ::pause();
  }
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) return 1;
  std::printf("%d\n", static_cast<int>(child));
  std::fflush(stdout);
  for (;;) ::pause();
}
const bool reg_escape = register_child("escape", escape);

/// A host in a pid namespace whose /proc is its parent's: zombies cannot be told from the living there.
int foreign_proc(const std::vector<std::string>&) {
  const auto start = clock_type::now();
  task t("sleep 60 & wait");
  t.spec.timeout_ms = 100;
  t.spec.kill_grace_ms = 20'000;
  const spawn_result r = t.run();
  const bool told_apart = vx::exec::group_check_skips_zombies();
  return told_apart ? 10 : r.exit_code != 143 ? 11 : seconds_since(start) > 10 ? 12 : 0;
}
const bool reg_foreign = register_child("foreign-proc", foreign_proc);

/// Runs a task on another thread and hands out its output as it comes.
struct background {
  task t;
  std::atomic<bool> ready{false};
  std::future<spawn_result> result;

  explicit background(std::string command) : t(std::move(command)) {}
  void start() {
    t.on_output = [this](int, std::string_view) {
      if (t.out.find("ready\n") != std::string::npos) ready = true;
    };
    result = std::async(std::launch::async, [this] { return t.run(); });
    REQUIRE(eventually([&] { return ready.load(); }));
  }
};

pid_t first_number(const std::string& text) { return static_cast<pid_t>(std::atoi(text.c_str())); }

}  // namespace

TEST_CASE("a timeout asks politely, and takes the whole group") {
  const auto start = clock_type::now();
  task t("sleep 60 & echo $!; wait");
  t.spec.timeout_ms = 200;
  t.spec.kill_grace_ms = 20'000;
  const spawn_result r = t.run();
  CHECK(r.timed_out);
  CHECK(r.exit_code == 143);
  CHECK(r.signal == SIGTERM);
  CHECK(r.note == "");
  CHECK_FALSE(r.cancelled);
  CHECK(seconds_since(start) >= 0.2);
  CHECK(seconds_since(start) < 10);  // not the grace
  CHECK_FALSE(process_alive(first_number(t.out)));
  CHECK(t.table.groups().empty());
}

TEST_CASE("a timed out task that ends by itself has timed out all the same") {
  task t("trap 'echo cleaned; exit 0' TERM; echo ready; sleep 60 & wait");
  t.spec.timeout_ms = 1500;
  const spawn_result r = t.run();
  CHECK(r.timed_out);
  CHECK(r.exit_code == 143);
  CHECK(t.out == "ready\ncleaned\n");
}

TEST_CASE("who ignores the polite signal is killed at the grace") {
  const auto start = clock_type::now();
  task t("trap '' TERM; echo $$; while :; do sleep 60; done");
  t.spec.timeout_ms = 1000;
  t.spec.kill_grace_ms = 300;
  const spawn_result r = t.run();
  CHECK(r.timed_out);
  CHECK(r.exit_code == 137);
  CHECK(r.signal == SIGKILL);
  CHECK(seconds_since(start) >= 1.2);
  CHECK(seconds_since(start) < 15);
}

TEST_CASE("a grandchild that ignores the signal is waited for and killed although the leader has gone") {
  task t("(trap '' TERM; echo ready; while :; do sleep 60; done) & echo $!; wait");
  t.spec.timeout_ms = 1500;
  t.spec.kill_grace_ms = 300;
  const auto start = clock_type::now();
  const spawn_result r = t.run();
  CHECK(r.exit_code == 143);  // the polite signal took the task itself
  CHECK(seconds_since(start) >= 1.7);
  CHECK(seconds_since(start) < 15);
  const std::size_t digit = t.out.find_first_of("0123456789");
  REQUIRE(digit != std::string::npos);
  CHECK_FALSE(process_alive(first_number(t.out.substr(digit))));
}

TEST_CASE("zombies are no members of a group") {
  // Orphans come to this process, which does not collect them: they stay zombies.
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  task t("sleep 60 & sleep 60 & wait");
  t.spec.timeout_ms = 1500;
  t.spec.kill_grace_ms = 20'000;
  const auto start = clock_type::now();
  const spawn_result r = t.run();
  CHECK(r.exit_code == 143);
  CHECK(seconds_since(start) < 15);
  int orphans = 0;
  while (::waitpid(-1, nullptr, 0) > 0) ++orphans;
  CHECK(orphans == 2);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("a procfs of another pid namespace is not believed") {
  task can("unshare --pid --fork true");
  if (can.run().exit_code != 0) {
    MESSAGE("skipped: no pid namespaces here");
    return;
  }
  task t("exec unshare --pid --fork sh -c " +
         vx::text::shell_quote("trap : TERM; " + vx::text::shell_quote(self_path()) + " --vx-child foreign-proc; exit $?"));
  const spawn_result r = t.run();
  CHECK(r.exit_code == 0);
  CHECK(t.err == "");
}

TEST_CASE("a cancel is forwarded once to the whole group, a hang-up as TERM") {
  struct row {
    int asked;
    const char* heard;
  };
  for (const row& r : {row{SIGINT, "INT"}, row{SIGTERM, "TERM"}, row{SIGHUP, "TERM"}}) {
    CAPTURE(r.asked);
    background b(
        "trap 'echo INT; end=1' INT; trap 'echo TERM; end=1' TERM; trap 'echo HUP; end=1' HUP; echo ready; "
        "while [ -z \"$end\" ]; do sleep 0.02; done; exit 9");
    b.t.spec.kill_grace_ms = 20'000;
    b.start();
    const auto start = clock_type::now();
    std::thread([&] { b.t.cancel.request(r.asked); }).join();
    const spawn_result got = b.result.get();
    CHECK(seconds_since(start) < 10);
    CHECK(b.t.out == std::string("ready\n") + r.heard + "\n");
    CHECK(got.cancelled);
    CHECK(got.exit_code == 9);
    CHECK(got.note == "");
  }
}

TEST_CASE("a second request kills at once") {
  background b("trap '' INT TERM; sleep 60 & echo ready; wait; wait; wait");
  b.t.spec.kill_grace_ms = 60'000;
  b.start();
  const auto start = clock_type::now();
  b.t.cancel.request(SIGINT);
  b.t.cancel.request(SIGKILL);
  const spawn_result got = b.result.get();
  CHECK(got.cancelled);
  CHECK(got.signal == SIGKILL);
  CHECK(got.exit_code == 137);
  CHECK(got.note == "");
  CHECK(seconds_since(start) < 10);
}

TEST_CASE("a first request that is SIGKILL spares the politeness") {
  background b("trap 'echo polite' TERM INT; echo ready; while :; do sleep 60; done");
  b.t.spec.kill_grace_ms = 60'000;
  b.start();
  b.t.cancel.request(SIGKILL);
  const spawn_result got = b.result.get();
  CHECK(got.exit_code == 137);
  CHECK(b.t.out == "ready\n");
}

TEST_CASE("a cancel asked before the start starts nothing") {
  temp_dir dir;
  task t("echo x > " + vx::text::shell_quote(dir / "ran"));
  t.cancel.request(SIGTERM);
  const spawn_result r = t.run();
  CHECK(r.cancelled);
  CHECK(r.exit_code == 143);
  CHECK_FALSE(dir.exists("ran"));
}

TEST_CASE("a cancel after the end of the task is none of its business") {
  // The leader ends, a leftover holds the pipe; the request comes in while the output is drained.
  task t("sleep 60 & echo $!; exit 0");
  t.on_output = [&](int, std::string_view) {
    REQUIRE(eventually([&] { return !process_alive(t.table.groups().at(0)); }));
    t.cancel.request(SIGTERM);
  };
  const auto start = clock_type::now();
  const spawn_result r = t.run();
  CHECK(r.exit_code == 0);
  CHECK_FALSE(r.cancelled);
  CHECK(seconds_since(start) < 5);
  const pid_t left = first_number(t.out);
  CHECK(process_alive(left));
  ::kill(left, SIGKILL);
}

TEST_CASE("a process that left the session is out of reach and holds nothing up") {
  background b(fixture("escape"));
  b.t.spec.kill_grace_ms = 20'000;
  b.t.on_output = nullptr;
  std::atomic<int> escaped{0};
  b.t.on_output = [&](int, std::string_view) { escaped = first_number(b.t.out); };
  b.result = std::async(std::launch::async, [&] { return b.t.run(); });
  REQUIRE(eventually([&] { return escaped.load() > 0; }));
  const auto start = clock_type::now();
  b.t.cancel.request(SIGTERM);
  const spawn_result r = b.result.get();
  CHECK(r.exit_code == 143);
  CHECK(seconds_since(start) < 10);
  CHECK(process_alive(escaped));
  ::kill(escaped, SIGKILL);
}

TEST_CASE("the table reaches every listed group and nothing else") {
  background a("echo ready; sleep 60"), b("echo ready; sleep 60");
  b.t.on_output = nullptr;
  a.start();
  std::atomic<bool> other{false};
  std::future<spawn_result> second = std::async(std::launch::async, [&] {
    task t("echo ready; exec sleep 60");
    return vx::exec::run_task(
        t.spec, [&](int, std::string_view) { other = true; }, a.t.table, t.cancel);
  });
  REQUIRE(eventually([&] { return other.load(); }));
  CHECK(a.t.table.groups().size() == 2);
  a.t.table.signal_all(SIGKILL);
  CHECK(a.result.get().exit_code == 137);
  CHECK(second.get().exit_code == 137);
  CHECK(a.t.table.groups().empty());
}

TEST_CASE("numbers that are no group are never signalled") {
  vx::exec::process_table table;
  for (const pid_t wrong : {0, 1, -1, -static_cast<int>(::getpgrp())}) {
    CHECK_FALSE(vx::exec::group_alive(wrong));
    vx::exec::kill_group(wrong, SIGKILL, 0, nullptr);
    table.add(wrong);
  }
  table.signal_all(SIGKILL);  // this process is alive after it
  CHECK(table.groups().size() == 4);
}

TEST_CASE("kill_group: gone groups, polite ones, stubborn ones, hurried ones") {
  const auto start_group = [](const char* command) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setsid();
      ::dup2(ready[1], 1);
      ::close(ready[0]);
      ::close(ready[1]);
      ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ready[1]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    return pid;
  };
  const auto end_status = [](pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };

  const pid_t polite = start_group("echo; exec sleep 60");
  CHECK(vx::exec::group_alive(polite));
  vx::exec::kill_group(polite, SIGTERM, 60'000, nullptr);
  CHECK_FALSE(vx::exec::group_alive(polite));  // a zombie by now
  CHECK(::kill(-polite, 0) == 0);
  CHECK(end_status(polite) == SIGTERM);
  vx::exec::kill_group(polite, SIGTERM, 60'000, nullptr);

  const pid_t stubborn = start_group("trap '' TERM; echo; while :; do sleep 60; done");
  vx::exec::kill_group(stubborn, SIGTERM, 100, nullptr);
  CHECK(end_status(stubborn) == SIGKILL);

  const pid_t hurried = start_group("trap '' TERM; echo; while :; do sleep 60; done");
  vx::cancel_token hurry;
  hurry.request(SIGKILL);
  const auto start = clock_type::now();
  vx::exec::kill_group(hurried, SIGTERM, 60'000, &hurry);
  CHECK(seconds_since(start) < 10);
  CHECK(end_status(hurried) == SIGKILL);
}

TEST_CASE("without a pidfd the end is noticed all the same") {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  char sh[] = "sh", flag[] = "-c", command[] = "exit 5";
  char* argv[] = {sh, flag, command, nullptr};
  char* envp[] = {nullptr};
  auto started = vx::exec::launch({"/bin/sh", argv, envp, "/", null, null, null});
  REQUIRE(started.pid > 0);
  {
    vx::exec::exit_watch watch(started.pid, vx::unique_fd());
    REQUIRE(watch.fd() >= 0);
    pollfd polled{watch.fd(), POLLIN, 0};
    CHECK(::poll(&polled, 1, 10'000) == 1);
    CHECK(polled.revents != 0);
    CHECK(vx::exec::has_ended(started.pid));
  }
  const auto got = vx::exec::reap(started.pid);
  CHECK(got.what == vx::exec::reaped::kind::ended);
  CHECK(WEXITSTATUS(got.status) == 5);
  CHECK(vx::exec::reap(started.pid).what == vx::exec::reaped::kind::lost);
  ::close(null);
}
