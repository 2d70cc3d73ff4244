#include "graph/dag.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace vx::graph {

dag::dag(const std::vector<std::vector<std::uint32_t>>& deps) { build(deps, true); }

dag dag::keeping_order(const std::vector<std::vector<std::uint32_t>>& deps) {
  dag g;
  g.build(deps, false);
  return g;
}

void dag::build(const std::vector<std::vector<std::uint32_t>>& deps, bool sort) {
  n_ = static_cast<std::uint32_t>(deps.size());
  dep_start_.reserve(std::size_t{n_} + 1);
  dep_start_.push_back(0);
  std::size_t total = 0;
  for (const auto& d : deps) total += d.size();
  dep_.reserve(total);
  rev_start_.assign(std::size_t{n_} + 1, 0);
  for (const auto& d : deps) {
    const auto begin = static_cast<std::ptrdiff_t>(dep_.size());
    dep_.insert(dep_.end(), d.begin(), d.end());
    if (sort) {
      std::sort(dep_.begin() + begin, dep_.end());
      dep_.erase(std::unique(dep_.begin() + begin, dep_.end()), dep_.end());
    }
    for (auto at = dep_.begin() + begin; at != dep_.end(); ++at) ++rev_start_[*at + 1];
    dep_start_.push_back(static_cast<std::uint32_t>(dep_.size()));
  }
  for (std::size_t i = 0; i < n_; ++i) rev_start_[i + 1] += rev_start_[i];
  rev_.resize(dep_.size());
  std::vector<std::uint32_t> at(rev_start_.begin(), rev_start_.end() - 1);
  for (std::uint32_t i = 0; i < n_; ++i) {
    for (const std::uint32_t d : this->deps(i)) rev_[at[d]++] = i;
  }
  order_nodes();
}

std::span<const std::uint32_t> dag::deps(std::uint32_t node) const noexcept {
  return std::span(dep_).subspan(dep_start_[node], dep_start_[node + 1] - dep_start_[node]);
}

std::span<const std::uint32_t> dag::dependents(std::uint32_t node) const noexcept {
  return std::span(rev_).subspan(rev_start_[node], rev_start_[node + 1] - rev_start_[node]);
}

std::vector<std::uint32_t> dag::find_cycle() const {
  enum class colour : std::uint8_t { white, grey, black };
  std::vector<colour> seen(n_, colour::white);
  struct frame {
    std::uint32_t node, next;
  };
  std::vector<frame> stack;
  for (std::uint32_t start = 0; start < n_; ++start) {
    if (seen[start] != colour::white) continue;
    seen[start] = colour::grey;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      frame& top = stack.back();
      const auto d = deps(top.node);
      if (top.next == d.size()) {
        seen[top.node] = colour::black;
        stack.pop_back();
        continue;
      }
      const std::uint32_t to = d[top.next++];
      if (seen[to] == colour::grey) {
        std::vector<std::uint32_t> cycle;
        auto at = std::find_if(stack.begin(), stack.end(), [to](const frame& f) { return f.node == to; });
        for (; at != stack.end(); ++at) cycle.push_back(at->node);
        cycle.push_back(to);
        return cycle;
      }
      if (seen[to] == colour::white) {
        seen[to] = colour::grey;
        stack.push_back({to, 0});
      }
    }
  }
  return {};
}

void dag::order_nodes() {
  std::vector<std::uint32_t> pending(n_);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < n_; ++i) {
    pending[i] = static_cast<std::uint32_t>(deps(i).size());
    if (pending[i] == 0) ready.push(i);
  }
  order_.reserve(n_);
  while (!ready.empty()) {
    const std::uint32_t node = ready.top();
    ready.pop();
    order_.push_back(node);
    for (const std::uint32_t d : dependents(node)) {
      if (--pending[d] == 0) ready.push(d);
    }
  }
}

std::vector<std::uint32_t> dag::dependents_first() const {
  std::vector<std::uint32_t> pending(n_);
  std::vector<std::uint32_t> order;
  order.reserve(n_);
  for (std::uint32_t i = 0; i < n_; ++i) {
    pending[i] = static_cast<std::uint32_t>(dependents(i).size());
    if (pending[i] == 0) order.push_back(i);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const std::uint32_t d : deps(order[at])) {
      if (--pending[d] == 0) order.push_back(d);
    }
  }
  return order;
}

std::vector<std::uint64_t> dag::remaining_weight(std::span<const std::uint64_t> weight, const std::vector<bool>& stop) const {
  std::vector<std::uint64_t> rem(n_, 0);
  for (const std::uint32_t node : dependents_first()) {
    if (node < stop.size() && stop[node]) continue;
    std::uint64_t most = 0;
    for (const std::uint32_t d : dependents(node)) most = std::max(most, rem[d]);
    rem[node] = weight[node] + most;
  }
  return rem;
}

std::vector<std::uint32_t> dag::critical_path(std::span<const std::uint64_t> weight) const {
  std::vector<std::uint32_t> path;
  if (n_ == 0) return path;
  const std::vector<std::uint64_t> rem = remaining_weight(weight, {});
  const auto heavier = [&rem](std::uint32_t a, std::uint32_t b) { return rem[a] < rem[b]; };
  // Starts at a node without dependencies even when weights of zero make several equal.
  std::uint32_t best = n_;
  for (std::uint32_t i = 0; i < n_; ++i) {
    if (deps(i).empty() && (best == n_ || heavier(best, i))) best = i;
  }
  while (best != n_) {
    path.push_back(best);
    const auto next = dependents(best);
    best = next.empty() ? n_ : *std::max_element(next.begin(), next.end(), heavier);
  }
  return path;
}

std::vector<bool> dag::closure(std::span<const std::uint32_t> seeds) const {
  std::vector<bool> in(n_, false);
  std::vector<std::uint32_t> stack;
  const auto add = [&](std::uint32_t node) {
    if (in[node]) return;
    in[node] = true;
    stack.push_back(node);
  };
  for (const std::uint32_t s : seeds) add(s);
  while (!stack.empty()) {
    const std::uint32_t node = stack.back();
    stack.pop_back();
    for (const std::uint32_t d : deps(node)) add(d);
  }
  return in;
}

}  // namespace vx::graph
