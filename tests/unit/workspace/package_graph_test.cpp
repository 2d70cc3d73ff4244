#include "workspace/package_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <random>
#include <set>

using namespace vx::workspace;

namespace {

using id = std::uint32_t;

/// Packages by name, with the entries of each field.
struct bench {
  struct entry {
    std::string name, version, dir;
    bool linked = true;
    dep_maps deps;
  };
  std::deque<entry> entries;
  catalog_map catalogs;

  entry& add(std::string name, std::string version = "1.0.0", std::string dir = "") {
    if (dir.empty()) dir = "packages/" + name;
    entries.push_back({std::move(name), std::move(version), std::move(dir), true, {}});
    return entries.back();
  }
  package_edges link() const {
    std::vector<package> list;
    for (const entry& e : entries) list.push_back({e.name, e.version, e.dir, e.linked, &e.deps});
    return link_packages(list, catalogs, "/w");
  }
  std::string order(const std::string& of) const { return names(link().order, of); }
  std::string reach(const std::string& of) const { return names(link().reach, of); }
  std::string names(const std::vector<std::vector<id>>& edges, const std::string& of) const {
    std::string out;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].name != of) continue;
      for (const id e : edges[i]) out += (out.empty() ? "" : " ") + entries[e].name;
    }
    return out;
  }
};

constexpr auto k_plain = static_cast<std::size_t>(dep_kind::plain), k_dev = static_cast<std::size_t>(dep_kind::dev),
               k_optional = static_cast<std::size_t>(dep_kind::optional), k_peer = static_cast<std::size_t>(dep_kind::peer);

}  // namespace

TEST_CASE("an entry is an edge when the package manager would link the workspace package") {
  struct row {
    const char *key, *spec, *expected;
  };
  const row rows[] = {
      {"lib", "workspace:*", "lib"},
      {"lib", "workspace:^", "lib"},
      {"lib", "workspace:~", "lib"},
      {"lib", "workspace:", "lib"},
      {"lib", "workspace:^1.0.0", "lib"},
      {"lib", "workspace:^2.0.0", ""},
      {"x", "workspace:lib@*", "lib"},
      {"x", "workspace:lib@^", "lib"},
      {"x", "workspace:lib@^1", "lib"},
      {"x", "workspace:lib@^2", ""},
      {"x", "workspace:@s/ui@*", "@s/ui"},
      {"luigi", "workspace:../lib", "lib"},
      {"x", "workspace:packages/none", ""},
      {"x", "file:../lib", "lib"},
      {"x", "link:../lib/", "lib"},
      {"x", "portal:../lib", "lib"},
      {"x", "file:../lib.tgz", ""},
      {"x", "../lib", "lib"},
      {"x", "./../lib", "lib"},
      {"x", "/w/packages/lib", "lib"},
      {"x", "/elsewhere/packages/lib", ""},
      {"x", "../../../out", ""},
      {"x", "npm:lib@^1.0.0", "lib"},
      {"x", "npm:lib@^2.0.0", ""},
      {"x", "npm:lib", "lib"},
      {"lib", "npm:^1.0.0", "lib"},
      {"x", "npm:@s/ui@~1.0.0", "@s/ui"},
      {"lib", "npm:other@^1", ""},
      {"lib", "^1.0.0", "lib"},
      {"lib", "^2.0.0", ""},
      {"lib", "*", "lib"},
      {"lib", "", "lib"},
      {"lib", "latest", ""},
      {"lib", "next", ""},
      {"lib", "git+https://h/r.git", ""},
      {"lib", "https://h/lib.tgz", ""},
      {"lib", "github:u/r", ""},
      {"lib", "user/repo", ""},
      {"bare", "*", "bare"},
      {"bare", "^1.0.0", ""},
      {"bare", "workspace:*", "bare"},
      {"bare", "workspace:^1.0.0", ""},
      {"pre", "^2.0.0", ""},
      {"pre", "^2.0.0-beta.0", "pre"},
      {"pre", "*", "pre"},
      {"lib", "catalog:", "lib"},
      {"bare", "catalog:", ""},
      {"lib", "catalog:two", ""},
      {"lib", "catalog:missing", "lib"},
      {"@s/ui", "catalog:two", "@s/ui"},
      {"listed", "^1.0.0", ""},
      {"listed", "workspace:*", ""},
      {"x", "file:../listed", "listed"},
      {"none", "*", ""},
      {"app", "workspace:*", ""},
  };
  for (const row& r : rows) {
    bench b;
    b.add("app").deps[k_plain] = {{r.key, r.spec}};
    b.add("lib");
    b.add("@s/ui", "1.0.5", "packages/ui");
    b.add("bare", "");
    b.add("pre", "2.0.0-beta.1");
    b.add("listed").linked = false;
    b.catalogs["default"] = {{"lib", "^1.0.0"}, {"bare", "^1.0.0"}};
    b.catalogs["two"] = {{"lib", "^2.0.0"}};
    CAPTURE(r.key);
    CAPTURE(r.spec);
    CHECK(b.order("app") == r.expected);
  }
}

TEST_CASE("of one key in several fields, optional stands for the plain entry") {
  bench b;
  auto& app = b.add("app");
  b.add("lib");
  app.deps[k_plain] = {{"lib", "^1.0.0"}};
  app.deps[k_optional] = {{"lib", "^9.0.0"}};
  CHECK(b.order("app").empty());
  app.deps[k_dev] = {{"lib", "*"}};
  CHECK(b.order("app") == "lib");
  app.deps[k_dev].clear();
  app.deps[k_optional] = {{"lib", "^1.0.0"}};
  app.deps[k_plain] = {{"lib", "^9.0.0"}};
  CHECK(b.order("app") == "lib");
}

