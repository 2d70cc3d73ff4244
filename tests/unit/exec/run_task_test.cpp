#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "exec/capture.hpp"
#include "support/temp_dir.hpp"
#include "task_fixture.hpp"

using namespace vx::test;
using vx::exec::spawn_result;

namespace {

int print_signals(const std::vector<std::string>&) {
  for (int sig = 1; sig < 65; ++sig) {
    struct sigaction now {};
    if (::sigaction(sig, nullptr, &now) == 0 && now.sa_handler != SIG_DFL) std::printf("disposition %d\n", sig);
  }
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int sig = 1; sig < 65; ++sig) {
    if (::sigismember(&mask, sig) == 1) std::printf("blocked %d\n", sig);
  }
  return 0;
}
const bool reg_signals = register_child("print-signals", print_signals);

int open_files(const std::vector<std::string>&) {
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) std::printf("%d\n", fd);
  }
  return 0;
}
const bool reg_files = register_child("open-files", open_files);

int spam(const std::vector<std::string>& args) {
  const std::size_t total = std::stoul(args[0]);
  std::vector<char> block(std::size_t{1} << 16);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 31 % 251);
  for (std::size_t done = 0; done < total;) {
    const ssize_t n = ::write(1, block.data(), std::min(block.size(), total - done));
    if (n <= 0) return 1;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}
const bool reg_spam = register_child("spam", spam);

int eat(const std::vector<std::string>& args) {
  std::vector<char> memory(std::stoul(args[0]) << 20, 'x');
  volatile char sum = 0;
  for (std::size_t i = 0; i < memory.size(); i += 4096) sum = static_cast<char>(sum + memory[i]);
  return sum == 1 ? 1 : 0;
}
const bool reg_eat = register_child("eat", eat);

int burn(const std::vector<std::string>&) {
  rusage usage{};
  do {
    ::getrusage(RUSAGE_SELF, &usage);
  } while (usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec + usage.ru_stime.tv_usec < 50'000);
  return 0;
}
const bool reg_burn = register_child("burn", burn);

/// A host whose own standard descriptors are closed: the pipes of a task come to lie on 0 to 2.
int bare_host(const std::vector<std::string>& args) {
  for (const int fd : {0, 1, 2}) ::close(fd);
  task t("cat; echo out; echo err >&2");
  const spawn_result r = t.run();
  std::ofstream(args[0]) << r.exit_code << ' ' << t.out << ' ' << t.err << ' ' << r.note;
  return 0;
}
const bool reg_bare = register_child("bare-host", bare_host);

}  // namespace

TEST_CASE("exit codes come back as they are") {
  for (const int code : {0, 1, 2, 3, 42, 125, 128, 255}) {
    task t("exit " + std::to_string(code));
    const spawn_result r = t.run();
    CHECK(r.exit_code == code);
    CHECK(r.signal == 0);
    CHECK_FALSE(r.timed_out);
    CHECK_FALSE(r.cancelled);
    CHECK_FALSE(r.spawn_failed);
    CHECK_FALSE(r.output_cut);
    CHECK(r.end_ns >= r.start_ns);
    CHECK(t.table.groups().empty());
  }
}

TEST_CASE("a signal is 128 and its number, with its usual cause") {
  struct row {
    const char* name;
    int number;
    const char* note;
  };
  for (const row& r : {
           row{"KILL", SIGKILL, "killed by SIGKILL: out of memory"},
           row{"SEGV", SIGSEGV, "killed by SIGSEGV: a crash in native code"},
           row{"ABRT", SIGABRT, "killed by SIGABRT: a failed assertion"},
           row{"PIPE", SIGPIPE, "killed by SIGPIPE: the reader"},
           row{"TERM", SIGTERM, "killed by SIGTERM"},
       }) {
    task t("ulimit -c 0; kill -" + std::string(r.name) + " $$");
    const spawn_result got = t.run();
    CHECK(got.signal == r.number);
    CHECK(got.exit_code == 128 + r.number);
    CHECK(got.note.find(r.note) == 0);
  }
  task inner("ulimit -c 0; sh -c 'kill -SEGV $$'; exit $?");
  const spawn_result got = inner.run();
  CHECK(got.signal == 0);
  CHECK(got.exit_code == 139);
  CHECK(got.note.find("exit 139 is 128 + SIGSEGV") == 0);
}

TEST_CASE("both streams arrive whole and apart, and stdin is at its end") {
  task t("cat; printf 'a\\000b\\377'; echo err >&2; printf no-newline");
  const spawn_result r = t.run();
  CHECK(r.exit_code == 0);
  CHECK(t.out == std::string("a\0b\377", 4) + "no-newline");
  CHECK(t.err == "err\n");
}

