#include "base/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/platform.hpp"
#include "base/quiet_write.hpp"

namespace vx {
namespace {

// posix_spawn reports failures of chdir and exec as its own result, does all its work between clone and exec without
// touching the host's memory, and resets signals; see docs/dependencies.md for why it is preferred here.
class launch {
 public:
  explicit launch(const subprocess_options& options) : options_(options) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~launch() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  launch(const launch&) = delete;
  launch& operator=(const launch&) = delete;

  // 0 or an errno. The parent's ends of the pipes are left in `in`, `out`, `err`.
  int go(pid_t& pid, unique_fd& in, unique_fd& out, unique_fd& err) {
    if (const int e = plan_streams(in, out, err)) return e;
    for (const auto& [number, fd] : options_.extra_fds) bind(number, fd);
    if (const int e = apply_bindings()) return e;
    if (const int e = set_attributes()) return e;
    if (!options_.cwd.empty()) {
      if (const int e = ::posix_spawn_file_actions_addchdir_np(&actions_, options_.cwd.c_str())) return e;
    }
    std::vector<char*> argv{const_cast<char*>(options_.program.c_str())};
    for (const std::string& a : options_.args) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (const std::string& e : options_.env) envp.push_back(const_cast<char*>(e.c_str()));
    envp.push_back(nullptr);
    return ::posix_spawn(&pid, options_.program.c_str(), &actions_, &attributes_, argv.data(), envp.data());
  }

 private:
  struct binding {
    int number;  // in the child
    int fd;      // in the parent
  };

  void bind(int number, int fd) { bindings_.push_back({number, fd}); }

  int plan_streams(unique_fd& in, unique_fd& out, unique_fd& err) {
    if (options_.pipe_stdin) {
      if (const int e = platform::make_pipe(child_in_, in)) return e;
      bind(0, child_in_.get());
    }
    if (options_.stderr_to_host) {
      bind(2, 2);
    } else if (options_.pipe_stderr) {
      if (const int e = platform::make_pipe(err, child_err_)) return e;
      bind(2, child_err_.get());
    }
    if (options_.stdout_to_stderr) {
      if (options_.stderr_to_host) bind(1, 2);
      if (!options_.stderr_to_host && options_.pipe_stderr) bind(1, child_err_.get());
    } else if (options_.pipe_stdout) {
      if (const int e = platform::make_pipe(out, child_out_)) return e;
      bind(1, child_out_.get());
    }
    const bool needs_null = !bound(0) || !bound(1) || !bound(2);
    if (!needs_null) return 0;
    null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null_) return errno;
    for (const int number : {0, 1, 2}) {
      if (!bound(number)) bind(number, null_.get());
    }
    return 0;
  }

  bool bound(int number) const noexcept {
    return std::any_of(bindings_.begin(), bindings_.end(), [&](const binding& b) { return b.number == number; });
  }

  // Sources are first moved above every target number, so that no dup2 overwrites a source still needed.
  int apply_bindings() {
    int highest = 2;
    for (const binding& b : bindings_) highest = std::max(highest, b.number);
    for (binding& b : bindings_) {
      if (b.fd > highest) continue;
      unique_fd moved(::fcntl(b.fd, F_DUPFD_CLOEXEC, highest + 1));
      if (!moved) return errno;
      b.fd = moved.get();
      moved_.push_back(std::move(moved));
    }
    for (const binding& b : bindings_) {
      if (const int e = ::posix_spawn_file_actions_adddup2(&actions_, b.fd, b.number)) return e;
    }
    return platform::close_others(actions_, highest);
  }

  int set_attributes() {
    int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | platform::spawn_flags();
    if (options_.own_group) flags |= POSIX_SPAWN_SETSID;
    sigset_t all, none;  // the sig...set names are macros on macOS: no "::"
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    if (const int e = ::posix_spawnattr_setsigdefault(&attributes_, &all)) return e;
    if (const int e = ::posix_spawnattr_setsigmask(&attributes_, &none)) return e;
    return ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }

  const subprocess_options& options_;
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  unique_fd child_in_, child_out_, child_err_, null_;
  std::vector<binding> bindings_;
  std::vector<unique_fd> moved_;
};

}  // namespace

result<subprocess> subprocess::start(const subprocess_options& options) {
  subprocess child;
  child.group_ = options.own_group;
  pid_t pid = -1;
  launch starter(options);
  if (const int e = fs::fault("spawn", options.program.c_str())) return fail_sys(e, "cannot start", options.program);
  if (const int e = starter.go(pid, child.in_, child.out_, child.err_)) return fail_sys(e, "cannot start", options.program);
  child.pid_ = pid;
  return child;
}

subprocess::subprocess(subprocess&& o) noexcept
    : pid_(std::exchange(o.pid_, -1)),
      group_(o.group_),
      in_(std::move(o.in_)),
      out_(std::move(o.out_)),
      err_(std::move(o.err_)) {}

subprocess& subprocess::operator=(subprocess&& o) noexcept {
  if (this == &o) return *this;
  subprocess old(std::move(*this));  // killed and reaped at the end of this scope
  pid_ = std::exchange(o.pid_, -1);
  group_ = o.group_;
  in_ = std::move(o.in_);
  out_ = std::move(o.out_);
  err_ = std::move(o.err_);
  return *this;
}

subprocess::~subprocess() {
  if (pid_ <= 0) return;
  kill(SIGKILL);
  (void)wait();
}

result<int> subprocess::wait() {
  if (pid_ <= 0) return fail(errc::INTERNAL, "the process was waited for already");
  int wait_status = 0;
  while (::waitpid(pid_, &wait_status, 0) < 0) {
    if (errno == EINTR) continue;
    const int e = errno;
    pid_ = -1;
    // ECHILD: the host ignores SIGCHLD or reaps children that are not its own; the outcome is lost.
    return fail_sys(e, "cannot wait for a child process", "");
  }
  pid_ = -1;
  return wait_status;
}