TEST_CASE("a lone peer is an edge whatever its range; an installed field with the same key decides") {
  bench b;
  auto& app = b.add("app");
  b.add("lib");
  app.deps[k_peer] = {{"lib", "^99.0.0"}};
  CHECK(b.order("app") == "lib");
  CHECK(b.reach("app") == "lib");
  app.deps[k_dev] = {{"lib", "^99.0.0"}};
  CHECK(b.order("app").empty());
  CHECK(b.reach("app").empty());
}

TEST_CASE("a peer that would close a cycle is followed by REACH only") {
  bench b;
  b.add("a").deps[k_plain] = {{"b", "*"}};
  b.add("b").deps[k_peer] = {{"a", "*"}};
  CHECK(b.order("a") == "b");
  CHECK(b.order("b").empty());
  CHECK(b.reach("b") == "a");

  bench ring;  // tried in (package, peer) order: the last one closes the ring
  ring.add("a").deps[k_peer] = {{"b", "*"}};
  ring.add("b").deps[k_peer] = {{"c", "*"}};
  ring.add("c").deps[k_peer] = {{"a", "*"}};
  CHECK(ring.order("a") == "b");
  CHECK(ring.order("b") == "c");
  CHECK(ring.order("c").empty());
  CHECK(ring.reach("c") == "a");
}

TEST_CASE("cycles of installed packages are kept") {
  bench b;
  b.add("a").deps[k_plain] = {{"b", "*"}, {"a", "*"}};
  b.add("b").deps[k_dev] = {{"a", "*"}};
  CHECK(b.order("a") == "b");
  CHECK(b.order("b") == "a");
}

TEST_CASE("peers are accepted exactly as one reachability question each would accept them") {
  std::minstd_rand engine(7);
  const auto random = [&] { return static_cast<id>(engine()); };
  for (int round = 0; round < 300; ++round) {
    const id n = 2 + random() % 9;
    std::vector<std::vector<id>> order(n);
    for (id k = 0; k < n; ++k) {
      const id a = random() % n, b = random() % n;
      if (a != b && random() % 2 == 0) order[a].push_back(b);
    }
    std::vector<std::pair<id, id>> peers;
    for (id a = 0; a < n; ++a) {
      for (id b = 0; b < n; ++b) {
        if (a != b && random() % 3 == 0) peers.emplace_back(a, b);
      }
    }
    auto naive = order;
    std::vector<bool> expected;
    for (const auto& [from, to] : peers) {
      std::vector<id> stack{to};
      std::set<id> seen{to};
      while (!stack.empty()) {
        const id at = stack.back();
        stack.pop_back();
        for (const id d : naive[at]) {
          if (seen.insert(d).second) stack.push_back(d);
        }
      }
      expected.push_back(seen.count(from) == 0);
      if (expected.back()) naive[from].push_back(to);
    }
    CHECK(add_acyclic(order, peers) == expected);
    CHECK(order == naive);
  }
}

TEST_CASE("ten thousand packages with peers stay near linear") {
  constexpr id n = 10'000;
  const auto seconds = [](auto make) {
    std::vector<std::vector<id>> order(n);
    std::vector<std::pair<id, id>> peers;
    make(order, peers);
    const std::clock_t start = std::clock();  // of this process alone: the machine may be busy
    const auto accepted = add_acyclic(order, peers);
    CHECK(std::count(accepted.begin(), accepted.end(), true) > 0);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  // A ring in either direction, everything in a few hubs, and a long chain that each package closes back to.
  CHECK(seconds([](auto&, auto& peers) {
          for (id i = 0; i < n; ++i) peers.emplace_back(i, (i + 1) % n);
        }) < 2);
  CHECK(seconds([](auto&, auto& peers) {
          for (id i = 0; i < n; ++i) peers.emplace_back(i, (i + n - 1) % n);
        }) < 2);
  CHECK(seconds([](auto& order, auto& peers) {
          for (id i = 10; i < n; ++i) {
            order[i].push_back(i % 10);
            for (id h = 0; h < 10; ++h) peers.emplace_back(i, h);
          }
          for (id h = 0; h < 10; ++h) peers.emplace_back(h, n - 1 - h);
          std::sort(peers.begin(), peers.end());
        }) < 2);
  CHECK(seconds([](auto& order, auto& peers) {
          for (id i = 0; i + 1 < n; ++i) order[i].push_back(i + 1);
          for (id i = 1; i < n; i += 7) peers.emplace_back(i, 0);
          for (id i = 1; i < n; i += 3) peers.emplace_back(i, i / 2);
          peers.emplace_back(0, n - 1);
          std::sort(peers.begin(), peers.end());
        }) < 2);
  // A chain of peers that every package closes back to: nothing is known before the first one is tried.
  CHECK(seconds([](auto&, auto& peers) {
          for (id i = 0; i + 1 < n; ++i) {
            peers.emplace_back(i, i + 1);
            if (i > 0) peers.emplace_back(i, 0);
          }
          std::sort(peers.begin(), peers.end());
        }) < 2);
}

TEST_CASE("a chain of fifty thousand packages overflows nothing") {
  constexpr id n = 50'000;
  std::vector<std::vector<id>> order(n);
  for (id i = 0; i + 1 < n; ++i) order[i].push_back(i + 1);
  const components c = strong_components(order);
  CHECK(c.count == n);
  std::vector<std::pair<id, id>> peers{{n - 1, 0}, {0, n - 1}};
  CHECK(add_acyclic(order, peers) == std::vector<bool>{false, true});
}
