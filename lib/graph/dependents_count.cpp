// The exact number of transitive dependents of every node.
//
// A node with exactly one dependency is downstream of x whenever that dependency is, or is x itself. So such nodes hang in
// trees below the others, and one bit stands for a whole tree: only nodes with two or more dependencies ("columns") need
// bits. A chain or a forest has no column at all; the rest is a sweep of bit rows in blocks of bounded memory.
#include <algorithm>
#include <bit>
#include <numeric>

#include "graph/dag.hpp"

namespace vx::graph {

namespace {

constexpr std::size_t k_block_bytes = std::size_t{16} << 20;
constexpr std::uint32_t k_no_column = 0xFFFFFFFFU;

/// Columns sorted by weight, so that nearly every word of a row has bits of one weight.
struct columns {
  std::vector<std::uint32_t> of_node;  ///< column of a node, or k_no_column
  std::vector<std::uint32_t> weight;   ///< nodes a column stands for
};

columns number_columns(const dag& g, const std::vector<std::uint32_t>& tree) {
  columns c;
  c.of_node.assign(g.size(), k_no_column);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    if (g.deps(i).size() >= 2) nodes.push_back(i);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [&tree](std::uint32_t a, std::uint32_t b) { return tree[a] < tree[b]; });
  for (const std::uint32_t n : nodes) {
    c.of_node[n] = static_cast<std::uint32_t>(c.weight.size());
    c.weight.push_back(tree[n]);
  }
  return c;
}

/// Adds what one word of a row stands for.
std::uint32_t weigh(std::uint64_t word, std::size_t first, const std::vector<std::uint32_t>& weight) noexcept {
  if (word == 0) return 0;
  const std::size_t last = std::min(first + 64, weight.size()) - 1;
  if (weight[first] == weight[last]) return static_cast<std::uint32_t>(std::popcount(word)) * weight[first];
  std::uint32_t sum = 0;
  for (; word != 0; word &= word - 1) sum += weight[first + static_cast<std::size_t>(std::countr_zero(word))];
  return sum;
}

/// One block of columns [first, first + words * 64): rows from the dependents down, each the union of its dependents' rows.
void sweep_block(const dag& g, const std::vector<std::uint32_t>& order, const columns& c, std::size_t first, std::size_t words,
                 std::vector<std::uint64_t>& rows, std::vector<std::uint32_t>& count) {
  std::fill(rows.begin(), rows.end(), 0);
  std::vector<bool> filled(g.size(), false);
  for (const std::uint32_t node : order) {
    std::uint64_t* const row = rows.data() + node * words;
    bool any = false;
    for (const std::uint32_t d : g.dependents(node)) {
      if (filled[d]) {
        const std::uint64_t* const from = rows.data() + d * words;
        for (std::size_t w = 0; w < words; ++w) row[w] |= from[w];
        any = true;
      }
      const std::size_t column = c.of_node[d];
      if (column == k_no_column || column < first || column >= first + words * 64) continue;
      row[(column - first) / 64] |= std::uint64_t{1} << ((column - first) % 64);
      any = true;
    }
    if (!any) continue;
    filled[node] = true;
    for (std::size_t w = 0; w < words; ++w) {
      if (row[w] != 0) count[node] += weigh(row[w], first + w * 64, c.weight);
    }
  }
}

}  // namespace

std::vector<std::uint32_t> dag::dependents_count() const {
  const std::vector<std::uint32_t> order = dependents_first();
  // tree[x]: x and the nodes whose chain of only dependencies leads to x.
  std::vector<std::uint32_t> tree(n_, 1);
  for (const std::uint32_t node : order) {
    if (deps(node).size() == 1) tree[deps(node)[0]] += tree[node];
  }
  std::vector<std::uint32_t> count(n_);
  std::transform(tree.begin(), tree.end(), count.begin(), [](std::uint32_t t) { return t - 1; });
  const columns c = number_columns(*this, tree);
  if (c.weight.empty()) return count;
  const std::size_t all_words = (c.weight.size() + 63) / 64;
  const std::size_t words = std::clamp<std::size_t>(k_block_bytes / 8 / n_, 1, all_words);
  std::vector<std::uint64_t> rows(words * n_);
  for (std::size_t w = 0; w < all_words; w += words) sweep_block(*this, order, c, w * 64, words, rows, count);
  return count;
}

}  // namespace vx::graph
