#include <doctest/doctest.h>

#include <map>

#include "run/root_cause.hpp"
#include "run/why_verdict.hpp"

using namespace vx;
using namespace vx::run;

namespace {

digest128 key_of(unsigned char n) {
  digest128 d;
  d.raw.fill(std::byte{n});
  return d;
}

/// A cached run with a key, as the history has it.
told_run told(const std::string& status, std::optional<unsigned char> key, const std::string& policy = "lR,lW,rR,rW") {
  told_run t;
  t.row.status = status;
  t.row.cached = true;
  if (key) t.row.key = key_of(*key);
  t.policy = policy;
  t.row.saved = status == "success";
  if (status.starts_with("cache-hit")) t.row.restored = true;
  return t;
}
told_run withheld(const std::string& reason, unsigned char key, const std::string& policy = "lR,lW,rR,rW") {
  told_run t = told("success", key, policy);
  t.row.saved = false;
  t.row.withheld = reason;
  return t;
}
std::string verdict(const told_run& now, const told_run* before, const key::component_diff* diff = nullptr) {
  why_facts f;
  f.now = &now;
  f.before = before;
  f.diff = diff;
  return why_verdict(f);
}

key::component_change changed(key::component_kind kind, const std::string& name, const std::string& before = "1",
                              const std::string& after = "2") {
  return {kind, name, key::change::changed, before, after};
}

}  // namespace

TEST_CASE("a changed key names three components at the most") {
  const told_run before = told("success", 1), now = told("success", 2);
  using enum key::component_kind;
  key::component_diff d;
  d.changes = {changed(env, "A")};
  CHECK(verdict(now, &before, &d) == "cache key changed: env A");
  d.changes = {changed(config, "task config"), changed(package, "package.json"), changed(file, "src/a\n"),
               changed(file, "src/b"), changed(file, "src/c")};
  CHECK(verdict(now, &before, &d) == "cache key changed: task config, package.json, file src/a\\x0a and 2 more");
  CHECK(verdict(now, &before) == "cache key changed (inputs differ)");
  d.changes = {changed(file, "src/b")};
  CHECK(verdict(told("cache-hit", 2), &before, &d) == "cache key changed: file src/b; served from cache: restored");
  CHECK(verdict(withheld("inputs-moved", 2), &before, &d) ==
        "cache key changed: file src/b; not saved: an input was written while it ran");
  CHECK(verdict(told("failed", 2), &before, &d) == "cache key changed: file src/b; this run failed and saved nothing");
}

TEST_CASE("an unchanged key that ran again has a sentence for each cause") {
  const told_run now = told("success", 1), saved = told("success", 1), failed = told("failed", 1);
  CHECK(verdict(now, &failed) == "the previous run on this key failed and saved nothing");
  CHECK(verdict(now, &saved) == "its entry was pruned, evicted or damaged: same key, no artifact");
  const told_run hit = told("cache-hit", 1);
  CHECK(verdict(now, &hit) == "its entry was pruned, evicted or damaged: same key, no artifact");
  CHECK(verdict(told("success", 1, "lW,rR,rW"), &saved) == "this run did not read the cache (--force, --no-cache or --cache)");
  CHECK(verdict(withheld("policy", 1, ""), &saved) ==
        "this run did not read the cache (--force, --no-cache or --cache); not saved: this run's policy writes no cache");
  const told_run tainted = withheld("tainted", 1);
  CHECK(verdict(now, &tainted) == "the previous run was not saved: it ran beside a failed task");
  const told_run unwritten = withheld("policy", 1, "lR,rR,rW");
  CHECK(verdict(now, &unwritten) == "the previous run's policy wrote no cache");
  const told_run shared = withheld("policy", 1);
  CHECK(verdict(shared, &saved).starts_with("its outputs overlap another task's"));
  const told_run unknown = withheld("", 1);
  CHECK(verdict(now, &unknown) == "the previous run executed, but no entry exists");
  told_run no_policy = now;
  no_policy.policy.reset();
  CHECK(verdict(no_policy, &saved).starts_with("no policy recorded"));
  for (const char* reason : {"excluded-deps", "unkeyed-upstream", "key-moved", "inputs-moved", "fingerprint-moved", "too-large",
                             "unstorable-output", "output-changing", "removed-found-file", "store-error"}) {
    CAPTURE(reason);
    const told_run before = withheld(reason, 1);
    CHECK(verdict(now, &before).starts_with("the previous run was not saved: "));
  }
}