TEST_CASE("the environment and the directory are exactly the given ones") {
  temp_dir dir;
  task u("exec /usr/bin/env");
  u.spec.env = {"B=2 2", "A=1", "EMPTY="};
  CHECK(u.run().exit_code == 0);
  CHECK(u.out.find("B=2 2\n") != std::string::npos);
  CHECK(u.out.find("HOME") == std::string::npos);
  task v("pwd -P");
  v.spec.cwd = dir.path();
  CHECK(v.run().exit_code == 0);
  CHECK(v.out == dir.path() + "\n");
}

TEST_CASE("a task leads its own session and group") {
  task t("read -r stat < /proc/self/stat; echo $$ \"$stat\"");
  CHECK(t.run().exit_code == 0);
  long pid = 0, self = 0, ppid = 0, group = 0, session = 0;
  REQUIRE(std::sscanf(t.out.c_str(), "%ld %ld (%*[^)]) %*c %ld %ld %ld", &pid, &self, &ppid, &group, &session) == 5);
  CHECK(pid == self);
  CHECK(group == pid);
  CHECK(session == pid);
  CHECK(ppid == ::getpid());
}

TEST_CASE("dispositions and the mask of the host do not reach the task") {
  struct sigaction ignore {
  }, before_usr{}, before_pipe{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &ignore, &before_usr);
  ::sigaction(SIGPIPE, &ignore, &before_pipe);
  sigset_t block, before_mask;
  ::sigemptyset(&block);
  ::sigaddset(&block, SIGUSR2);
  ::sigaddset(&block, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &block, &before_mask);
  task t(fixture("print-signals"));
  t.spec.env.push_back(
      "ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:detect_leaks=0");
  t.spec.env.push_back("TSAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0");
  const spawn_result r = t.run();
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before_mask, &after);
  ::sigaction(SIGUSR1, &before_usr, nullptr);
  ::sigaction(SIGPIPE, &before_pipe, nullptr);
  CHECK(r.exit_code == 0);
  CHECK(t.out == "");
  CHECK(::sigismember(&after, SIGUSR2) == 1);
  CHECK(::sigismember(&after, SIGINT) == 0);
}

TEST_CASE("no descriptor of the host crosses, close-on-exec or not") {
  std::vector<vx::unique_fd> open;
  for (int i = 0; i < 40; ++i) open.emplace_back(::open("/dev/null", i % 2 == 0 ? O_RDONLY : O_RDONLY | O_CLOEXEC));
  task t(fixture("open-files"));
  CHECK(t.run().exit_code == 0);
  CHECK(t.out == "0\n1\n2\n");
}

TEST_CASE("a host without standard descriptors runs tasks like any other") {
  temp_dir dir;
  task t(fixture("bare-host " + vx::text::shell_quote(dir / "result")));
  CHECK(t.run().exit_code == 0);
  CHECK(dir.read("result") == "0 out\n err\n ");
}

