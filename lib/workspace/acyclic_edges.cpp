// Peers become ORDER edges as long as they close no cycle. Asking "does the target reach the source?" with a walk per peer
// would be quadratic, so: peers between different components of the graph with ALL peers in it can never close a cycle; the
// others are tried over an order of the nodes that is repaired locally (Pearce and Kelly), seeded so that most of them need no
// repair.
#include <algorithm>
#include <unordered_map>

#include "workspace/package_graph.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;
using adjacency = std::vector<std::vector<id>>;

struct frame {
  id node;
  std::size_t next;
};

/// Nodes in reverse order of completion of a depth-first walk: every edge but the back edges leads forward.
std::vector<id> reverse_postorder(const adjacency& g) {
  std::vector<id> out;
  out.reserve(g.size());
  std::vector<bool> seen(g.size());
  std::vector<frame> stack;
  for (id start = 0; start < g.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      frame& f = stack.back();
      if (f.next == g[f.node].size()) {
        out.push_back(f.node);
        stack.pop_back();
        continue;
      }
      const id to = g[f.node][f.next++];
      if (!seen[to]) {
        seen[to] = true;
        stack.push_back({to, 0});
      }
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Entry and exit times of a depth-first walk: a node whose times lie within another's is certainly reached from it.
struct walk_times {
  std::vector<id> enter, leave;

  /// Components are numbered dependencies first: walking from the highest number down starts at the roots and nests the most.
  explicit walk_times(const adjacency& g) : enter(g.size(), UINT32_MAX), leave(g.size()) {
    id clock = 0;
    std::vector<frame> stack;
    for (auto start = static_cast<id>(g.size()); start-- > 0;) {
      if (enter[start] != UINT32_MAX) continue;
      enter[start] = clock++;
      stack.push_back({start, 0});
      while (!stack.empty()) {
        frame& f = stack.back();
        if (f.next == g[f.node].size()) {
          leave[f.node] = clock++;
          stack.pop_back();
          continue;
        }
        const id to = g[f.node][f.next++];
        if (enter[to] != UINT32_MAX) continue;
        enter[to] = clock++;
        stack.push_back({to, 0});
      }
    }
  }
  bool reaches(id from, id to) const noexcept { return enter[from] <= enter[to] && leave[to] <= leave[from]; }
};

/// An acyclic graph under insertion, with `rank` a topological numbering: every edge leads to a higher rank. What a target of a
/// refused edge reaches is kept up to date, so that many packages naming one peer cost one walk, not one each.
class ordered_graph {
 public:
  ordered_graph(std::vector<id> rank, const adjacency& start)
      : rank_(std::move(rank)), start_(start), out_(rank_.size()), in_(rank_.size()), mark_(rank_.size()) {}

  bool insert(id from, id to) {
    if (from == to || start_.reaches(to, from)) return false;
    const auto known = kept_at_.find(to);
    if (known != kept_at_.end() && kept_[known->second][from]) return false;
    if (rank_[to] < rank_[from] && !repair(from, to)) {
      kept_at_.emplace(to, kept_.size());
      kept_.emplace_back(rank_.size());
      extend(kept_.back(), to);
      return false;
    }
    out_[from].push_back(to);
    in_[to].push_back(from);
    for (std::vector<bool>& reach : kept_) {
      if (reach[from] && !reach[to]) extend(reach, to);
    }
    return true;
  }

 private:
  void extend(std::vector<bool>& reach, id start) {
    std::vector<id> stack{start};
    reach[start] = true;
    while (!stack.empty()) {
      const id n = stack.back();
      stack.pop_back();
      for (const id to : out_[n]) {
        if (reach[to]) continue;
        reach[to] = true;
        stack.push_back(to);
      }
    }
  }

  /// Collects what `start` reaches over `edges` within the rank window; false when it meets `forbidden`.
  template <class InWindow>
  bool collect(id start, id forbidden, const adjacency& edges, InWindow in_window, std::vector<id>& found) {
    found.assign(1, start);
    mark_[start] = true;
    bool clear = true;
    for (std::size_t i = 0; clear && i < found.size(); ++i) {
      for (const id next : edges[found[i]]) {
        if (next == forbidden) clear = false;
        if (mark_[next] || !in_window(rank_[next])) continue;
        mark_[next] = true;
        found.push_back(next);
      }
    }
    for (const id n : found) mark_[n] = false;
    return clear;
  }

  bool repair(id from, id to) {
    const id low = rank_[to], high = rank_[from];
    if (!collect(
            to, from, out_, [&](id r) { return r < high; }, ahead_))
      return false;
    collect(
        from, to, in_, [&](id r) { return r > low; }, behind_);
    const auto by_rank = [&](id a, id b) { return rank_[a] < rank_[b]; };
    std::sort(ahead_.begin(), ahead_.end(), by_rank);
    std::sort(behind_.begin(), behind_.end(), by_rank);
    behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
    slots_.clear();
    for (const id n : behind_) slots_.push_back(rank_[n]);
    std::sort(slots_.begin(), slots_.end());
    for (std::size_t i = 0; i < behind_.size(); ++i) rank_[behind_[i]] = slots_[i];
    return true;
  }

  std::vector<id> rank_;
  walk_times start_;                             ///< of the edges that were there before the first insertion
  std::unordered_map<id, std::size_t> kept_at_;  ///< node -> index in kept_
  std::vector<std::vector<bool>> kept_;          ///< exactly what that node reaches
  adjacency out_, in_;
  std::vector<bool> mark_;
  std::vector<id> ahead_, behind_, slots_;
};

}  // namespace

components strong_components(const adjacency& g) {
  constexpr id k_none = UINT32_MAX;
  components c;
  c.of.assign(g.size(), k_none);
  std::vector<id> index(g.size(), k_none), low(g.size());
  std::vector<id> open;
  std::vector<frame> stack;
  id counter = 0;
  for (id start = 0; start < g.size(); ++start) {
    if (index[start] != k_none) continue;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      frame& f = stack.back();
      const id n = f.node;
      if (f.next == 0) {  // the first visit: a node without edges is popped in the same turn
        index[n] = low[n] = counter++;
        open.push_back(n);
      }
      if (f.next < g[n].size()) {
        const id to = g[n][f.next++];
        if (index[to] == k_none) {
          stack.push_back({to, 0});
        } else if (c.of[to] == k_none) {
          low[n] = std::min(low[n], index[to]);
        }
        continue;
      }
      if (low[n] == index[n]) {
        id member = k_none;
        do {
          member = open.back();
          open.pop_back();
          c.of[member] = c.count;
        } while (member != n);
        ++c.count;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().node] = std::min(low[stack.back().node], low[n]);
    }
  }
  return c;
}