TEST_CASE("hits, skips, tasks without a cache, and first runs") {
  const told_run saved = told("success", 1);
  CHECK(verdict(told("cache-hit", 1), &saved) == "same key, served from cache: restored");
  told_run in_place = told("cache-hit", 1);
  in_place.row.restored = false;
  CHECK(verdict(in_place, &saved) == "same key, served from cache: its outputs were in place");
  told_run skipped = told("skipped", std::nullopt);
  skipped.row.blocked_by = "a#build";
  CHECK(verdict(skipped, &saved) == "skipped: a#build failed; no key recorded");
  told_run plain = told("success", 1);
  plain.row.cached = false;
  CHECK(verdict(plain, &saved) == "no cache block: it runs every time");
  CHECK(verdict(told("success", 1), nullptr) == "first recorded run of this task: nothing to compare with");
  CHECK(verdict(told("cache-hit", 1), nullptr) == "first recorded run, served from cache: restored");
  CHECK(verdict(withheld("unkeyed-upstream", 1), nullptr).find("not saved: a dependency") != std::string::npos);
  told_run keyless = told("failed", std::nullopt);
  CHECK(verdict(keyless, &saved) == "no key recorded; this run failed and saved nothing");
  CHECK(verdict(saved, &keyless) == "the previous run recorded no key");
}

TEST_CASE("a run with an older run's inputs says so") {
  const told_run before = told("failed", 2), now = told("cache-hit", 1);
  why_facts f;
  f.now = &now;
  f.before = &before;
  f.same_as = "0192";
  CHECK(why_verdict(f) == "cache key changed: it has the inputs of run 0192 again; served from cache: restored");
}

// app -> lib -> core, app -> lib2 -> core, and lib2 has a file of its own that moved.
TEST_CASE("moved dependencies are followed to what moved by itself, once and by the shortest way") {
  using enum key::component_kind;
  std::map<std::string, key::component_diff> known;
  known["lib1"].changes = {changed(upstream, "core#build", "core1", "core2")};
  known["lib21"].changes = {changed(upstream, "core#build", "core1", "core2"), changed(file, "lib2/src/x")};
  known["core1"].changes = {changed(file, "core/src/a"), changed(env, "E")};
  key::component_diff own;
  own.changes = {changed(upstream, "lib#build", "lib1", "lib2"), changed(upstream, "lib2#build", "lib21", "lib22"),
                 changed(file, "app/src/x")};
  const auto look = [&](const std::string& before, const std::string&) -> std::optional<key::component_diff> {
    const auto found = known.find(before);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  const auto roots = find_root_causes("app#build", own, look);
  REQUIRE(roots.size() == 2);
  CHECK(roots[0].chain == std::vector<std::string>{"app#build", "lib2#build"});
  REQUIRE(roots[0].entries.size() == 1);
  CHECK(roots[0].entries[0].name == "lib2/src/x");
  CHECK(roots[1].chain == std::vector<std::string>{"app#build", "lib#build", "core#build"});
  CHECK(roots[1].entries.size() == 2);
}

TEST_CASE("a dependency whose inputs were not recorded ends its chain, and a loop ends the walk") {
  using enum key::component_kind;
  key::component_diff own;
  own.changes = {changed(upstream, "lib#build", "l1", "l2")};
  const auto nothing = [](const std::string&, const std::string&) -> std::optional<key::component_diff> {
    return std::nullopt;
  };
  const auto roots = find_root_causes("app#build", own, nothing);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0].entries.empty());
  key::component_diff loop;
  loop.changes = {changed(upstream, "lib#build", "l1", "l2"), changed(upstream, "app#build", "a1", "a2")};
  CHECK(
      find_root_causes("app#build", loop, [&](const std::string&, const std::string&) { return std::optional(loop); }).empty());
}

TEST_CASE("50,000 dependencies in a chain are followed within the bound") {
  key::component_diff next;
  std::size_t asked = 0;
  const auto look = [&](const std::string& before, const std::string&) -> std::optional<key::component_diff> {
    ++asked;
    const auto n = std::stoul(before);
    key::component_diff d;
    d.changes = {changed(key::component_kind::upstream, "t" + std::to_string(n + 1), std::to_string(n + 1), "x")};
    return d;
  };
  next.changes = {changed(key::component_kind::upstream, "t0", "0", "x")};
  CHECK(find_root_causes("t", next, look).empty());
  CHECK(asked == 10'000);
}
