#include "base/threads.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace vx;

namespace {

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a parallel loop visits every index once, in chunks no smaller than asked but the last") {
  for (const std::size_t n : {0UL, 1UL, 7UL, 64UL, 1000UL, 10007UL}) {
    for (const unsigned threads : {0U, 1U, 2U, 5U, 64U}) {
      for (const std::size_t min_chunk : {0UL, 1UL, 16UL, 5000UL}) {
        std::vector<std::atomic<int>> seen(n);
        std::atomic<int> small{0};
        parallel_for(n, threads, min_chunk, [&](std::size_t begin, std::size_t end) {
          if (end - begin < min_chunk && end != n) ++small;
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
        });
        CHECK(small == 0);
        bool once = true;
        for (const auto& s : seen) once = once && s == 1;
        CHECK(once);
      }
    }
  }
}

TEST_CASE("one thread or little work stays on the caller's thread") {
  const auto caller = std::this_thread::get_id();
  bool elsewhere = false;
  const auto body = [&](std::size_t, std::size_t) { elsewhere = elsewhere || std::this_thread::get_id() != caller; };
  parallel_for(1000, 1, 1, body);
  parallel_for(10, 8, 10, body);
  CHECK_FALSE(elsewhere);
}

TEST_CASE("threads of the loop take no signals of the host") {
  std::mutex lock;
  std::set<bool> blocked;
  const auto caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  parallel_for(2, 2, 1, [&](std::size_t, std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();  // both threads take part
    if (std::this_thread::get_id() == caller) return;
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const std::scoped_lock hold(lock);
    blocked.insert(::sigismember(&mask, SIGINT) == 1 && ::sigismember(&mask, SIGCHLD) == 1);
  });
  CHECK(blocked == std::set<bool>{true});
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(::sigismember(&mask, SIGINT) == 0);
}

TEST_CASE("there is at least one CPU") { CHECK(usable_cpus() >= 1); }

TEST_CASE("a token tells of the first request and stays readable") {
  cancel_token token;
  CHECK_FALSE(token.requested());
  CHECK_FALSE(readable(token.fd()));
  errno = 77;
  token.request(SIGINT);
  CHECK(errno == 77);
  CHECK(token.requested());
  CHECK(token.signal() == SIGINT);
  CHECK_FALSE(token.kill_requested());
  CHECK(readable(token.fd()));
  CHECK(readable(token.fd()));
  token.request(SIGTERM);
  CHECK(token.signal() == SIGINT);
  token.request(SIGKILL);
  CHECK(token.signal() == SIGINT);
  CHECK(token.kill_requested());
}

TEST_CASE("thousands of requests do not block the requester") {
  cancel_token token;
  for (int i = 0; i < 20'000; ++i) token.request(SIGTERM);
  CHECK(readable(token.fd()));
}

TEST_CASE("a request from another thread wakes a poll") {
  cancel_token token;
  joined_thread asker([&] { token.request(SIGTERM); });
  pollfd p{token.fd(), POLLIN, 0};
  CHECK(::poll(&p, 1, 20'000) == 1);
  CHECK(token.signal() == SIGTERM);
}

namespace {
cancel_token* g_token = nullptr;
}

TEST_CASE("a signal handler may raise the token") {
  cancel_token token;
  g_token = &token;
  struct sigaction action {
  }, old{};
  action.sa_handler = [](int s) { g_token->request(s); };
  ::sigaction(SIGUSR1, &action, &old);
  ::raise(SIGUSR1);
  ::sigaction(SIGUSR1, &old, nullptr);
  CHECK(token.signal() == SIGUSR1);
  CHECK(readable(token.fd()));
}