TEST_CASE("a process left behind does not hold the task; what it holds open is cut and said") {
  temp_dir dir;
  const auto start = std::chrono::steady_clock::now();
  task t("echo partial; printf tail; sleep 60 & echo $! > " + vx::text::shell_quote(dir / "pid") + "; exit 7");
  const spawn_result r = t.run();
  CHECK(seconds_since(start) >= 0.25);
  CHECK(seconds_since(start) < 5);
  CHECK(r.exit_code == 7);
  CHECK(r.output_cut);
  CHECK(r.end_ns - r.start_ns < 5'000'000'000);
  CHECK(t.out == "partial\ntail");
  CHECK(t.err.find("\n[vx] output cut") == 0);
  CHECK(t.err.ends_with("\n"));
  const pid_t left = std::stoi(dir.read("pid"));
  CHECK(process_alive(left));  // a clean end leaves it alone
  ::kill(left, SIGKILL);
}

TEST_CASE("a process left behind that holds nothing open is not waited for") {
  temp_dir dir;
  REQUIRE(::mkfifo((dir / "let-go").c_str(), 0600) == 0);
  const std::string let_go = vx::text::shell_quote(dir / "let-go");
  task t("(exec >/dev/null 2>&1; echo x > " + let_go + "; exec sleep 60) & echo $! > " + vx::text::shell_quote(dir / "pid") +
         "; read -r x < " + let_go);
  const spawn_result r = t.run();
  CHECK(r.exit_code == 0);
  CHECK_FALSE(r.output_cut);
  CHECK(t.err == "");
  const pid_t left = std::stoi(dir.read("pid"));
  CHECK(process_alive(left));
  ::kill(left, SIGKILL);
}

TEST_CASE("100 MB of output arrive whole, and the capture of them stays bounded") {
  constexpr std::size_t k_total = 100'000'000;
  task t("");
  t.spec.command = fixture("spam " + std::to_string(k_total));
  std::size_t seen = 0;
  bool right = true;
  vx::exec::capture kept;
  const spawn_result r = vx::exec::run_task(
      t.spec,
      [&](int stream, std::string_view bytes) {
        right = right && stream == 1;
        for (std::size_t i = 0; i < bytes.size() && right; i += 997) {
          right = bytes[i] == static_cast<char>((seen + i) % 65536 * 31 % 251);
        }
        seen += bytes.size();
        kept.add(stream, bytes);
      },
      t.table, t.cancel);
  CHECK(r.exit_code == 0);
  CHECK(seen == k_total);
  CHECK(right);
  const auto records = kept.take();
  REQUIRE(records.size() == 3);
  CHECK(records[1].dropped >= k_total - (std::size_t{16} << 20));
}

TEST_CASE("CPU time is the task's own; a peak is told only when it is its own") {
  task busy(fixture("burn"));
  CHECK(busy.run().cpu_ns >= 45'000'000);
  task idle("true");
  const spawn_result small = idle.run();
  CHECK(small.cpu_ns < 1'000'000'000);
  CHECK(small.peak_rss_bytes == std::nullopt);  // what the kernel reports is this test's memory
  rusage self{};
  ::getrusage(RUSAGE_SELF, &self);
  const std::size_t more = static_cast<std::size_t>(self.ru_maxrss) / 1024 + 64;
  task large(fixture("eat " + std::to_string(more)));
  const spawn_result big = large.run();
  REQUIRE(big.peak_rss_bytes.has_value());
  CHECK(*big.peak_rss_bytes >= static_cast<std::int64_t>(more << 20));
}

TEST_CASE("a spawn that fails is an outcome with its reason") {
  task shell("true");
  shell.spec.shell = "/no/such/sh";
  spawn_result r = shell.run();
  CHECK(r.spawn_failed);
  CHECK(r.exit_code == 127);
  CHECK(r.note.find("start the shell /no/such/sh: No such file") == 0);
  CHECK(shell.table.groups().empty());

  task cwd("true");
  cwd.spec.cwd = "/no/such/dir";
  r = cwd.run();
  CHECK(r.spawn_failed);
  CHECK(r.exit_code == 127);
  CHECK(r.note.find("enter /no/such/dir: No such file") == 0);

  task big("true");
  big.spec.env.push_back("BIG=" + std::string(std::size_t{8} << 20, 'x'));
  r = big.run();
  CHECK(r.spawn_failed);
  CHECK(r.note.find("Argument list too long") != std::string::npos);
}

TEST_CASE("running out of descriptors is a spawn failure that says what to do") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  for (int spare = 0; spare < 5; ++spare) {
    rlimit low = before;
    low.rlim_cur = static_cast<rlim_t>(next + spare);
    ::setrlimit(RLIMIT_NOFILE, &low);
    task* t = nullptr;
    {
      ::setrlimit(RLIMIT_NOFILE, &before);
      t = new task("true");  // its token needs a descriptor of its own, which moves `next`
      ::setrlimit(RLIMIT_NOFILE, &low);
    }
    const spawn_result r = t->run();
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(r.spawn_failed);
    CHECK(r.exit_code == 127);
    CHECK(r.note.find("ulimit -n 4096") != std::string::npos);
    delete t;
    const int again = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(again);
    CHECK(again == next);  // nothing leaked
  }
}

TEST_CASE("secrets are hidden across writes, and a harmless tail is shown after a moment of silence") {
  const vx::exec::mask secrets({"hunter2-secret"});
  task t("printf 'a hunter2'; printf -- '-secret b'; printf 'hunter2-secret' >&2");
  t.spec.secrets = &secrets;
  CHECK(t.run().exit_code == 0);
  CHECK(t.out == "a *** b");
  CHECK(t.err == "***");

  temp_dir dir;
  REQUIRE(::mkfifo((dir / "go").c_str(), 0600) == 0);
  task waiting("printf 'hunter'; read -r x < " + vx::text::shell_quote(dir / "go") + "; printf 2-fast");
  waiting.spec.secrets = &secrets;
  std::thread writer;
  waiting.on_output = [&](int, std::string_view) {
    // Only once the held tail has come out does the task get to go on.
    if (!writer.joinable()) writer = std::thread([&] { std::ofstream(dir / "go") << "go\n"; });
  };
  waiting.spec.timeout_ms = 20'000;
  const spawn_result r = waiting.run();
  if (writer.joinable()) writer.join();
  CHECK_FALSE(r.timed_out);
  CHECK(waiting.out == "hunter2-fast");
}

TEST_CASE("a note hides secrets too") {
  const vx::exec::mask secrets({"hunter2-secret"});
  task t("exec hunter2-secret");
  t.spec.secrets = &secrets;
  const spawn_result r = t.run();
  CHECK(r.exit_code == 127);
  CHECK(r.note.find("\"***\" is not on the task's PATH") == 0);
}
