#include "run/run.hpp"

#include <csignal>
#include <future>
#include <thread>
#include <utility>

#include "base/path.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "cache/outputs.hpp"
#include "run/additive.hpp"
#include "run/coordinator.hpp"
#include "run/history.hpp"
#include "run/prepare.hpp"
#include "run/records.hpp"
#include "run/run_lock.hpp"
#include "run/state.hpp"

namespace vx::run {
namespace {

std::uint32_t env_number(const environment& env, const char* name, std::uint32_t fallback, std::uint32_t low,
                         std::uint32_t high) {
  const auto n = text::parse_uint(env.get(name));
  return n && *n >= low && *n <= high ? static_cast<std::uint32_t>(*n) : fallback;
}

/// Exit statuses are lost when the host ignores SIGCHLD; the disposition is only read.
status check_sigchld() {
  struct sigaction now {};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0) return {};
  if (now.sa_handler != SIG_IGN && (now.sa_flags & SA_NOCLDWAIT) == 0) return {};
  return fail(errc::UNSUPPORTED,
              "SIGCHLD is ignored in this process, so exit codes of tasks would be lost: restore its default disposition");
}

int signal_exit(int signal) { return signal == SIGINT ? 130 : signal == SIGHUP ? 129 : signal == SIGKILL ? 137 : 143; }

}  // namespace

result<run_settings> resolve_settings(const prepared& p) {
  run_settings out;
  VX_TRY_LET(out.shell, exec::find_shell(p.h->env));
  out.default_retries = p.request.retry.value_or(0);
  out.default_timeout_ms = p.ws().settings.timeout_ms.value_or(0);
  if (const auto n = text::parse_uint(p.h->env.get("VX_TASK_TIMEOUT")); n && *n > 0)
    out.default_timeout_ms = static_cast<std::uint32_t>(std::min<std::uint64_t>(*n, 2147483647));
  if (p.request.timeout_ms) out.default_timeout_ms = *p.request.timeout_ms;
  out.kill_grace_ms = env_number(p.h->env, "VX_KILL_GRACE_MS", 2000, 1, 2147483647);
  out.ready_notice_ms = env_number(p.h->env, "VX_READY_NOTICE_MS", 10000, 1, 2147483647);
  return out;
}

struct active_run::impl {
  std::shared_ptr<const host> h;
  run_request request;
  std::shared_ptr<cancel_token> cancel;
  std::unique_ptr<prepared> p;
  std::unique_ptr<dispatcher> out;
  std::unique_ptr<run_state> s;
  run_context context;
  run_lock lock;
  totals counted;
  run_end_info end;
  std::thread thread;
  run_id id{};
  std::int64_t wall0 = 0, mono0 = 0;

  void make_state() {
    s = std::make_unique<run_state>(*p, *cancel, *out);
    s->id = id;
    s->wall0 = wall0;
    s->mono0 = mono0;
  }

  void connect_notices() {
    if (!out->active()) return;
    p->notices.set_sink([this](const notice_line& n) { out->event(status_record(*s, n)); });
  }

  /// False: the run ends here (cancelled while waiting, or the workspace no longer prepares).
  bool take_lock() {
    const run_lock::taken got =
        lock.take(*h, *cancel, [this](std::string line) { p->notices.say(level::notice, std::move(line)); });
    if (!got.warning.empty()) p->notices.say(level::warning, got.warning);
    if (got.cancelled) return false;
    if (got.held) cache::remove_dead_stages(h->root + "/.vx/stage");
    if (!got.waited) return true;
    // Whoever held the lock may have changed anything: learn it all again.
    p->notices.set_sink(nullptr);
    s.reset();
    result<std::unique_ptr<prepared>> again = prepare(h, request, prepare_mode::run, cancel.get());
    if (again) p = std::move(*again);
    make_state();
    connect_notices();
    if (again) return true;
    p->notices.say(level::warning, again.error().message);
    return false;
  }

