#include "run/early.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/threads.hpp"
#include "cache/outputs.hpp"
#include "run/state.hpp"

namespace vx::run {
namespace {

void probe_store(run_state& s, const std::vector<std::uint32_t>& nodes) {
  std::vector<digest128> wanted;
  wanted.reserve(nodes.size());
  for (const std::uint32_t node : nodes) wanted.push_back(s.keys.at(node).key);
  std::vector<std::optional<cache::lookup_result>> found = s.p.store->lookup_many(wanted, true);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t node = nodes[i];
    if (!found[i] && s.p.store->artifact_present(wanted[i]))
      found[i] =
          s.p.store->adopt(wanted[i], s.p.tasks[node].project->name, s.p.tasks[node].config->name, *s.p.tasks[node].scope);
    s.early.probed[node] = found[i] ? probe::hit : probe::miss;
    s.early.hits[node] = std::move(found[i]);
    s.early.tier[node] = s.early.probed[node] == probe::hit && s.judged.tier_allowed[node];
  }
}

void prove_current(run_state& s, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> asked;
  std::vector<digest128> wanted;
  for (const std::uint32_t node : nodes) {
    if (s.early.tier[node] == 0) continue;
    if (!s.p.tasks[node].scope->declares_any()) {
      s.early.current[node] = s.early.has_snapshot[node] = 1;
      continue;
    }
    asked.push_back(node);
    wanted.push_back(s.keys.at(node).key);
  }
  const std::vector<std::optional<cache::index::current_state>> known = s.p.index->current_many(wanted);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!known[i]) continue;
    const std::uint32_t node = asked[i];
    s.early.current[node] =
        cache::is_current(*s.p.tasks[node].scope, s.early.hits[node]->outputs, known[i]->stamps, known[i]->dirs);
    s.early.has_snapshot[node] = !known[i]->dirs.empty();
  }
}

/// Tasks whose keys are known, on their way to the store and to the tree. Keys come from one thread, because each folds others;
/// lookups and proofs of a batch follow beside it. A batch belongs to one thread, so the rows of `early` need no lock.
class pipeline {
 public:
  explicit pipeline(run_state& s) : s_(s) {
    // One thread keeps the store's connection busy, others stat meanwhile; more would wait for the connection.
    for (unsigned n = std::min(usable_cpus(), 4u); n > 1; --n) {
      try {
        others_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        break;  // no more threads to be had: fewer hands do the same work
      }
    }
  }
  ~pipeline() { finish(); }
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void add(std::uint32_t node) {
    batch_.push_back(node);
    if (batch_.size() == k_batch) send();
  }

  /// Sends the rest and helps until all is done.
  void finish() {
    if (closed_) return;
    send();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    work();
    for (std::thread& t : others_) t.join();
  }

 private:
  static constexpr std::size_t k_batch = 256;  ///< keys of one statement

  void send() {
    if (batch_.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::exchange(batch_, {}));
    }
    changed_.notify_one();
  }

  void work() {
    for (;;) {
      std::vector<std::uint32_t> nodes;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !ready_.empty(); });
        if (ready_.empty()) return;
        nodes = std::move(ready_.front());
        ready_.pop_front();
      }
      probe_store(s_, nodes);
      prove_current(s_, nodes);
    }
  }

  run_state& s_;
  std::vector<std::uint32_t> batch_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::vector<std::uint32_t>> ready_;
  bool closed_ = false;
  std::vector<std::thread> others_;  ///< last: they use all of the above
};

bool is_probed(const run_state& s, std::uint32_t node) {
  return s.p.schedule.scheduled[node] && !s.judged.shares_outputs[node] && s.p.may_read(node) && s.keys.known(node);
}

std::vector<std::uint32_t> stable_nodes(const run_state& s) {
  std::vector<std::uint32_t> stable;
  stable.reserve(s.p.tasks.size());
  for (const std::uint32_t node : s.p.graph.edges.topological_order())
    if (s.judged.stable[node]) stable.push_back(node);
  return stable;
}

void derive_keys(run_state& s, pipeline& to) {
  const stage_span span(s.p.timing, "keys");
  const std::vector<std::uint32_t> stable = stable_nodes(s);
  s.keys.warm_probes(stable);
  for (const std::uint32_t node : stable) {
    // A server nobody depends on needs no key.
    if (s.p.tasks[node].config->persistent && s.p.graph.edges.dependents(node).empty()) continue;
    if (s.cancel.requested()) return;
    (void)s.keys.derive(node);
    if (is_probed(s, node)) to.add(node);
  }
}

}  // namespace

void run_early_pass(run_state& s) {
  const std::size_t n = s.p.graph.nodes.size();
  s.early.probed.assign(n, probe::none);
  s.early.hits.resize(n);
  s.early.current.assign(n, 0);
  s.early.has_snapshot.assign(n, 0);
  s.early.tier.assign(n, 0);
  if (!s.p.request.policy.local_read || s.p.store->empty()) return;
  pipeline settle(s);
  derive_keys(s, settle);
  const stage_span span(s.p.timing, "classify + probe");
  settle.finish();
}

}  // namespace vx::run
