#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "exec/child_loop.hpp"
#include "exec/process.hpp"
#include "exec/ready.hpp"

namespace vx::exec {

struct server::impl {
  impl(server::options o, server::hooks h, process_table& t, const cancel_token& c)
      : options(std::move(o)), hooks(std::move(h)), table(t), cancel(c) {}

  void work();
  void observe(child_process child, std::int64_t start);
  void tell_started(status outcome);

  server::options options;
  server::hooks hooks;
  process_table& table;
  const cancel_token& cancel;
  std::optional<ready_scanner> scanner;  // none: ready at once
  cancel_token stop;
  std::atomic<bool> alive{false};
  bool ready = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<status> started;  // guarded by mutex
  std::thread thread;
};

void server::impl::tell_started(status outcome) {
  const std::lock_guard lock(mutex);
  started = std::move(outcome);
  changed.notify_all();
}

/// The thread's body. The process is started here, so that a thread that cannot be had leaves no process behind.
void server::impl::work() {
  const std::int64_t start = mono_ns();
  result<child_process> child = start_child(options.spawn);
  if (!child) {
    tell_started(fail(std::move(child).error()));
    return;
  }
  table.add(child->pid);
  alive.store(true, std::memory_order_release);
  tell_started({});
  observe(std::move(*child), start);
}

void server::impl::observe(child_process child, std::int64_t start) {
  const auto became_ready = [this, start] {
    ready = true;
    if (hooks.on_ready) hooks.on_ready(mono_ns() - start);
  };
  loop_options loop;
  loop.start_ns = start;
  loop.stop = &stop;
  loop.on_end = [this] { alive.store(false, std::memory_order_release); };
  if (scanner) {
    loop.timeout_ms = options.ready_timeout_ms;
    loop.notice_ms = options.notice_ms;
    loop.on_notice = hooks.on_slow;
    loop.tap = [this, became_ready](int stream, std::string_view bytes) {
      if (!scanner->feed(stream, bytes)) return false;
      became_ready();
      return true;
    };
  } else {
    became_ready();
  }
  const output_fn output = hooks.output ? hooks.output : [](int, std::string_view) {};
  const spawn_result result = child_loop(std::move(child), options.spawn, output, table, cancel, std::move(loop)).run();
  alive.store(false, std::memory_order_release);
  if (hooks.on_exit) hooks.on_exit(result, !ready);
}

server::server() = default;

result<std::unique_ptr<server>> server::start(options options, hooks hooks, process_table& table, const cancel_token& cancel) {
  std::unique_ptr<server> out(new server);
  out->impl_ = std::make_unique<impl>(std::move(options), std::move(hooks), table, cancel);
  impl& self = *out->impl_;
  if (!self.options.ready_when.empty()) {
    VX_TRY_LET(ready_scanner scanner, ready_scanner::compile(self.options.ready_when));
    self.scanner.emplace(std::move(scanner));
  }
  self.thread = std::thread([&self] { self.work(); });
  std::unique_lock lock(self.mutex);
  self.changed.wait(lock, [&] { return self.started.has_value(); });
  if (status outcome = std::move(*self.started); !outcome) {
    lock.unlock();
    return fail(std::move(outcome).error());
  }
  lock.unlock();
  return out;
}

server::~server() { stop(); }

void server::stop() {
  if (!impl_) return;
  impl_->stop.request(SIGTERM);
  if (impl_->thread.joinable() && impl_->thread.get_id() != std::this_thread::get_id()) impl_->thread.join();
}

bool server::alive() const noexcept { return impl_ && impl_->alive.load(std::memory_order_acquire); }

}  // namespace vx::exec