  std::uint32_t real_tasks(bool requested_only) const {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < p->tasks.size(); ++i) {
      if (p->is_group(i) || !p->schedule.scheduled[i]) continue;
      if (!requested_only || p->graph.nodes[i].requested || p->graph.nodes[i].surfaced) ++n;
    }
    return n;
  }

  void execute() {
    result<run_settings> settings = resolve_settings(*p);
    if (!settings) {
      p->notices.say(level::warning, settings.error().message);
      return finish(false, 1);
    }
    if (!take_lock()) return finish(false, cancel->requested() ? signal_exit(cancel->signal()) : 1);
    s->settings = std::move(*settings);
    context = out->active() || !p->tasks.empty() ? read_context(*p) : run_context{};
    if (out->active()) out->event(run_start_record(*s, context, real_tasks(false), real_tasks(true)));
    s->judged = judge_stability(*p);
    prepare_additive(*s);
    s->keys.set_late_probes(s->judged.late_probes);
    run_early_pass(*s);
    coordinator graph(*s);
    bool started = true;
    {
      const stage_span span(p->timing, "run graph");
      const status ran = graph.run();
      if (!ran) {
        p->notices.say(level::warning, ran.error().message);
        started = false;
      }
    }
    const std::vector<std::uint32_t> kept = graph.kept();
    if (kept.empty()) graph.stop_servers();
    snapshot_directories();
    bool ok = started && !graph.server_died();
    for (std::uint32_t i = 0; i < s->outcomes.size(); ++i)
      if (p->schedule.scheduled[i] && !passes(s->outcomes[i].status)) ok = false;
    if (p->tasks.empty()) ok = p->selection.none_affected;
    finish(ok && !cancel->requested(),
           cancel->requested() ? signal_exit(cancel->signal())
           : ok                ? 0
                               : 1,
           kept.empty() ? nullptr : &graph, kept);
  }

  void snapshot_directories() {
    const stage_span span(p->timing, "output dir snapshots");
    for (const std::uint32_t node : s->snapshot) {
      if (!s->early.hits[node]) continue;
      const cache::lookup_result& hit = *s->early.hits[node];
      std::string blob = cache::snapshot_dirs(*p->tasks[node].scope, hit.outputs);
      if (!blob.empty()) p->index->put_dirs(hit.entry.key, std::move(blob));
    }
  }

  void retain() {
    if (cancel->requested() || p->store->mode() != cache::store_mode::read_write) return;
    if (!s->used.empty()) p->store->touch_used(s->used, wall_ns());
    const auto& limits = p->ws().settings.cache_retention;
    cache::store::retention policy;
    policy.older_than_ns.reset();
    if (limits.older_than_ms) policy.older_than_ns = static_cast<std::int64_t>(*limits.older_than_ms) * 1'000'000;
    policy.max_bytes = limits.max_bytes;
    if (!policy.older_than_ns && !policy.max_bytes) return;
    if (const auto pruned = p->store->prune(policy, false, false); !pruned)
      p->notices.say(level::warning, "old cache entries were not removed: " + pruned.error().message);
  }

  /// History goes to the checkout's database, uses and retention to the store's: each has a connection of its own.
  void close_books() {
    std::future<void> kept =
        std::async(std::launch::async | std::launch::deferred, [this] { retain(); });  // deferred: no thread to be had
    {
      const stage_span span(p->timing, "record history");
      if (!cancel->requested() && !p->tasks.empty())
        record_history(*s, context, counted, end);
      else
        p->index->flush();
    }
    const stage_span span(p->timing, "close");
    kept.get();
  }

  void write_summary() {
    if (!request.summarize) return;
    const std::string name = request.summarize_path.empty()          ? h->root + "/.vx/runs/" + format_run_id(id) + ".json"
                             : request.summarize_path.front() == '/' ? request.summarize_path
                                                                     : path::join(h->cwd, request.summarize_path);
    const std::string dir(path::parent(name));
    status written = dir.empty() ? status{} : fs::make_dirs_at(fs::k_cwd, dir);
    if (written) written = fs::write_file_atomic_at(fs::k_cwd, name, summary_document(*s, counted, end) + "\n");
    if (!written) p->notices.say(level::warning, "the summary was not written: " + written.error().message);
  }

  /// A failure may be the absence of a tracked file that lies among another task's outputs.
  void hint_at_cleaned_files() {
    std::string first, owner;
    std::size_t more = 0;
    for (const auto& [node, path] : s->cleaned) {
      if (fs::exists_at(fs::k_cwd, path::join(h->root, path))) continue;
      if (!first.empty())
        ++more;
      else
        first = path, owner = p->graph.nodes[node].id;
    }
    if (first.empty()) return;
    const std::string what =
        more > 0 ? " and " + std::to_string(more) + " more tracked files are missing" : " is tracked by git and missing";
    p->notices.say(level::notice, text::escape(first, true) + what + ": removed as an output of " + owner +
                                      " before it ran; `git restore` brings it back, a `!` entry in cache.outputs keeps it");
  }

  void finish(bool ok, int code, coordinator* holding = nullptr, const std::vector<std::uint32_t>& kept = {}) {
    end = {ok, code, wall_ns(), mono_ns() - mono0};
    counted = count(*s, p->schedule.scheduled);
    if (const auto line = p->facts->sparse_notice()) p->notices.say(level::notice, *line);
    if (counted.failed > 0) hint_at_cleaned_files();
    p->facts->flush_memos();
    if (!cancel->requested()) p->facts->remember_listing();
    close_books();
    write_failures(*s);
    write_summary();
    end.duration_ns = mono_ns() - mono0;
    end.ended_wall_ns = wall_ns();
    close_caches();
    lock.release();
    if (out->active()) {
      std::vector<std::string> ids;
      for (const std::uint32_t node : kept) ids.push_back(p->graph.nodes[node].id);
      out->event(run_summary_record(*s, context, counted, end, !out->skips_current()));
      out->event(run_end_record(*s, end, ids));
    }
    if (holding == nullptr) return;
    const bool failed = holding->hold();
    if (cancel->requested())
      end = {false, signal_exit(cancel->signal()), wall_ns(), mono_ns() - mono0};
    else if (failed)
      end = {false, 1, wall_ns(), mono_ns() - mono0};
    write_summary();
  }

  /// With the run, not with the handle: a host may keep that for its summary, and another process waits for neither.
  void close_caches() {
    p->store.reset();
    p->facts->set_memo(nullptr);
    p->memo.reset();
    p->index.reset();
  }
};

