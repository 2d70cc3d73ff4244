#include "run/root_cause.hpp"

#include <algorithm>
#include <unordered_set>

namespace vx::run {
namespace {

constexpr std::size_t k_none = static_cast<std::size_t>(-1);

/// A dependency on the way, breadth first: the first visit has the shortest chain.
struct step_up {
  std::string id, before, after;
  std::size_t from = k_none;
};

bool is_moved_upstream(const key::component_change& c) {
  return c.kind == key::component_kind::upstream && c.what == key::change::changed;
}

}  // namespace

std::vector<root_cause> find_root_causes(const std::string& task, const key::component_diff& own, const key_diff_fn& diff,
                                         std::size_t most) {
  std::vector<step_up> steps;
  std::unordered_set<std::string> seen{task};
  const auto push = [&](const key::component_diff& d, std::size_t from) {
    for (const key::component_change& c : d.changes) {
      if (!is_moved_upstream(c) || steps.size() >= most || !seen.insert(c.name).second) continue;
      steps.push_back({c.name, c.before, c.after, from});
    }
  };
  const auto chain_to = [&](std::size_t at) {
    std::vector<std::string> chain;
    for (; at != k_none; at = steps[at].from) chain.push_back(steps[at].id);
    chain.push_back(task);
    std::reverse(chain.begin(), chain.end());
    return chain;
  };
  push(own, k_none);
  std::vector<root_cause> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::optional<key::component_diff> d = diff(steps[i].before, steps[i].after);
    root_cause here;
    if (d)
      std::copy_if(d->changes.begin(), d->changes.end(), std::back_inserter(here.entries),
                   [](const auto& c) { return !is_moved_upstream(c); });
    if (!d || !here.entries.empty()) {
      here.chain = chain_to(i);
      out.push_back(std::move(here));
    }
    if (d) push(*d, i);
  }
  return out;
}

}  // namespace vx::run