void subprocess::kill(int signal) noexcept {
  // The number is ours while the process is not reaped, so neither form can reach a stranger.
  if (pid_ > 0) ::kill(group_ ? -pid_ : pid_, signal);
}

int subprocess_output::exit_code() const noexcept {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

namespace {

constexpr std::int64_t k_grace_ns = 2'000'000'000;  // between the polite signal and the kill

void set_nonblocking(const unique_fd& fd) noexcept {
  if (fd) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// Moves bytes between the caller and a child until its streams end, or it is told to stop and its grace is over.
class pump {
 public:
  pump(subprocess& child, std::string_view input, const cancel_token* cancel, std::uint32_t timeout_ms)
      : child_(child), input_(input), cancel_(cancel) {
    if (timeout_ms != 0) deadline_ = mono_ns() + std::int64_t{timeout_ms} * 1'000'000;
    set_nonblocking(child.in());
    set_nonblocking(child.out());
    set_nonblocking(child.err());
    if (input_.empty()) child.in().reset();
  }

  status move_bytes(subprocess_output& to) {
    while (child_.in() || child_.out() || child_.err()) {
      if (check_stop()) break;
      pollfd fds[4] = {{child_.in().get(), POLLOUT, 0},
                       {child_.out().get(), POLLIN, 0},
                       {child_.err().get(), POLLIN, 0},
                       {stopping_ || cancel_ == nullptr ? -1 : cancel_->fd(), POLLIN, 0}};
      if (::poll(fds, 4, wait_ms()) < 0 && errno != EINTR) return fail_sys(errno, "cannot poll", "");
      if (fds[0].revents != 0) feed();
      if (fds[1].revents != 0) drain(child_.out(), to.out);
      if (fds[2].revents != 0) drain(child_.err(), to.err);
    }
    return {};
  }

  /// The streams may end long before the process does, and the stop conditions hold until it has.
  status wait_end() {
    siginfo_t info;
    unique_fd watch;
    while (true) {
      info.si_pid = 0;
      if (::waitid(P_PID, static_cast<id_t>(child_.pid()), &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
        return {};
      if (info.si_pid != 0 || check_stop()) return {};
      if (!watch) watch = platform::watch_process(child_.pid());
      pollfd fds[2] = {{watch.get(), POLLIN, 0}, {stopping_ || cancel_ == nullptr ? -1 : cancel_->fd(), POLLIN, 0}};
      if (::poll(fds, 2, watch ? wait_ms() : 10) < 0 && errno != EINTR) return fail_sys(errno, "cannot poll", "");
    }
  }

  bool timed_out() const noexcept { return timed_out_; }
  bool cancelled() const noexcept { return cancelled_; }

 private:
  // True when reading must end now: the child was killed and whoever still holds the pipes is not waited for.
  bool check_stop() {
    const std::int64_t now = mono_ns();
    if (!stopping_) {
      cancelled_ = cancel_ != nullptr && cancel_->requested();
      timed_out_ = !cancelled_ && deadline_ != 0 && now >= deadline_;
      if (!cancelled_ && !timed_out_) return false;
      stopping_ = true;
      deadline_ = now + k_grace_ns;
      child_.kill(SIGTERM);
    }
    const bool at_once = cancel_ != nullptr && cancel_->kill_requested();
    if (!at_once && now < deadline_) return false;
    child_.kill(SIGKILL);
    return true;
  }

  int wait_ms() const {
    if (deadline_ == 0) return cancel_ != nullptr && cancel_->fd() < 0 ? 50 : -1;
    const std::int64_t left = deadline_ - mono_ns();
    const auto ms = static_cast<int>(std::clamp<std::int64_t>(left / 1'000'000 + 1, 0, 60'000));
    return stopping_ ? std::min(ms, 50) : ms;  // while stopping, a kill request must be seen too
  }

  void feed() {
    const ssize_t n = quiet_write(child_.in().get(), input_);
    if (n > 0) input_.remove_prefix(static_cast<std::size_t>(n));
    const bool dead = n < 0 && errno != EAGAIN && errno != EINTR;  // EPIPE: it does not read; its status tells
    if (dead || input_.empty()) child_.in().reset();
  }

  static void drain(unique_fd& fd, std::string& to) {
    char buffer[65536];
    while (true) {
      const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
      if (n > 0) {
        to.append(buffer, static_cast<std::size_t>(n));
        if (static_cast<std::size_t>(n) < sizeof buffer) return;
        continue;
      }
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      fd.reset();  // the end, or an error that reads as one
      return;
    }
  }

  subprocess& child_;
  std::string_view input_;
  const cancel_token* cancel_;
  std::int64_t deadline_ = 0;  // of the work, then of the grace; 0: none
  bool stopping_ = false, cancelled_ = false, timed_out_ = false;
};

}  // namespace

result<subprocess_output> run_subprocess(const subprocess_options& options, std::string_view input, const cancel_token* cancel,
                                         std::uint32_t timeout_ms) {
  if (cancel != nullptr && cancel->requested()) return fail(errc::CANCELLED, "cancelled");
  VX_TRY_LET(subprocess child, subprocess::start(options));
  subprocess_output out;
  pump work(child, input, cancel, timeout_ms);
  VX_TRY(work.move_bytes(out));
  VX_TRY(work.wait_end());
  out.timed_out = work.timed_out();
  VX_TRY_LET(out.wait_status, child.wait());
  if (work.cancelled()) return fail(errc::CANCELLED, "cancelled");
  return out;
}

}  // namespace vx
