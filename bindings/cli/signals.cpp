#include "cli/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace vx::cli {
namespace {

std::atomic<vx_cancel*> g_cancel{nullptr};
std::atomic<int> g_first{0};
static_assert(std::atomic<vx_cancel*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr int k_stops[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void on_stop(int number) {
  int none = 0;
  const bool first = g_first.compare_exchange_strong(none, number);
  if (vx_cancel* cancel = g_cancel.load()) vx_cancel_request(cancel, first ? number : SIGKILL);
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

bool ignored(int number) {
  struct sigaction current {};
  return ::sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

signal_guard::signal_guard(vx_cancel* cancel) {
  g_cancel.store(cancel);
  set_handler(SIGPIPE, SIG_IGN);
  for (const int number : k_stops) {
    // nohup: a hangup that was ignored at the start stays ignored.
    if (number == SIGHUP && ignored(number)) continue;
    set_handler(number, on_stop);
  }
}

signal_guard::~signal_guard() {
  // The handlers stay: between here and the end of the process a signal is only remembered.
  g_cancel.store(nullptr);
}

int signal_guard::received() noexcept { return g_first.load(); }

void end_by_signal(int number) {
  set_handler(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
  ::_exit(128 + number);
}

}  // namespace vx::cli
