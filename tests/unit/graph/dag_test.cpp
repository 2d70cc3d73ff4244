#include "graph/dag.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <random>

using namespace vx;
using graph::dag;
using ids = std::vector<std::uint32_t>;

namespace {

/// A number below n.
class dice {
 public:
  explicit dice(unsigned seed) : rng_(seed) {}
  std::uint32_t operator()(std::uint32_t n) { return static_cast<std::uint32_t>(rng_() % n); }
  std::mt19937& engine() { return rng_; }

 private:
  std::mt19937 rng_;
};

dag make(const std::vector<ids>& deps) { return dag(deps); }

std::vector<ids> random_deps(dice& rng, std::uint32_t n, unsigned density) {
  std::vector<ids> deps(n);
  std::vector<std::uint32_t> shuffled(n);
  for (std::uint32_t i = 0; i < n; ++i) shuffled[i] = i;
  std::shuffle(shuffled.begin(), shuffled.end(), rng.engine());
  for (std::uint32_t i = 1; i < n; ++i) {
    for (unsigned k = rng(density + 1); k > 0; --k) deps[shuffled[i]].push_back(shuffled[rng(i)]);
  }
  return deps;
}

ids brute_counts(const dag& g) {
  ids out(g.size(), 0);
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const ids seed{i};
    const std::vector<bool> below = g.closure(seed);
    for (std::uint32_t d = 0; d < g.size(); ++d) {
      if (d != i && below[d]) ++out[d];
    }
  }
  return out;
}

/// `layers` x `width`, each node on all of the layer below.
std::vector<ids> layered(std::uint32_t layers, std::uint32_t width) {
  std::vector<ids> deps(std::size_t{layers} * width);
  for (std::uint32_t l = 1; l < layers; ++l) {
    for (std::uint32_t w = 0; w < width; ++w) {
      for (std::uint32_t k = 0; k < width; ++k) deps[l * width + w].push_back((l - 1) * width + k);
    }
  }
  return deps;
}

