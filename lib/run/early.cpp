#include "run/early.hpp"

#include <utility>

#include "cache/outputs.hpp"
#include "run/state.hpp"

namespace vx::run {
namespace {

void derive_stable_keys(run_state& s) {
  const std::vector<std::uint32_t> order = s.p.graph.edges.topological_order();
  std::vector<std::uint32_t> stable;
  stable.reserve(order.size());
  for (const std::uint32_t node : order)
    if (s.judged.stable[node]) stable.push_back(node);
  s.keys.warm_probes(stable);
  for (const std::uint32_t node : stable) {
    // A server nobody depends on needs no key.
    if (s.p.tasks[node].config->persistent && s.p.graph.edges.dependents(node).empty()) continue;
    if (s.cancel.requested()) return;
    (void)s.keys.derive(node);
  }
}

void probe_store(run_state& s, const std::vector<std::uint32_t>& nodes) {
  std::vector<digest128> wanted;
  wanted.reserve(nodes.size());
  for (const std::uint32_t node : nodes) wanted.push_back(s.keys.at(node).key);
  std::vector<std::optional<cache::lookup_result>> found = s.p.store->lookup_many(wanted, true);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t node = nodes[i];
    if (!found[i] && s.p.store->artifact_present(wanted[i]))
      found[i] = s.p.store->adopt(wanted[i], s.p.tasks[node].project->name, s.p.tasks[node].config->name, *s.p.tasks[node].scope);
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
  parallel_for(asked.size(), usable_cpus(), 32, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!known[i]) continue;
      const std::uint32_t node = asked[i];
      s.early.current[node] = cache::is_current(*s.p.tasks[node].scope, s.early.hits[node]->outputs, known[i]->stamps, known[i]->dirs);
      s.early.has_snapshot[node] = !known[i]->dirs.empty();
    }
  });
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
  {
    const stage_span span(s.p.timing, "keys");
    derive_stable_keys(s);
  }
  const stage_span span(s.p.timing, "classify + probe");
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < n; ++node)
    if (s.p.schedule.scheduled[node] && s.judged.stable[node] && !s.judged.shares_outputs[node] && s.p.may_read(node) && s.keys.known(node))
      nodes.push_back(node);
  probe_store(s, nodes);
  prove_current(s, nodes);
}

}  // namespace vx::run
