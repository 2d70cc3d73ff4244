#include "base/subprocess.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "support/child.hpp"
#include "support/temp_dir.hpp"

using namespace vx;

namespace {

subprocess_options shell(std::string script) {
  subprocess_options o;
  o.program = "/bin/sh";
  o.args = {"-c", std::move(script)};
  o.env = {"PATH=/usr/bin:/bin", "A=1"};
  return o;
}

subprocess_options self(std::vector<std::string> args) {
  subprocess_options o;
  o.program = test::self_path();
  o.args = {"--vx-child"};
  o.args.insert(o.args.end(), args.begin(), args.end());
  return o;
}

// Prints the open descriptors, so that a leak shows.
int list_fds(const std::vector<std::string>&) {
  for (int fd = 0; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) ::dprintf(1, "%d ", fd);
  }
  return 0;
}
const bool k_list = test::register_child("list-fds", list_fds);

// Tells which signals arrive blocked or ignored.
int show_signals(const std::vector<std::string>&) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (const int s : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1}) {
    struct sigaction action {};
    ::sigaction(s, nullptr, &action);
    if (::sigismember(&mask, s) == 1 || action.sa_handler != SIG_DFL) ::dprintf(1, "%d ", s);
  }
  return 0;
}
const bool k_signals = test::register_child("show-signals", show_signals);

int ignore_term(const std::vector<std::string>&) {
  ::signal(SIGTERM, SIG_IGN);
  ::dprintf(1, "ready\n");
  for (;;) ::pause();
}
const bool k_ignore = test::register_child("ignore-term", ignore_term);

// Closes its streams at once and lives on.
int close_and_stay(const std::vector<std::string>&) {
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  for (;;) ::pause();
}
const bool k_close = test::register_child("close-and-stay", close_and_stay);

bool process_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

TEST_CASE("both streams, the exit code, arguments, environment and directory arrive") {
  const test::temp_dir dir;
  auto o = shell("echo out; echo err >&2; pwd; printf '%s|' \"$0\" \"$@\"; env | sort | grep -v -e PWD -e SHLVL -e _=; exit 7");
  o.args.insert(o.args.end(), {"zero", "a b", "", "\xff"});
  o.cwd = dir.path();
  const auto got = run_subprocess(o);
  REQUIRE(got);
  CHECK(got->exit_code() == 7);
  CHECK_FALSE(got->ok());
  CHECK(got->err == "err\n");
  CHECK(got->out == "out\n" + dir.path() + "\nzero|a b||\xff|A=1\nPATH=/usr/bin:/bin\n");
}

TEST_CASE("a megabyte goes in and comes back while both sides are full") {
  std::string big(3'000'000, 'x');
  for (std::size_t i = 0; i < big.size(); i += 997) big[i] = static_cast<char>(i);
  auto o = shell("cat; echo done >&2");
  o.pipe_stdin = true;
  const auto got = run_subprocess(o, big);
  REQUIRE(got);
  CHECK(got->ok());
  CHECK(got->out == big);
  CHECK(got->err == "done\n");
}

TEST_CASE("a child that does not read its input is no failure and raises no SIGPIPE") {
  auto o = shell("exec 0<&-; echo fine");
  o.pipe_stdin = true;
  const auto got = run_subprocess(o, std::string(1'000'000, 'x'));
  REQUIRE(got);
  CHECK(got->out == "fine\n");
  CHECK(got->ok());
}

TEST_CASE("streams that are not piped are /dev/null") {
  auto o = shell("cat; echo lost; echo lost >&2; exit 3");
  o.pipe_stdout = o.pipe_stderr = false;
  const auto got = run_subprocess(o);
  REQUIRE(got);
  CHECK(got->exit_code() == 3);
  CHECK(got->out.empty());
  CHECK(got->err.empty());
}

TEST_CASE("stdout can follow stderr") {
  auto o = shell("echo one; echo two >&2");
  o.stdout_to_stderr = true;
  const auto got = run_subprocess(o);
  REQUIRE(got);
  CHECK(got->err == "one\ntwo\n");
  CHECK(got->out.empty());
}

TEST_CASE("what cannot be started is a failure with the reason") {
  const test::temp_dir dir;
  dir.write("data", "x", 0644);
  dir.write("no-interpreter", "#!/nonexistent-vx\n", 0755);
  subprocess_options o;
  for (const auto& [program, sys] :
       {std::pair{dir / "absent", ENOENT}, {dir / "data", EACCES}, {dir / "no-interpreter", ENOENT}, {dir.path(), EACCES}}) {
    CAPTURE(program);
    o.program = program;
    const auto got = run_subprocess(o);
    REQUIRE_FALSE(got);
    CHECK(got.error().sys == sys);
  }
  auto gone = shell("true");
  gone.cwd = dir / "absent";
  CHECK(run_subprocess(gone).error().sys == ENOENT);
}

TEST_CASE("a death by signal reads as 128 + n") {
  const auto got = run_subprocess(shell("kill -9 $$"));
  REQUIRE(got);
  CHECK(got->exit_code() == 137);
  CHECK_FALSE(got->ok());
}

TEST_CASE("the child holds the descriptors it was given and no other") {
  const unique_fd leak(::open("/dev/null", O_RDONLY));  // a careless host: not close-on-exec
  const unique_fd high(::fcntl(leak.get(), F_DUPFD, 100));
  REQUIRE(high);
  auto o = self({"list-fds"});
  CHECK(run_subprocess(o)->out == "0 1 2 ");
  o.extra_fds = {{3, leak.get()}, {4, leak.get()}};
  CHECK(run_subprocess(o)->out == "0 1 2 3 4 ");
}

