#include "run/priorities.hpp"

#include <algorithm>
#include <optional>

namespace vx::run {
namespace {

std::uint64_t median_of(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Weights in microseconds, or empty when fewer than half of the tasks that must run have a record: guesses rank worse than
/// counts.
std::vector<std::uint64_t> learned_weights(prepared& p, const std::vector<bool>& stop) {
  const duration_table known = recorded_durations(p);
  std::vector<std::uint64_t> weight(p.tasks.size(), 0), medians;
  std::vector<std::uint32_t> unknown;
  std::size_t counted = 0;
  for (std::uint32_t i = 0; i < p.tasks.size(); ++i) {
    if (p.is_group(i) || stop[i]) continue;
    ++counted;
    const auto found = known.find(p.graph.nodes[i].id);
    if (found == known.end()) {
      unknown.push_back(i);
      continue;
    }
    weight[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(found->second / 1000, 1));
    medians.push_back(weight[i]);
  }
  if (medians.size() * 2 < counted) return {};
  const std::uint64_t guess = median_of(medians);
  for (const std::uint32_t i : unknown) weight[i] = guess;
  return weight;
}

std::vector<graph::priority> rank_by_settings(prepared& p, const std::vector<std::uint8_t>& tier) {
  std::vector<graph::priority> out(p.tasks.size());
  const std::string& schedule = p.ws().settings.schedule;
  if (schedule == "ready-order") return out;
  const std::vector<std::uint32_t> dependents = p.graph.edges.dependents_count();
  for (std::size_t i = 0; i < out.size(); ++i) out[i].dependents = dependents[i];
  if (schedule == "direct-dependents") {
    for (std::uint32_t i = 0; i < out.size(); ++i) out[i].strategy = p.graph.edges.dependents(i).size();
  }
  if (schedule != "critical-path") return out;
  std::vector<bool> stop(tier.begin(), tier.end());
  const std::vector<std::uint64_t> weight = learned_weights(p, stop);
  if (weight.empty()) return out;
  const std::vector<std::uint64_t> remaining = p.graph.edges.remaining_weight(weight, stop);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].strategy = remaining[i];
  return out;
}

}  // namespace

duration_table recorded_durations(prepared& p) {
  duration_table out;
  for (cache::duration_stat& d : p.index->recent_durations(50)) out.emplace(std::move(d.id), d.p50_ns);
  return out;
}

std::vector<graph::priority> rank_tasks(prepared& p, const std::vector<std::uint8_t>& tier) {
  std::vector<graph::priority> out = rank_by_settings(p, tier);
  if (!p.h->seams.priority) return out;
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    if (p.is_group(i)) continue;
    const std::optional<std::int64_t> given = p.h->seams.priority(p.graph.nodes[i].id);
    out[i].has_host_weight = given.has_value();
    out[i].host_weight = given.value_or(0);
  }
  return out;
}

}  // namespace vx::run
