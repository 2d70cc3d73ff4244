#include "exec/child_loop.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "exec/verdict.hpp"

namespace vx::exec {
namespace {

constexpr std::int64_t k_ms = 1'000'000;
constexpr std::int64_t k_drain_ns = 250 * k_ms;  ///< for output after the end of the process
constexpr std::int64_t k_group_poll_ns = 20 * k_ms;
constexpr std::int64_t k_kill_bound_ns = 2'000 * k_ms;  ///< how long SIGKILL may take before the process is given up
constexpr std::size_t k_read_bytes = std::size_t{64} << 10;
constexpr std::size_t k_last_drain_bytes = std::size_t{1} << 20;
constexpr std::string_view k_cut_line =
    "[vx] output cut 250 ms after the command ended: a process it left behind still holds it open\n";

/// Servers read a hang-up as "reload"; a cancel is not that.
int forwarded(int sig) { return sig == SIGINT || sig == SIGKILL ? sig : SIGTERM; }

}  // namespace

child_loop::child_loop(child_process child, const spawn_spec& spec, const output_fn& output, process_table& table,
                       const cancel_token& cancel, loop_options options)
    : child_(std::move(child)),
      spec_(spec),
      output_(output),
      table_(table),
      cancel_(cancel),
      options_(std::move(options)),
      masker_(spec.secrets),
      pipes_{pipe_end{std::move(child_.out), 1}, pipe_end{std::move(child_.err), 2}},
      buffer_(std::make_unique_for_overwrite<char[]>(k_read_bytes)),
      now_(mono_ns()) {
  result_.start_ns = options_.start_ns;
  if (options_.timeout_ms != 0) timeout_at_ = options_.start_ns + options_.timeout_ms * k_ms;
  if (options_.notice_ms != 0) notice_at_ = options_.start_ns + options_.notice_ms * k_ms;
}

spawn_result child_loop::run() {
  while (!finished()) wait_for_something();
  return conclude();
}

std::int64_t child_loop::next_deadline() const {
  std::int64_t next = masker_.release_at();
  const auto sooner = [&](std::int64_t at) {
    if (at != 0 && (next == 0 || at < next)) next = at;
  };
  if (phase_ == phase::running && !ended_) {
    sooner(timeout_at_);
    sooner(notice_at_);
  }
  if (phase_ == phase::running && ended_) sooner(drain_until_);
  if (phase_ != phase::running) {
    sooner(grace_at_);
    // Also looks for a second request: a token's descriptor tells only the first.
    sooner(now_ + k_group_poll_ns);
  }
  if (!ended_ && child_.watch.fd() < 0) sooner(now_ + k_group_poll_ns);
  return next;
}

void child_loop::wait_for_something() {
  std::array<pollfd, 5> polled{};
  nfds_t n = 0;
  const auto add = [&](int fd) {
    polled[n] = {fd, POLLIN, 0};
    return fd >= 0 ? &polled[n++] : nullptr;
  };
  const pollfd* pipe_at[2] = {add(pipes_[0].fd.get()), add(pipes_[1].fd.get())};
  const pollfd* end_at = ended_ ? nullptr : add(child_.watch.fd());
  if (!cancel_seen_) add(cancel_.fd());
  if (options_.stop != nullptr && !stop_seen_) add(options_.stop->fd());

  const std::int64_t deadline = next_deadline();
  int wait_ms = -1;
  if (deadline != 0) {
    const std::int64_t left = std::max<std::int64_t>(0, deadline - mono_ns());
    wait_ms = static_cast<int>(std::min<std::int64_t>((left + k_ms - 1) / k_ms, 60'000));
  }
  const int ready = ::poll(polled.data(), n, wait_ms);
  now_ = mono_ns();
  if (ready > 0) {
    // Output first: what was written before the end is read before the end is known.
    for (std::size_t i = 0; i < pipes_.size(); ++i) {
      if (pipe_at[i] != nullptr && pipe_at[i]->revents != 0) read_pipe(pipes_[i]);
    }
  }
  const bool noticed = end_at != nullptr ? ready > 0 && end_at->revents != 0 : !ended_ && has_ended(child_.pid);
  if (noticed) on_exit();
  on_requests();
  on_deadlines();
}

void child_loop::on_exit() {
  ended_ = true;
  result_.end_ns = now_;
  if (phase_ == phase::running) {
    drain_until_ = now_ + k_drain_ns;
  } else {
    if (!group_check_skips_zombies()) collect();
    group_gone_ = group_empty_ = !group_alive(child_.pid);
  }
  if (options_.on_end) options_.on_end();
}

/// Asks the kernel: the end may have come after the last poll, while a sink was slow.
bool child_loop::still_runs() {
  if (!ended_ && has_ended(child_.pid)) on_exit();
  return !ended_;
}

void child_loop::on_requests() {
  if (!cancel_seen_ && cancel_.requested()) {
    cancel_seen_ = true;
    if (still_runs()) {
      result_.cancelled = true;
      begin_stop(forwarded(cancel_.signal()));
    }
  }
  if (options_.stop != nullptr && !stop_seen_ && options_.stop->requested()) {
    stop_seen_ = true;
    if (still_runs()) {
      result_.stopped = true;
      begin_stop(forwarded(options_.stop->signal()));
    }
  }
  const bool hurry = cancel_.kill_requested() || (options_.stop != nullptr && options_.stop->kill_requested());
  if (hurry && phase_ == phase::stopping) escalate();
}

void child_loop::on_deadlines() {
  masker_.release_idle(now_, output_);
  if (phase_ == phase::running && !ended_) {
    if (notice_at_ != 0 && now_ >= notice_at_) {
      notice_at_ = 0;
      if (options_.on_notice) options_.on_notice();
    }
    if (timeout_at_ != 0 && now_ >= timeout_at_ && still_runs()) {
      result_.timed_out = true;
      begin_stop(SIGTERM);
    }
  }
  if (phase_ == phase::stopping && now_ >= grace_at_ && !group_gone_) escalate();
}

/// Only while the leader lives: what it leaves behind after an end of its own is left alone.
void child_loop::begin_stop(int sig) {
  if (phase_ == phase::killed) return;
  if (sig == SIGKILL) {
    escalate();
    return;
  }
  signal_group(sig);
  if (phase_ == phase::stopping) return;  // a second reason to stop does not lengthen the grace
  phase_ = phase::stopping;
  grace_at_ = now_ + spec_.kill_grace_ms * k_ms;
}

void child_loop::escalate() {
  phase_ = phase::killed;
  grace_at_ = now_ + k_kill_bound_ns;
  signal_group(SIGKILL);
}

void child_loop::signal_group(int sig) {
  if (child_.pid <= 1 || group_empty_) return;
  if (::kill(-child_.pid, sig) == 0 || errno == ESRCH) return;
  if (!ended_) child_.watch.signal(sig);
}

bool child_loop::finished() {
  if (phase_ == phase::running) {
    if (!ended_) return false;
    return (!pipes_[0].fd && !pipes_[1].fd) || now_ >= drain_until_ || cancel_seen_ || stop_seen_;
  }
  if (ended_ && !group_gone_ && now_ >= group_check_at_) {
    group_gone_ = !group_alive(child_.pid);
    group_check_at_ = now_ + k_group_poll_ns;
    // A process that was being created while the others were killed.
    if (!group_gone_ && phase_ == phase::killed) signal_group(SIGKILL);
  }
  return (ended_ && group_gone_) || (phase_ == phase::killed && now_ >= grace_at_);
}

void child_loop::read_pipe(pipe_end& pipe) {
  for (;;) {
    const ssize_t n = ::read(pipe.fd.get(), buffer_.get(), k_read_bytes);
    if (n > 0) {
      deliver(pipe.stream, {buffer_.get(), static_cast<std::size_t>(n)});
      return;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || errno != EAGAIN) pipe.fd.reset();
    return;
  }
}

void child_loop::deliver(int stream, std::string_view bytes) {
  last_byte_ = bytes.back();
  // The text first, then the news that it means readiness.
  masker_.push(stream, bytes, now_, output_);
  if (options_.tap && options_.tap(stream, bytes)) {
    options_.tap = nullptr;
    timeout_at_ = notice_at_ = 0;
  }
}

/// What the pipes hold already; a process that escaped the group may go on writing, hence the bound.
void child_loop::drain_now() {
  for (pipe_end& pipe : pipes_) {
    std::size_t budget = k_last_drain_bytes / k_read_bytes;
    pollfd polled{pipe.fd.get(), POLLIN, 0};
    while (pipe.fd && budget-- != 0 && ::poll(&polled, 1, 0) > 0) read_pipe(pipe);
  }
}

void child_loop::say_cut() {
  result_.output_cut = true;
  if (last_byte_ != '\n') output_(2, "\n");
  output_(2, k_cut_line);
}

void child_loop::collect() {
  if (collected_) return;
  table_.remove(child_.pid);  // before the number is free for others
  collected_ = reap(child_.pid);
  for (int tries = 0; collected_->what == reaped::kind::running && ended_ && tries < 100; ++tries) {
    ::poll(nullptr, 0, 1);  // a system may tell the end before the child can be collected
    collected_ = reap(child_.pid);
  }
}

spawn_result child_loop::conclude() {
  drain_now();
  const bool open = pipes_[0].fd || pipes_[1].fd;
  masker_.finish(output_);
  if (open && phase_ == phase::running) say_cut();
  for (pipe_end& pipe : pipes_) pipe.fd.reset();
  child_.in.reset();
  if (result_.end_ns == 0) result_.end_ns = mono_ns();

  collect();
  const reaped& got = *collected_;
  result_.cpu_ns = got.cpu_ns;
  result_.peak_rss_bytes = got.peak_rss_bytes;
  switch (got.what) {
    case reaped::kind::ended: fill_status(got.status); break;
    case reaped::kind::running:
      result_.exit_code = 128 + SIGKILL;
      result_.signal = SIGKILL;
      result_.note = "internal error: the process did not end within 2 s of SIGKILL";
      break;
    case reaped::kind::lost:
      result_.exit_code = 1;
      result_.status_lost = true;
      result_.note = "internal error: the exit status was collected by the host process (does it wait for any child?)";
      break;
  }
  return std::move(result_);
}

void child_loop::fill_status(int status) {
  if (WIFSIGNALED(status)) {
    result_.signal = WTERMSIG(status);
    result_.exit_code = 128 + result_.signal;
  } else {
    result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 130;
  }
  if (result_.timed_out) {
    result_.exit_code = result_.signal == SIGKILL ? 128 + SIGKILL : 128 + SIGTERM;
    return;
  }
  if (result_.cancelled || result_.stopped) return;
  result_.note = verdict_line(spec_, result_.exit_code, result_.signal);
  if (spec_.secrets != nullptr && !result_.note.empty()) result_.note = spec_.secrets->apply(result_.note);
}

}  // namespace vx::exec
