// A frozen directed graph over dense ids with linear-time walks; no recursion, so a chain of 50,000 nodes is fine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace vx::graph {

enum class node_id : std::uint32_t {};
constexpr std::uint32_t index_of(node_id n) noexcept { return static_cast<std::uint32_t>(n); }

/// Edges point from a node to what it depends on.
class dag {
 public:
  dag() = default;
  /// `deps[i]` lists the dependencies of node i; sorted and made unique here.
  explicit dag(const std::vector<std::vector<std::uint32_t>>& deps);
  /// Keeps the order of each list, which must hold no duplicates.
  static dag keeping_order(const std::vector<std::vector<std::uint32_t>>& deps);

  std::uint32_t size() const noexcept { return n_; }
  std::span<const std::uint32_t> deps(std::uint32_t node) const noexcept;
  std::span<const std::uint32_t> dependents(std::uint32_t node) const noexcept;

  /// A cycle as node ids, first node repeated at the end, or empty. Three-colour search; deterministic.
  std::vector<std::uint32_t> find_cycle() const;
  /// Dependencies first; ties by id. The graph must be acyclic.
  const std::vector<std::uint32_t>& topological_order() const noexcept { return order_; }
  /// Exact number of transitive dependents of each node; bitset sweep in column blocks, at most 16 MiB extra.
  std::vector<std::uint32_t> dependents_count() const;
  /// Longest remaining weight from each node towards its dependents: rem(t) = weight(t) + max over dependents of rem.
  /// `stop(node)` nodes contribute nothing and end chains.
  std::vector<std::uint64_t> remaining_weight(std::span<const std::uint64_t> weight, const std::vector<bool>& stop) const;
  /// Ids along the heaviest chain, dependencies first.
  std::vector<std::uint32_t> critical_path(std::span<const std::uint64_t> weight) const;
  /// All transitive dependencies of the seeds, the seeds included.
  std::vector<bool> closure(std::span<const std::uint32_t> seeds) const;

 private:
  void build(const std::vector<std::vector<std::uint32_t>>& deps, bool sort);
  void order_nodes();
  std::vector<std::uint32_t> dependents_first() const;  ///< some order with every dependent before what it depends on
  std::uint32_t n_ = 0;
  std::vector<std::uint32_t> dep_start_, dep_, rev_start_, rev_, order_;
};

}  // namespace vx::graph