double cpu_ms(std::clock_t begin) { return static_cast<double>(std::clock() - begin) * 1000.0 / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("edges are sorted, unique and known from both ends") {
  //   0 <- 1 <- 3
  //   0 <- 2 <- 3
  const dag g = make({{}, {0, 0}, {0}, {2, 1, 2}});
  CHECK(g.size() == 4);
  CHECK(std::ranges::equal(g.deps(3), ids{1, 2}));
  CHECK(std::ranges::equal(g.dependents(0), ids{1, 2}));
  CHECK(g.dependents(3).empty());
  CHECK(std::ranges::equal(dag::keeping_order({{}, {}, {1, 0}}).deps(2), ids{1, 0}));
  CHECK(dag().size() == 0);
  CHECK(dag().find_cycle().empty());
  CHECK(dag().dependents_count().empty());
  CHECK(make({}).topological_order().empty());
}

TEST_CASE("a cycle is found once and walks its edges") {
  CHECK(make({{0}}).find_cycle() == ids{0, 0});
  CHECK(make({{1}, {2}, {0}}).find_cycle() == ids{0, 1, 2, 0});
  CHECK(make({{1}, {2}, {1}}).find_cycle() == ids{1, 2, 1});
  CHECK(make({{1, 2}, {2}, {}}).find_cycle().empty());
  dice rng(4);
  for (int i = 0; i < 500; ++i) {
    std::vector<ids> deps = random_deps(rng, 2 + rng(20), 3);
    CHECK(dag(deps).find_cycle().empty());
    const auto n = static_cast<std::uint32_t>(deps.size());
    for (int k = 0; k < 3; ++k) deps[rng(n)].push_back(rng(n));
    const dag g(deps);
    const ids cycle = g.find_cycle();
    const bool acyclic = g.topological_order().size() == n;
    CHECK(cycle.empty() == acyclic);
    for (std::size_t at = 0; at + 1 < cycle.size(); ++at) CHECK(std::ranges::count(g.deps(cycle[at]), cycle[at + 1]) == 1);
    if (!cycle.empty()) CHECK(cycle.front() == cycle.back());
  }
}

TEST_CASE("topological order puts dependencies first and breaks ties by id") {
  CHECK(make({{3}, {}, {1}, {}}).topological_order() == ids{1, 2, 3, 0});
  dice rng(5);
  for (int i = 0; i < 200; ++i) {
    const dag g(random_deps(rng, 1 + rng(30), 3));
    const ids order = g.topological_order();
    REQUIRE(order.size() == g.size());
    ids at(g.size());
    for (std::uint32_t k = 0; k < order.size(); ++k) at[order[k]] = k;
    for (std::uint32_t n = 0; n < g.size(); ++n) {
      for (const std::uint32_t d : g.deps(n)) CHECK(at[d] < at[n]);
    }
  }
}

TEST_CASE("dependents are counted exactly") {
  //  0 <- 1 <- 2     3 <- 2
  CHECK(make({{}, {0}, {1, 3}, {}}).dependents_count() == ids{2, 1, 0, 1});
  dice rng(6);
  for (int i = 0; i < 600; ++i) {
    const dag g(random_deps(rng, 1 + rng(120), 1 + rng(4)));
    CHECK(g.dependents_count() == brute_counts(g));
  }
  const dag wide(random_deps(rng, 1500, 2));
  CHECK(wide.dependents_count() == brute_counts(wide));
}

TEST_CASE("dependents are counted exactly when rows need several blocks") {
  // Two chains that cross at every step: each node has two dependencies, 24,000 columns, more than one block.
  const std::uint32_t n = 24000;
  std::vector<ids> deps(n);
  for (std::uint32_t i = 2; i < n; ++i) deps[i] = {(i & ~1U) - 2, (i & ~1U) - 1};
  const ids count = dag(deps).dependents_count();
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(count[i] == n - (i & ~1U) - 2);
}

TEST_CASE("remaining weight runs towards the dependents and stops where told") {
  // 0 <- 1 <- 2, 0 <- 3
  const dag g = make({{}, {0}, {1}, {0}});
  const std::vector<std::uint64_t> w{1, 10, 100, 50};
  CHECK(g.remaining_weight(w, {}) == std::vector<std::uint64_t>{111, 110, 100, 50});
  CHECK(g.remaining_weight(w, {false, true, false, false}) == std::vector<std::uint64_t>{51, 0, 100, 50});
  CHECK(g.critical_path(w) == ids{0, 1, 2});
  CHECK(g.critical_path(std::vector<std::uint64_t>(4, 0)).front() == 0);
  CHECK(dag().critical_path({}).empty());
}

TEST_CASE("closure holds the seeds and all below them") {
  const dag g = make({{}, {0}, {1}, {0}});
  const ids seeds{1};
  CHECK(g.closure(seeds) == std::vector<bool>{true, true, false, false});
}

TEST_CASE("a chain of 50,000 and a dense graph take milliseconds and no stack") {
  const std::uint32_t n = 50000;
  std::vector<ids> deps(n);
  for (std::uint32_t i = 0; i + 1 < n; ++i) deps[i] = {i + 1};
  const std::clock_t begin = std::clock();
  const dag g(deps);
  CHECK(g.find_cycle().empty());
  CHECK(g.topological_order().front() == n - 1);
  CHECK(g.dependents_count()[n - 1] == n - 1);
  CHECK(g.remaining_weight(std::vector<std::uint64_t>(n, 1), {})[n - 1] == n);
  CHECK(g.critical_path(std::vector<std::uint64_t>(n, 1)).size() == n);
  MESSAGE("chain CPU ms: " << cpu_ms(begin));
  const std::clock_t dense_begin = std::clock();
  const dag dense(layered(100, 33));
  const ids count = dense.dependents_count();
  CHECK(count[0] == 33 * 99);
  CHECK(count[33 * 99] == 0);
  MESSAGE("dense CPU ms: " << cpu_ms(dense_begin));
}
