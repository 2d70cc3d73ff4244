#include "graph/task_graph.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <map>
#include <random>
#include <set>

#include "catalog.hpp"

using namespace vx;
using namespace vx::graph;
using test::asks;
using test::catalog_builder;
using test::group;
using test::task_spec;

namespace {

result<task_graph> try_build(const catalog& c, const std::vector<std::string>& ids, const build_options& options = {}) {
  return build_task_graph(c, asks(c, ids), options);
}

task_graph build(const catalog& c, const std::vector<std::string>& ids) {
  auto g = try_build(c, ids);
  REQUIRE_MESSAGE(g.has_value(), (g ? "" : g.error().message));
  return std::move(*g);
}

std::string names(const task_graph& g, std::span<const std::uint32_t> nodes) {
  std::string out;
  for (const std::uint32_t n : nodes) out += (out.empty() ? "" : " ") + g.nodes[n].id;
  return out;
}

std::string deps(const task_graph& g, const std::string& id) { return names(g, g.edges.deps(g.by_id.at(id))); }
std::string folded(const task_graph& g, const std::string& id) { return names(g, g.folded[g.by_id.at(id)]); }

std::string order(const task_graph& g) {
  std::string out;
  for (const task_node& n : g.nodes) out += (out.empty() ? "" : " ") + n.id;
  return out;
}

std::string refusal(const catalog& c, const std::vector<std::string>& ids, errc code = errc::CONFIG) {
  auto g = try_build(c, ids);
  REQUIRE_FALSE(g);
  CHECK(g.error().code == code);
  CHECK(g.error().message.find('\n') == std::string::npos);
  return g.error().message;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

double cpu_ms(std::clock_t begin) { return static_cast<double>(std::clock() - begin) * 1000.0 / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("entries parse into their forms") {
  struct row {
    const char* raw;
    entry::form kind;
    const char *project, *name;
    bool pattern, negated;
  };
  using f = entry::form;
  const row rows[] = {
      {"build", f::same, "", "build", false, false},
      {"^build", f::frontier, "", "build", false, false},
      {"a#build", f::project, "a", "build", false, false},
      {"//#x", f::project, "//", "x", false, false},
      {"lint.*", f::same, "", "lint.*", true, false},
      {"^lint.*", f::frontier, "", "lint.*", true, false},
      {"@acme/*#build", f::project, "@acme/*", "build", true, false},
      {"a#b*", f::project, "a", "b*", true, false},
      {"*", f::all_same, "", "*", true, false},
      {"^*", f::all_frontier, "", "*", true, false},
      {"!^x", f::frontier, "", "x", false, true},
      {"!*", f::all_same, "", "*", true, true},
      {"a#b#c", f::project, "a", "b#c", false, false},
      {"@s/a#b", f::project, "@s/a", "b", false, false},
      {"!a#b", f::project, "a", "b", false, true},
  };
  for (const row& r : rows) {
    CAPTURE(std::string(r.raw));
    const auto e = parse_entry(r.raw, entry_place::inputs_tasks);
    REQUIRE(e);
    CHECK(e->kind == r.kind);
    CHECK(e->project == r.project);
    CHECK(e->name == r.name);
    CHECK(e->pattern == r.pattern);
    CHECK(e->negated == r.negated);
    CHECK(e->raw == r.raw);
  }
  for (const char* bad : {"", " ", "!", "^", "!^", "^a#b", "#x", "x#", "#", "^#", "!#x"}) {
    CAPTURE(std::string(bad));
    for (const auto place : {entry_place::depends_on, entry_place::inputs_tasks}) {
      const auto e = parse_entry(bad, place);
      REQUIRE_FALSE(e);
      CHECK(has(e.error().message, "\"" + std::string(bad) + "\""));
    }
  }
  for (const char* bad : {"!x", "*", "^*", "**", "pkg#lint.*", "@acme/*#build", "!^x"}) {
    CAPTURE(std::string(bad));
    CHECK_FALSE(parse_entry(bad, entry_place::depends_on));
    CHECK(parse_entry(bad, entry_place::inputs_tasks));
  }
}

TEST_CASE("probe 1: a package without the task is passed through") {
  // a -> b -> c; b has no test
  const catalog c = catalog_builder()
                        .project("a", {"b"}, {{"test", {"^test"}}})
                        .project("b", {"c"}, {})
                        .project("c", {}, {{"test", {"^test"}}})
                        .done();
  const task_graph g = build(c, {"a#test"});
  CHECK(order(g) == "a#test c#test");
  CHECK(deps(g, "a#test") == "c#test");
}

TEST_CASE("probe 2: a holder is never walked past") {
  // a -> b -> c
  const auto make = [](std::vector<std::string> b_deps) {
    return catalog_builder()
        .project("a", {"b"}, {{"build", {"^build"}}})
        .project("b", {"c"}, {{"build", b_deps}})
        .project("c", {}, {{"build", {"^build"}}})
        .done();
  };
  const task_graph g = build(make({"^build"}), {"a#build"});
  CHECK(deps(g, "a#build") == "b#build");
  CHECK(deps(g, "b#build") == "c#build");
  CHECK(order(build(make({}), {"a#build"})) == "a#build b#build");
}

TEST_CASE("probe 3: a holder reached twice is one edge") {
  // a -> b -> d, a -> c -> d
  const catalog c = catalog_builder()
                        .project("a", {"b", "c"}, {{"x", {"^gen"}}})
                        .project("b", {"d"}, {})
                        .project("c", {"d"}, {})
                        .project("d", {}, {{"gen", {}}})
                        .done();
  CHECK(deps(build(c, {"a#x"}), "a#x") == "d#gen");
}

TEST_CASE("probe 4: a frontier name nobody declares is a typo, one declared elsewhere is no edge") {
  const catalog typo = catalog_builder().project("a", {"b"}, {{"build", {"^biuld"}}}).project("b", {}, {{"build", {}}}).done();
  const std::string message = refusal(typo, {"a#build"});
  CHECK(has(message, "a#build"));
  CHECK(has(message, "\"^biuld\""));
  CHECK(has(message, "no project declares"));
  CHECK(has(message, "did you mean build"));
  const catalog elsewhere =
      catalog_builder().project("a", {"b"}, {{"build", {"^gen"}}}).project("b", {}, {}).project("z", {}, {{"gen", {}}}).done();
  CHECK(order(build(elsewhere, {"a#build"})) == "a#build");
}

TEST_CASE("the loader is asked once per name that no loaded project declares") {
  const catalog c = catalog_builder().project("a", {"b"}, {{"x", {"^gen"}}, {"y", {"^gen"}}}).project("b", {}, {}).done();
  int asked = 0;
  build_options options;
  options.declared_anywhere = [&](std::string_view name) -> result<bool> {
    ++asked;
    CHECK(name == "gen");
    return true;
  };
  CHECK(try_build(c, {"a#x", "a#y"}, options));
  CHECK(asked == 1);
  options.declared_anywhere = [](std::string_view) -> result<bool> { return false; };
  CHECK_FALSE(try_build(c, {"a#x"}, options));
  options.declared_anywhere = [](std::string_view) -> result<bool> { return fail(errc::IO, "gone"); };
  CHECK(try_build(c, {"a#x"}, options).error().code == errc::IO);
}

TEST_CASE("probe 5: a pattern depends on every other match, and on nothing when there is none") {
  CHECK(order(build(catalog_builder().project("a", {}, {{"check", {"lint.*"}}}).done(), {"a#check"})) == "a#check");
  const catalog c = catalog_builder()
                        .project("a", {}, {{"check", {"lint.*"}}, {"lint.b", {}}, {"lint.a", {}}, {"lint.all", {"lint.*"}}})
                        .done();
  // lint.all matches its own pattern but never depends on itself.
  const task_graph g = build(c, {"a#check"});
  CHECK(deps(g, "a#check") == "a#lint.a a#lint.all a#lint.b");
  CHECK(deps(g, "a#lint.all") == "a#lint.a a#lint.b");
}

TEST_CASE("a frontier pattern takes every match of the nearest packages with one") {
  // a -> b -> c; b has lint.x and lint.y, c has lint.z
  const catalog c = catalog_builder()
                        .project("a", {"b", "e"}, {{"t", {"^lint.*"}}, {"u", {"^none.*"}}})
                        .project("b", {"c"}, {{"lint.y", {}}, {"lint.x", {}}})
                        .project("c", {}, {{"lint.z", {}}})
                        .project("e", {"c"}, {{"other", {}}})
                        .done();
  CHECK(deps(build(c, {"a#t"}), "a#t") == "b#lint.x b#lint.y c#lint.z");
  CHECK(deps(build(c, {"a#u"}), "a#u") == "");
}

TEST_CASE("probe 6: forms that dependsOn does not take are refused by entry") {
  for (const char* raw : {"pkg#lint.*", "*", "^*", "!x", "^a#b", "#x"}) {
    const catalog c = catalog_builder().project("a", {}, {{"t", {raw}}, {"x", {}}}).done();
    const std::string message = refusal(c, {"a#t"});
    CAPTURE(message);
    CHECK(has(message, "a#t: dependsOn entry \"" + std::string(raw) + "\""));
  }
}

TEST_CASE("probe 7: a cycle is one path that starts at its smallest id") {
  const auto cycle_of = [](const catalog& c, const std::vector<std::string>& ids) {
    const auto g = try_build(c, ids);
    REQUIRE_FALSE(g);
    CHECK(g.error().code == errc::CYCLE);
    return g.error();
  };
  const failure self = cycle_of(catalog_builder().project("a", {}, {{"x", {"x"}}}).done(), {"a#x"});
  CHECK(has(self.message, ": a#x -> a#x;"));
  CHECK(self.details == R"({"cycle":["a#x","a#x"]})");
  const catalog two =
      catalog_builder().project("b", {"a"}, {{"build", {"^build"}}}).project("a", {"b"}, {{"build", {"^build"}}}).done();
  for (const char* from : {"a#build", "b#build"}) {
    const failure f = cycle_of(two, {from});
    CHECK(has(f.message, ": a#build -> b#build -> a#build;"));
    CHECK(f.details == R"({"cycle":["a#build","b#build","a#build"]})");
  }
  catalog_builder ring;
  for (int i = 0; i < 200; ++i)
    ring.project("p" + std::to_string(1000 + i), {"p" + std::to_string(1000 + (i + 1) % 200)}, {{"build", {"^build"}}});
  const failure f = cycle_of(ring.done(), {"p1100#build"});
  CHECK(has(f.message, ": p1000#build -> p1001#build"));
  CHECK(has(f.message, "more"));
  CHECK(f.message.size() < 1000);
  CHECK(has(f.details, "p1100#build"));
}

TEST_CASE("probe 8: a cycle of packages without a cycle of tasks is legal") {
  const catalog c = catalog_builder()
                        .project("a", {"b"}, {{"lint", {}}, {"x", {"^gen"}}})
                        .project("b", {"a"}, {{"lint", {}}})
                        .project("c", {}, {{"gen", {}}})
                        .done();
  CHECK(order(build(c, {"a#lint", "b#lint"})) == "a#lint b#lint");
  CHECK(order(build(c, {"a#x"})) == "a#x");  // the walk ends although a and b lead to each other
}

TEST_CASE("packages in a cycle share the holders below any of them") {
  // a -> b -> c -> b, c -> d(gen), b -> e(gen)
  const catalog c = catalog_builder()
                        .project("a", {"b"}, {{"x", {"^gen"}}})
                        .project("b", {"c", "e"}, {})
                        .project("c", {"b", "d", "a"}, {{"x", {"^gen"}}})
                        .project("d", {}, {{"gen", {}}})
                        .project("e", {}, {{"gen", {}}})
                        .done();
  const task_graph g = build(c, {"a#x", "c#x"});
  CHECK(deps(g, "a#x") == "d#gen e#gen");
  CHECK(deps(g, "c#x") == "d#gen e#gen");
}

TEST_CASE("holders equal the plain walk on random package graphs") {
  std::mt19937 rng(8);
  for (int round = 0; round < 1500; ++round) {
    const auto n = static_cast<std::uint32_t>(2 + rng() % 14);
    catalog_builder b;
    std::vector<std::vector<std::uint32_t>> adj(n);
    std::vector<bool> holds(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      std::vector<std::string> out;
      for (auto k = rng() % 4; k > 0; --k) {
        const auto to = static_cast<std::uint32_t>(rng() % n);
        if (to == i || std::count(adj[i].begin(), adj[i].end(), to) != 0) continue;
        adj[i].push_back(to);
        out.push_back("p" + std::to_string(100 + to));
      }
      holds[i] = rng() % 3 == 0;
      std::vector<task_spec> tasks{{"ask", {"^gen"}}};
      if (holds[i]) tasks.push_back({"gen", {}});
      b.project("p" + std::to_string(100 + i), out, tasks);
    }
    b.project("z", {}, {{"gen", {}}});
    const catalog c = b.done();
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < n; ++i) all.push_back("p" + std::to_string(100 + i) + "#ask");
    const task_graph g = build(c, all);
    for (std::uint32_t i = 0; i < n; ++i) {
      std::set<std::uint32_t> seen{i};
      std::set<std::string> want;
      std::vector<std::uint32_t> stack(adj[i]);
      while (!stack.empty()) {
        const std::uint32_t d = stack.back();
        stack.pop_back();
        if (!seen.insert(d).second) continue;
        if (holds[d])
          want.insert("p" + std::to_string(100 + d) + "#gen");
        else
          stack.insert(stack.end(), adj[d].begin(), adj[d].end());
      }
      std::string text;
      for (const std::string& w : want) text += (text.empty() ? "" : " ") + w;
      CHECK(deps(g, all[i]) == text);
    }
  }
}

TEST_CASE("probe 10: the implicit build carries ^build through a package without a config") {
  // app -> lib(implicit) -> core
  const catalog c = catalog_builder()
                        .project("app", {"lib"}, {{"build", {"^build"}}})
                        .project("lib", {"core"}, {}, true)
                        .project("core", {}, {{"build", {}}})
                        .done();
  const task_graph g = build(c, {"app#build"});
  CHECK(deps(g, "app#build") == "lib#build");
  CHECK(deps(g, "lib#build") == "core#build");
  CHECK(folded(g, "lib#build") == "core#build");
}

TEST_CASE("probe 11: a requested group surfaces the real tasks it stands for") {
  // ci(group) -> build, inner(group) -> test, lib#gen
  const catalog c = catalog_builder()
                        .project("a", {"lib"},
                                 {group("ci", {"build", "inner", "^gen"}),
                                  {"build", {}},
                                  group("inner", {"test"}),
                                  {"test", {"deep"}},
                                  {"deep", {}}})
                        .project("lib", {}, {{"gen", {}}})
                        .done();
  const task_graph g = build(c, {"a#ci"});
  std::map<std::string, bool> surfaced;
  for (const task_node& n : g.nodes) surfaced[n.id] = n.surfaced;
  CHECK(surfaced ==
        std::map<std::string, bool>{
            {"a#ci", false}, {"a#build", true}, {"a#inner", false}, {"a#test", true}, {"a#deep", false}, {"lib#gen", false}});
  for (const task_node& n : build(c, {"a#build"}).nodes) CHECK_FALSE(n.surfaced);
}

TEST_CASE("requests come first, then the walk, and a named task is promoted") {
  const catalog c =
      catalog_builder().project("a", {}, {{"x", {"z", "y"}}, {"y", {"w"}}, {"z", {}}, {"w", {}}, {"v", {}}}).done();
  const task_graph g = build(c, {"a#x", "a#z", "a#x"});
  CHECK(order(g) == "a#x a#z a#y a#w");
  std::string requested;
  for (const task_node& n : g.nodes) requested += n.requested ? '1' : '0';
  CHECK(requested == "1100");
  CHECK(deps(g, "a#x") == "a#y a#z");
  for (std::uint32_t i = 0; i < g.nodes.size(); ++i) CHECK(g.by_id.at(g.nodes[i].id) == i);
}

TEST_CASE("dependencies are sorted by id text, where '#' and '-' compare as bytes") {
  const catalog c = catalog_builder()
                        .project("x", {"a", "a-b", "a!", "B"}, {{"t", {"^g.*", "u"}}, {"u", {}}})
                        .project("a-b", {}, {{"g.2", {}}})
                        .project("a", {}, {{"g.2", {}}, {"g.1", {}}})
                        .project("a!", {}, {{"g.1", {}}})
                        .project("B", {}, {{"g.1", {}}})
                        .done();
  CHECK(deps(build(c, {"x#t"}), "x#t") == "B#g.1 a!#g.1 a#g.1 a#g.2 a-b#g.2 x#u");
}

TEST_CASE("named tasks and projects are exact, and refused with the nearest name") {
  const catalog c = catalog_builder()
                        .project("root", {}, {{"r", {}}})
                        .project("@s/cart", {}, {{"build", {}}})
                        .project("a", {},
                                 {{"x", {"tset"}},
                                  {"test", {}},
                                  {"y", {"@s/crat#build"}},
                                  {"z", {"@s/cart#biuld"}},
                                  {"ok", {"@s/cart#build", "//#r", "test"}},
                                  {"w", {"cart#build"}},
                                  {"v", {"//#q"}}})
                        .root("root")
                        .done();
  CHECK(deps(build(c, {"a#ok"}), "a#ok") == "@s/cart#build a#test root#r");
  CHECK(has(refusal(c, {"a#x"}), "did you mean test"));
  CHECK(has(refusal(c, {"a#y"}), "did you mean @s/cart"));
  CHECK(has(refusal(c, {"a#z"}), "did you mean build"));
  CHECK(has(refusal(c, {"a#w"}), "\"cart#build\" names no project"));
  CHECK(has(refusal(c, {"a#v"}), "\"//#q\" names no task of project \"root\""));
  CHECK(has(refusal(c, {"a#tests"}, errc::UNKNOWN_TASK), "did you mean test"));
  const catalog rootless = catalog_builder().project("a", {}, {{"x", {"//#r"}}}).done();
  CHECK(has(refusal(rootless, {"a#x"}), "root project"));
}

TEST_CASE(
    "an exact pkg#task in inputs.tasks that is no dependency is refused; ^task of a package without dependencies is not") {
  const auto with = [](std::vector<std::string> fold) {
    return catalog_builder()
        .project("a", {"lib"}, {{"t", {"^build"}, true, std::move(fold)}})
        .project("lib", {}, {{"build", {}}, {"t", {"^build"}, true, std::vector<std::string>{"^build"}}})
        .project("other", {}, {{"build", {}}})
        .done();
  };
  CHECK(folded(build(with({"lib#build"}), {"a#t", "lib#t"}), "a#t") == "lib#build");
  CHECK(refusal(with({"other#build"}), {"a#t"}).find("other#build") != std::string::npos);
}

TEST_CASE("probe 19: inputs.tasks picks the folded keys, last match wins, and order stays") {
  struct row {
    std::optional<std::vector<std::string>> fold;
    const char* want;
  };
  const row rows[] = {
      {std::nullopt, "a#gen a#lint lib#build lib#noisy"},
      {std::vector<std::string>{}, ""},
      {{{"*"}}, "a#gen a#lint"},
      {{{"^*"}}, "lib#build lib#noisy"},
      {{{"*", "^*", "!^noisy"}}, "a#gen a#lint lib#build"},
      {{{"*", "!gen", "g*"}}, "a#gen a#lint"},
      {{{"*", "!*"}}, ""},
      {{{"^build"}}, "lib#build"},
      {{{"lib#build", "gen"}}, "a#gen lib#build"},
      {{{"l*#b*"}}, "lib#build"},
      {{{"*", "!nothing", "^absent.*"}}, "a#gen a#lint"},
  };
  for (const row& r : rows) {
    const catalog c =
        catalog_builder()
            .project("a", {"lib"}, {{"t", {"gen", "lint", "^build", "^noisy"}, true, r.fold}, {"gen", {}}, {"lint", {}}})
            .project("lib", {}, {{"build", {}}, {"noisy", {}}})
            .done();
    const task_graph g = build(c, {"a#t"});
    std::set<std::string> ids;
    for (const std::uint32_t n : g.folded[g.by_id.at("a#t")]) ids.insert(g.nodes[n].id);
    std::string text;
    for (const std::string& id : ids) text += (text.empty() ? "" : " ") + id;
    CHECK(text == r.want);
    CHECK(std::is_sorted(g.folded[0].begin(), g.folded[0].end()));
    CHECK(deps(g, "a#t") == "a#gen a#lint lib#build lib#noisy");
  }
}

TEST_CASE("probe 20: an exact inputs.tasks entry must be named by dependsOn in a form that reaches it") {
  struct row {
    std::vector<std::string> deps, fold;
    const char* refused;  // "" passes
  };
  const row rows[] = {
      {{"^build"}, {"build"}, "\"build\""},
      {{"build"}, {"buidl"}, "did you mean build"},
      {{"x"}, {"!^x"}, "begin with"},
      {{"build"}, {"^build"}, "\"^build\""},
      {{"build"}, {"build"}, ""},
      {{"build.*"}, {"build.a"}, ""},
      {{"^build.*"}, {"^build.a"}, ""},
      {{"^build"}, {"^build"}, ""},
      {{"^build"}, {"lib#build"}, ""},
      {{"build"}, {"lib#build"}, ""},
      {{"lib#build"}, {"^build"}, ""},
      {{"lib#build"}, {"lib#build"}, ""},
      {{"lib#build"}, {"core#build"}, "core#build"},
      {{"a"}, {"*", "!^noisy"}, ""},
      {{"a"}, {"x.*"}, ""},
      {{}, {}, ""},
      {{"a"}, {"#x"}, "\"#x\""},
      {{"a"}, {"*", "b"}, "\"b\""},
  };
  for (const row& r : rows) {
    catalog_task t;
    t.name = "t";
    t.depends_on = r.deps;
    t.inputs_tasks = r.fold;
    const status s = check_inputs_tasks(t, "a#t");
    const std::string message = s ? "" : s.error().message;
    CAPTURE(message);
    CHECK(message.empty() == std::string(r.refused).empty());
    if (!s) CHECK(has(message, r.refused));
    if (!s) CHECK(has(message, "a#t: cache.inputs.tasks entry"));
  }
  catalog_task all;
  CHECK(check_inputs_tasks(all, "a#t"));
}

TEST_CASE("probe 21: a pattern that reaches only members of a group is refused, the group named") {
  const auto make = [](std::vector<std::string> fold, std::vector<std::string> deps) {
    return catalog_builder()
        .project("a", {}, {{"x", deps, true, fold}, group("all", {"inner"}), group("inner", {"t.a"}), {"t.a", {}}})
        .done();
  };
  const std::string message = refusal(make({"t.*"}, {"all"}), {"a#x"});
  CHECK(has(message, "a#all"));
  CHECK(has(message, "a#t.a"));
  CHECK(has(message, "\"t.*\""));
  CHECK(order(build(make({"t.*"}, {"all", "t.a"}), {"a#x"})).size() > 0);
  CHECK(order(build(make({"*", "^*", "!t.*", "q.*"}, {"all"}), {"a#x"})).size() > 0);
}

TEST_CASE("probe 22: --exclude-dependencies narrows what runs and never what folds") {
  const auto view = [](const catalog& c, const task_graph& g, exclude_option o) {
    const schedule_view v = apply_exclusions(c, g, o);
    std::string out;
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) {
      if (!v.scheduled[i]) {
        CHECK(v.order[i].empty());
        continue;
      }
      out += (out.empty() ? "" : "; ") + g.nodes[i].id + (v.folds_dropped[i] ? "!" : "") +
             (v.order[i].empty() ? "" : " after " + names(g, v.order[i]));
    }
    return out;
  };
  // a -> b, build:[^build]
  const catalog two =
      catalog_builder().project("a", {"b"}, {{"build", {"^build"}}}).project("b", {}, {{"build", {"^build"}}}).done();
  const task_graph g = build(two, {"a#build"});
  CHECK(view(two, g, {}) == "a#build after b#build; b#build");
  CHECK(view(two, g, {true, {}}) == "a#build!");
  CHECK(view(two, g, {false, {"build"}}) == "a#build!");
  CHECK(view(two, g, {false, {"test"}}) == "a#build after b#build; b#build");
  CHECK(folded(g, "a#build") == "b#build");
  // Both requested: the edge stays.
  CHECK(view(two, build(two, {"a#build", "b#build"}), {true, {}}) == "a#build after b#build; b#build");

  // a#x -> a#mid -> a#y, x and y requested: order survives the task in between.
  const catalog chain =
      catalog_builder().project("a", {}, {{"x", {"mid"}}, {"mid", {"mid2"}}, {"mid2", {"y"}}, {"y", {}}}).done();
  CHECK(view(chain, build(chain, {"a#x", "a#y"}), {true, {}}) == "a#x! after a#y; a#y");
  CHECK(view(chain, build(chain, {"a#x", "a#y"}), {false, {"mid2"}}) == "a#x! after a#mid; a#y; a#mid! after a#y");

  // A group keeps its edges, its members run without theirs; what builds on a dropped key never saves, [] is exempt.
  const catalog grouped = catalog_builder()
                              .project("a", {},
                                       {group("ci", {"p", "q"}),
                                        {"p", {"gen"}},
                                        {"q", {"gen"}, true, std::vector<std::string>{}},
                                        {"gen", {}},
                                        {"top", {"q", "p"}}})
                              .done();
  CHECK(view(grouped, build(grouped, {"a#ci"}), {true, {}}) == "a#ci! after a#p a#q; a#p!; a#q");
  CHECK(view(grouped, build(grouped, {"a#top"}), {false, {"gen"}}) == "a#top! after a#p a#q; a#p!; a#q");
}

TEST_CASE("probe 23: excluded names must exist") {
  const catalog c = catalog_builder().project("a", {}, {{"build", {}}}).done();
  CHECK(check_exclusions(c, {false, {"build"}}));
  CHECK(check_exclusions(c, {true, {}}));
  const status s = check_exclusions(c, {false, {"biuld"}});
  REQUIRE_FALSE(s);
  CHECK(has(s.error().message, "did you mean build"));
  const status empty = check_exclusions(c, {false, {""}});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == errc::USAGE);
}

TEST_CASE("probe 9: 50,000 packages or tasks in a chain build without recursion") {
  const int n = 50000;
  catalog packages;
  catalog tasks;
  tasks.projects.resize(1);
  tasks.projects[0].name = "p";
  for (int i = 0; i < n; ++i) {
    catalog_task t;
    t.name = "build";
    t.depends_on = {"^build"};
    t.has_exec = true;
    catalog_project p;
    p.name = "p" + std::to_string(100000 + i);
    if (i + 1 < n) p.order = {static_cast<std::uint32_t>(i + 1)};
    p.tasks = {t};
    packages.projects.push_back(p);
    t.name = "t" + std::to_string(100000 + i);
    t.depends_on.clear();
    if (i + 1 < n) t.depends_on = {"t" + std::to_string(100001 + i)};
    tasks.projects[0].tasks.push_back(t);
  }
  std::clock_t begin = std::clock();
  const auto a = build_task_graph(packages, {{0, "build"}}, {});
  REQUIRE(a);
  CHECK(a->nodes.size() == n);
  MESSAGE("packages CPU ms: " << cpu_ms(begin));
  begin = std::clock();
  const auto b = build_task_graph(tasks, {{0, "t100000"}}, {});
  REQUIRE(b);
  CHECK(b->nodes.size() == n);
  MESSAGE("tasks CPU ms: " << cpu_ms(begin));
  // Nobody but the last package declares it: every walk passes through all the others.
  for (int i = 0; i < n; ++i) packages.projects[static_cast<std::size_t>(i)].tasks[0].name = i + 1 < n ? "ask" : "build";
  std::vector<request> all;
  for (std::uint32_t i = 0; i + 1 < n; ++i) all.push_back({i, "ask"});
  begin = std::clock();
  const auto d = build_task_graph(packages, all, {});
  REQUIRE(d);
  CHECK(d->edges.deps(0).size() == 1);
  MESSAGE("bridged CPU ms: " << cpu_ms(begin));
  const schedule_view v = apply_exclusions(packages, *d, {true, {}});
  CHECK(v.folds_dropped[0]);
}

TEST_CASE("3,270 tasks in 100 dense layers build in milliseconds") {
  const std::uint32_t layers = 99;
  const std::uint32_t width = 11;
  catalog c;
  std::vector<request> all;
  for (std::uint32_t i = 0; i < layers * width; ++i) {
    catalog_project p;
    p.name = "@scope/package-" + std::to_string(10000 + i);
    for (std::uint32_t w = 0; w < width && i / width + 1 < layers; ++w) p.order.push_back((i / width + 1) * width + w);
    for (const auto& [name, deps] :
         {std::pair<const char*, std::vector<std::string>>{"build", {"^build"}}, {"lint", {}}, {"test", {"build", "^build"}}}) {
      catalog_task t;
      t.name = name;
      t.depends_on = deps;
      t.has_exec = t.cached = true;
      p.tasks.push_back(t);
      all.push_back({i, name});
    }
    c.projects.push_back(p);
  }
  const std::clock_t begin = std::clock();
  const auto g = build_task_graph(c, all, {});
  const double ms = cpu_ms(begin);
  REQUIRE(g);
  CHECK(g->nodes.size() == layers * width * 3);
  MESSAGE("dense CPU ms: " << ms);
}