TEST_CASE("extra descriptors keep their identity when numbers cross") {
  const test::temp_dir dir;
  dir.write("a", "A");
  dir.write("b", "B");
  auto a = *fs::open_at(fs::k_cwd, dir / "a", O_RDONLY);
  auto b = *fs::open_at(fs::k_cwd, dir / "b", O_RDONLY);
  auto o = shell("cat <&\"$1\"; cat <&\"$2\"");
  // Each one's number in the child is the other's number here.
  o.args.insert(o.args.end(), {"sh", std::to_string(b.get()), std::to_string(a.get())});
  if (a.get() > 9 || b.get() > 9) return;  // the shell's redirections take one digit
  o.extra_fds = {{b.get(), a.get()}, {a.get(), b.get()}};
  const auto got = run_subprocess(o);
  REQUIRE(got);
  CHECK(got->out == "AB");
}

TEST_CASE("signals start at their defaults and unblocked, whatever the host does") {
  struct sigaction ignore {
  }, old_pipe{}, old_usr{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &old_pipe);
  ::sigaction(SIGUSR1, &ignore, &old_usr);
  std::string out;
  {
    const signals_blocked all;
    const auto got = run_subprocess(self({"show-signals"}));
    if (got) out = got->out + "end";
  }
  ::sigaction(SIGPIPE, &old_pipe, nullptr);
  ::sigaction(SIGUSR1, &old_usr, nullptr);
  CHECK(out == "end");
}

TEST_CASE("with a group of its own the child leads a session") {
  auto o = shell("ps -o pid=,pgid=,sid= -p $$ | tr -s ' '");
  o.program = "/bin/sh";
  o.args = {
      "-c",
      "read -r pid comm state ppid pgrp session rest < /proc/self/stat; [ $pgrp = $session ] && [ $pgrp != \"$1\" ]; echo $?",
      "sh", std::to_string(::getpgrp())};
  CHECK(run_subprocess(o)->out == "0\n");
  o.own_group = false;
  CHECK(run_subprocess(o)->out == "1\n");
}

TEST_CASE("a timeout kills the tree and says so") {
  const std::int64_t start = mono_ns();
  const auto got = run_subprocess(shell("echo begun; sleep 1000 & sleep 1000"), {}, nullptr, 200);
  REQUIRE(got);
  CHECK(got->timed_out);
  CHECK_FALSE(got->ok());
  CHECK(got->out == "begun\n");
  CHECK(mono_ns() - start < 30'000'000'000);
}

TEST_CASE("a timeout reaches a child that closed its streams") {
  const auto got = run_subprocess(self({"close-and-stay"}), {}, nullptr, 100);
  REQUIRE(got);
  CHECK(got->timed_out);
}

TEST_CASE("a cancel from another thread ends a running child") {
  cancel_token token;
  joined_thread asker([&] { token.request(SIGTERM); });
  const auto got = run_subprocess(shell("sleep 1000"), {}, &token);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == errc::CANCELLED);
}

TEST_CASE("a kill request does not wait for a child that ignores the polite signal") {
  cancel_token token;
  auto child = subprocess::start(self({"ignore-term"}));
  REQUIRE(child);
  char buffer[6] = {};
  REQUIRE(::read(child->out().get(), buffer, 6) == 6);  // it ignores SIGTERM from here on
  child->kill(SIGTERM);
  child->kill(SIGKILL);
  const auto end = child->wait();
  REQUIRE(end);
  CHECK(WTERMSIG(*end) == SIGKILL);
  token.request(SIGINT);
  token.request(SIGKILL);
  CHECK(run_subprocess(self({"ignore-term"}), {}, &token).error().code == errc::CANCELLED);
}

TEST_CASE("nothing starts once cancelled") {
  const test::temp_dir dir;
  cancel_token token;
  token.request(SIGINT);
  auto o = shell("touch made");
  o.cwd = dir.path();
  CHECK(run_subprocess(o, {}, &token).error().code == errc::CANCELLED);
  CHECK_FALSE(dir.exists("made"));
}

TEST_CASE("a dropped child is killed and reaped, its tree with it") {
  pid_t pid = -1, grandchild = -1;
  {
    auto child = subprocess::start(shell("sleep 1000 & echo $!; wait"));
    REQUIRE(child);
    pid = child->pid();
    char buffer[32] = {};
    REQUIRE(::read(child->out().get(), buffer, sizeof buffer - 1) > 0);
    grandchild = static_cast<pid_t>(std::stol(buffer));
  }
  CHECK(process_gone(pid));
  // The grandchild was killed; whoever adopted it may not have reaped it yet.
  for (int i = 0; i < 10'000 && !process_gone(grandchild); ++i) {
    const auto stat = fs::read_file_at(fs::k_cwd, "/proc/" + std::to_string(grandchild) + "/stat");
    if (stat && stat->find(") Z ") != std::string::npos) return;
    ::poll(nullptr, 0, 1);
  }
  CHECK(process_gone(grandchild));
}

TEST_CASE("moving a child moves the duty to reap it") {
  auto first = subprocess::start(shell("sleep 1000"));
  auto second = subprocess::start(shell("exit 4"));
  REQUIRE(first);
  REQUIRE(second);
  const pid_t doomed = first->pid();
  *first = std::move(*second);
  CHECK(process_gone(doomed));
  const auto end = first->wait();
  REQUIRE(end);
  CHECK(WEXITSTATUS(*end) == 4);
  CHECK_FALSE(first->wait());
}

TEST_CASE("children of other threads do not hold each other's pipes open") {
  std::atomic<int> bad{0};
  std::vector<joined_thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto o = shell("cat");
        o.pipe_stdin = true;
        const auto got = run_subprocess(o, "x");
        if (!got || got->out != "x") ++bad;
      }
    });
  }
  threads.clear();
  CHECK(bad == 0);
}