active_run::active_run() : impl_(std::make_unique<impl>()) {}

result<std::unique_ptr<active_run>> active_run::start(std::shared_ptr<const host> h, run_request request,
                                                      std::unique_ptr<observer> who, std::shared_ptr<cancel_token> cancel) {
  VX_TRY(check_sigchld());
  std::unique_ptr<active_run> r(new active_run);
  impl& m = *r->impl_;
  m.h = std::move(h);
  m.request = std::move(request);
  m.cancel = cancel != nullptr ? std::move(cancel) : std::make_shared<cancel_token>();
  m.id = new_run_id();
  m.wall0 = wall_ns();
  m.mono0 = mono_ns();
  VX_TRY_LET(m.p, prepare(m.h, m.request, prepare_mode::run, m.cancel.get()));
  const signals_blocked quiet;  // what these threads start inherits it; tasks get an empty mask from the launcher
  m.out = std::make_unique<dispatcher>(std::move(who));
  m.make_state();
  m.connect_notices();
  m.thread = std::thread([&m] { m.execute(); });
  return r;
}

active_run::~active_run() {
  if (!impl_->thread.joinable()) return;
  impl_->cancel->request(SIGKILL);
  impl_->thread.join();
}

result<std::string> active_run::wait(bool with_summary) {
  impl& m = *impl_;
  if (m.out->active() && m.out->on_callback_thread())
    return fail(errc::INVALID, "a run can't be waited for from its own callback");
  if (m.thread.joinable()) m.thread.join();
  m.out->drain();
  return with_summary ? summary_document(*m.s, m.counted, m.end) : std::string();
}

void active_run::cancel(int signal) noexcept { impl_->cancel->request(signal); }
bool active_run::ok() const noexcept { return impl_->end.ok; }
int active_run::exit_code() const noexcept { return impl_->end.exit_code; }

}  // namespace vx::run