std::vector<bool> add_acyclic(adjacency& order, std::span<const std::pair<id, id>> candidates) {
  std::vector<bool> accepted(candidates.size(), false);
  if (candidates.empty()) return accepted;
  const components base = strong_components(order);
  adjacency all(base.count);
  for (id from = 0; from < order.size(); ++from) {
    for (const id to : order[from]) {
      if (base.of[from] != base.of[to]) all[base.of[from]].push_back(base.of[to]);
    }
  }
  const adjacency fixed = all;
  for (const auto& [from, to] : candidates) {
    if (base.of[from] != base.of[to]) all[base.of[from]].push_back(base.of[to]);
  }
  const components full = strong_components(all);

  // The existing edges must lead forward from the start: a topological order of them, nodes visited in the order of the full
  // walk.
  const std::vector<id> wanted = reverse_postorder(all);
  std::vector<id> place(base.count);
  for (id i = 0; i < base.count; ++i) place[wanted[i]] = i;
  adjacency renamed(base.count);
  for (id n = 0; n < base.count; ++n) {
    for (const id to : fixed[n]) renamed[base.count - 1 - place[n]].push_back(base.count - 1 - place[to]);
  }
  // Starting from the last wanted node, so that reversing the completion order restores the wanted one where edges allow.
  const std::vector<id> valid = reverse_postorder(renamed);
  std::vector<id> rank(base.count);
  for (id i = 0; i < base.count; ++i) rank[wanted[base.count - 1 - valid[i]]] = i;

  ordered_graph graph(std::move(rank), fixed);
  for (id n = 0; n < base.count; ++n) {
    for (const id to : fixed[n]) {
      if (full.of[n] == full.of[to]) graph.insert(n, to);
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto [from, to] = candidates[i];
    const id a = base.of[from], b = base.of[to];
    if (a == b) continue;
    accepted[i] = full.of[a] != full.of[b] || graph.insert(a, b);
    if (accepted[i]) order[from].push_back(to);
  }
  return accepted;
}

}  // namespace vx::workspace
