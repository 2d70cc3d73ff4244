#include "run/plan.hpp"

#include <algorithm>

#include "run/keys.hpp"
#include "run/prepare.hpp"
#include "run/priorities.hpp"

namespace vx::run {
namespace {

enum class planned : std::uint8_t { hit_local, miss, no_cache, group, not_started, error };

std::string_view planned_word(planned p) {
  switch (p) {
    case planned::hit_local: return "hit-local";
    case planned::miss: return "miss";
    case planned::no_cache: return "no-cache";
    case planned::group: return "group";
    case planned::not_started: return "not-started";
    case planned::error: return "error";
  }
  return "miss";
}

class planner {
 public:
  explicit planner(prepared& p) : p_(p), keys_(p), state_(p.tasks.size(), planned::miss) {}

  result<json::value> run() {
    derive();
    probe();
    servers();
    return document();
  }

 private:
  void derive() {
    const stage_span span(p_.timing, "keys");
    std::vector<std::uint32_t> all(p_.tasks.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    keys_.warm_probes(all);
    for (const std::uint32_t node : p_.graph.edges.topological_order()) {
      if (p_.cancel != nullptr && p_.cancel->requested()) return;
      (void)keys_.derive(node);
    }
  }

  void probe() {
    const stage_span span(p_.timing, "classify + probe");
    std::vector<std::uint32_t> asked;
    std::vector<digest128> wanted;
    for (std::uint32_t i = 0; i < p_.tasks.size(); ++i) {
      if (p_.is_group(i))
        state_[i] = planned::group;
      else if (keys_.at(i).is == node_key::state::error)
        state_[i] = planned::error;
      else if (!p_.tasks[i].config->cacheable() || (!p_.may_read(i) && !p_.may_write(i)))
        state_[i] = planned::no_cache;
      else if (p_.may_read(i) && p_.request.policy.local_read && keys_.known(i)) {
        asked.push_back(i);
        wanted.push_back(keys_.at(i).key);
      }
    }
    const auto found = p_.store->lookup_many(wanted, false);
    for (std::size_t k = 0; k < asked.size(); ++k)
      if (found[k] || p_.store->artifact_present(wanted[k])) state_[asked[k]] = planned::hit_local;
  }

  /// A server nobody asked for and whose every dependant is a hit would not be started.
  void servers() {
    for (std::uint32_t i = 0; i < p_.tasks.size(); ++i) {
      if (!p_.tasks[i].config->persistent || p_.graph.nodes[i].requested) continue;
      const auto users = p_.graph.edges.dependents(i);
      const bool idle = !users.empty() && std::all_of(users.begin(), users.end(),
                                                      [&](std::uint32_t u) { return state_[u] == planned::hit_local; });
      if (idle) state_[i] = planned::not_started;
    }
  }

  bool would_run(std::uint32_t node) const { return state_[node] == planned::miss || state_[node] == planned::no_cache; }

  json::value row(std::uint32_t node, const duration_table& known) const {
    const graph::task_node& n = p_.graph.nodes[node];
    json::object o;
    o.add("id", n.id);
    o.add("project", p_.tasks[node].project->name);
    o.add("task", p_.tasks[node].config->name);
    o.add("hash", keys_.known(node) ? json::value(keys_.at(node).key.hex()) : json::value(nullptr));
    o.add("cacheStatus", planned_word(state_[node]));
    json::array deps;
    for (const std::uint32_t d : p_.graph.edges.deps(node)) deps.emplace_back(p_.graph.nodes[d].id);
    std::sort(deps.begin(), deps.end(),
              [](const json::value& a, const json::value& b) { return a.as_string() < b.as_string(); });
    o.add("deps", std::move(deps));
    if (would_run(node)) {
      if (const auto found = known.find(n.id); found != known.end())
        o.add("p50Ms", static_cast<double>(found->second / 1000) / 1000.0);
    }
    if (p_.tasks[node].config->description) o.add("description", *p_.tasks[node].config->description);
    if (state_[node] == planned::error) o.add("message", keys_.at(node).why->message);
    return o;
  }

  json::value predicted(const duration_table& known, bool& any) const {
    std::vector<std::uint64_t> weight(p_.tasks.size(), 0);
    std::uint64_t work = 0, unknown = 0;
    any = false;
    for (std::uint32_t i = 0; i < p_.tasks.size(); ++i) {
      if (!would_run(i) || !p_.schedule.scheduled[i]) continue;
      const auto found = known.find(p_.graph.nodes[i].id);
      if (found == known.end()) {
        ++unknown;
        continue;
      }
      any = true;
      weight[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(found->second / 1000, 0));
      work += weight[i];
    }
    if (!any) return nullptr;
    const std::vector<std::uint32_t> chain = p_.graph.edges.critical_path(weight);
    std::uint64_t wall = 0;
    json::array ids;
    for (const std::uint32_t node : chain) {
      wall += weight[node];
      if (weight[node] > 0) ids.emplace_back(p_.graph.nodes[node].id);
    }
    json::object o;
    o.add("wallMs", static_cast<double>(wall) / 1000.0);
    o.add("workMs", static_cast<double>(work) / 1000.0);
    o.add("unknownCount", unknown);
    o.add("criticalPath", std::move(ids));
    return o;
  }

  json::value document() {
    const bool runs_any = [&] {
      for (std::uint32_t i = 0; i < p_.tasks.size(); ++i)
        if (would_run(i)) return true;
      return false;
    }();
    const duration_table known = runs_any ? recorded_durations(p_) : duration_table{};
    json::array rows;
    rows.reserve(p_.tasks.size());
    bool failed = false;
    for (std::uint32_t i = 0; i < p_.tasks.size(); ++i) {
      if (!p_.schedule.scheduled[i]) continue;
      failed = failed || state_[i] == planned::error;
      rows.push_back(row(i, known));
    }
    json::object doc;
    doc.add("tasks", std::move(rows));
    bool any = false;
    json::value guess = predicted(known, any);
    if (any) doc.add("predicted", std::move(guess));
    if (const auto line = p_.facts->sparse_notice()) p_.notices.say(level::notice, *line);
    json::array notices;
    for (std::string& line : p_.notices.kept()) notices.emplace_back(std::move(line));
    doc.add("notices", std::move(notices));
    doc.add("exitCode", failed || (p_.tasks.empty() && !p_.selection.none_affected) ? 1 : 0);
    return doc;
  }

  prepared& p_;
  key_table keys_;
  std::vector<planned> state_;
};

}  // namespace

result<json::value> plan(std::shared_ptr<const host> h, run_request request, const cancel_token* cancel) {
  VX_TRY_LET(std::unique_ptr<prepared> p, prepare(std::move(h), std::move(request), prepare_mode::plan, cancel));
  VX_TRY_LET(json::value doc, planner(*p).run());
  p->facts->flush_memos();
  p->index->flush();
  return doc;
}

}  // namespace vx::run
