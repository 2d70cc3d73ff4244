// The guest rules: what a host may do beside running tasks, and what it finds unchanged after them.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "task_fixture.hpp"

using namespace vx::test;
using vx::exec::spawn_result;

namespace {
std::atomic<int> children_heard{0};
void on_child(int) { children_heard.fetch_add(1, std::memory_order_relaxed); }
void on_interrupt(int) {}
}  // namespace

TEST_CASE("200 tasks from 8 threads leave the host's handlers, mask, directory, umask and children alone") {
  struct sigaction mine {
  }, before_chld{}, before_int{};
  mine.sa_handler = on_child;
  mine.sa_flags = SA_RESTART;
  ::sigaction(SIGCHLD, &mine, &before_chld);
  mine.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &mine, &before_int);
  sigset_t mask_before, mask_after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  char cwd_before[4096], cwd_after[4096];
  REQUIRE(::getcwd(cwd_before, sizeof cwd_before) != nullptr);

  std::vector<pid_t> own;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(40 + i);
    own.push_back(pid);
  }

  vx::exec::process_table table;
  vx::cancel_token cancel;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i) {
        const int code = (thread * 25 + i) % 100;
        task t("echo " + std::to_string(code) + "; exit " + std::to_string(code));
        std::string out;
        const spawn_result r = vx::exec::run_task(
            t.spec, [&](int, std::string_view bytes) { out += bytes; }, table, cancel);
        if (r.exit_code != code || out != std::to_string(code) + "\n" || r.status_lost || r.output_cut) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(table.groups().empty());

  for (int i = 0; i < 8; ++i) {
    int status = 0;
    CHECK(::waitpid(own[static_cast<std::size_t>(i)], &status, 0) == own[static_cast<std::size_t>(i)]);
    CHECK(WEXITSTATUS(status) == 40 + i);
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // nothing of ours is left to collect
  CHECK(errno == ECHILD);
  CHECK(children_heard > 0);

  struct sigaction after {};
  ::sigaction(SIGCHLD, &before_chld, &after);
  CHECK((after.sa_handler == on_child));
  ::sigaction(SIGINT, &before_int, &after);
  CHECK((after.sa_handler == on_interrupt));
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  for (int sig = 1; sig < 65; ++sig) CHECK(::sigismember(&mask_before, sig) == ::sigismember(&mask_after, sig));
  REQUIRE(::getcwd(cwd_after, sizeof cwd_after) != nullptr);
  CHECK(std::string(cwd_before) == cwd_after);
}

TEST_CASE("the host's umask and limits are inherited untouched") {
  const mode_t before = ::umask(027);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  task t("umask; ulimit -S -n");
  const spawn_result r = t.run();
  CHECK(::umask(before) == 027);
  CHECK(r.exit_code == 0);
  const std::string limit = files.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(files.rlim_cur);
  CHECK(t.out == "0027\n" + limit + "\n");
}

TEST_CASE("a host that collects every child costs a named failure, not a hang") {
  task t("echo x; exit 0");
  t.on_output = [&](int, std::string_view) {
    const pid_t pid = t.table.groups().at(0);
    CHECK(::waitpid(-1, nullptr, 0) == pid);
  };
  const spawn_result r = t.run();
  CHECK(r.status_lost);
  CHECK(r.exit_code == 1);
  CHECK(r.note.find("internal error: the exit status was collected by the host process") == 0);
  CHECK(t.table.groups().empty());
}

TEST_CASE("SIGPIPE in the host's hands changes nothing") {
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    struct sigaction mine {
    }, before{};
    mine.sa_handler = handler;
    ::sigaction(SIGPIPE, &mine, &before);
    task t("exec 0<&- ; yes | head -n 1; exit 3");
    const spawn_result r = t.run();
    ::sigaction(SIGPIPE, &before, nullptr);
    CHECK(r.exit_code == 3);
    CHECK(t.out == "y\n");
    CHECK(t.err == "");  // yes dies of SIGPIPE silently: its disposition is the default
  }
}

TEST_CASE("no descriptor is left open by tasks, cancelled ones included") {
  const auto open_files = [] {
    int n = 0;
    for (int fd = 0; fd < 256; ++fd) {
      struct stat st {};
      if (::fstat(fd, &st) == 0) ++n;
    }
    return n;
  };
  {
    task warm_up("true");
    warm_up.run();
  }
  const int before = open_files();
  for (int i = 0; i < 5; ++i) {
    task t("echo ready; exec sleep 60");
    if (i % 2 == 0) {
      t.on_output = [&](int, std::string_view) { t.cancel.request(SIGTERM); };
    } else {
      t.spec.timeout_ms = 50;
    }
    t.spec.keep_stdin_open = i > 2;
    t.run();
  }
  CHECK(open_files() == before);
}
