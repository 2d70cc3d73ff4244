// Micro-benchmarks of what a run asks of the cache. Skipped unless asked for: unit-cache --no-skip -tc="bench*".
#include <sys/resource.h>

#include <cstdio>

#include "cache/artifact.hpp"
#include "fixture.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;

namespace {

constexpr std::uint64_t k_tasks = 3270;

double cpu_us() {
  struct rusage u {};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

template <class F>
void measure(const char* what, double per, F&& f) {
  const double cpu = cpu_us();
  const std::int64_t wall = mono_ns();
  f();
  std::printf("%-44s wall %9.2f us, cpu %9.2f us each\n", what, static_cast<double>(mono_ns() - wall) / 1e3 / per,
              (cpu_us() - cpu) / per);
}

}  // namespace

TEST_CASE("bench: one-file tasks through save, lookup, proof, restore and history" * doctest::skip()) {
  workspace w;
  std::vector<output_scope> scopes;
  std::vector<digest128> keys;
  for (std::uint64_t k = 0; k < k_tasks; ++k) {
    const std::string project = "packages/p" + std::to_string(k);
    w.dir.write("ws/" + project + "/dist/index.js", std::string(2000, static_cast<char>('a' + k % 26)));
    scopes.push_back(make_scope(w.root(), project, {"dist/**"}));
    keys.push_back(key_of(k));
  }
  const double n = k_tasks;
  std::vector<key::component> components;
  for (int i = 0; i < 20; ++i)
    components.push_back({key::component_kind::file, "packages/p/src/" + std::to_string(i) + ".ts", std::string(40, 'a')});
  {
    auto s = w.open();
    auto i = cache::index::open(w.root(), {}).value();
    measure("save", n, [&] {
      for (std::uint64_t k = 0; k < k_tasks; ++k) {
        save_request q = workspace::request(scopes[k], keys[k], encode_log({{1, "built\n", 0}}));
        q.components = components;
        const save_result r = s->save(q);
        REQUIRE_MESSAGE(r.how == save_result::outcome::saved, r.reason);
        i->put_stamps(keys[k], r.stamps);
      }
    });
    measure("stamps flushed", n, [&] { REQUIRE(i->flush()); });
  }
  for (int round = 0; round < 2; ++round) {
    auto s = w.open();
    auto i = cache::index::open(w.root(), {}).value();
    std::vector<std::optional<lookup_result>> hits;
    std::vector<std::optional<cache::index::current_state>> states;
    measure("lookup_many", n, [&] { hits = s->lookup_many(keys, true); });
    measure("lookup_many for a plan", n, [&] { (void)s->lookup_many(keys, false); });
    measure("current_many", n, [&] { states = i->current_many(keys); });
    std::uint64_t current = 0;
    measure("is_current", n, [&] {
      for (std::uint64_t k = 0; k < k_tasks; ++k)
        current += is_current(scopes[k], hits[k]->outputs, states[k]->stamps, states[k]->dirs) ? 1 : 0;
    });
    CHECK(current == k_tasks);
    measure("touch_used, fresh", n, [&] { s->touch_used(keys, wall_ns()); });
    measure("touch_used, all", n, [&] { s->touch_used(keys, wall_ns() + 120'000'000'000); });
    measure("prune, nothing due", 1, [&] { REQUIRE(s->prune({}, false, false)); });
    std::vector<std::string> blobs(k_tasks);
    measure("snapshot_dirs", n, [&] {
      for (std::uint64_t k = 0; k < k_tasks; ++k) blobs[k] = snapshot_dirs(scopes[k], hits[k]->outputs);
    });
    for (std::uint64_t k = 0; k < k_tasks; ++k) i->put_dirs(keys[k], blobs[k]);
    invocation_row inv;
    inv.run = new_run_id();
    inv.started_ns = wall_ns();
    inv.task_count = static_cast<std::int64_t>(k_tasks);
    inv.hit_count = inv.task_count;
    std::vector<run_row> rows;
    for (std::uint64_t k = 0; k < k_tasks; ++k) {
      run_row r;
      r.key = keys[k];
      r.project = "packages/p" + std::to_string(k);
      r.task = "build";
      r.status = "cache-hit";
      rows.push_back(r);
    }
    i->flush();
    measure("record", n, [&] { REQUIRE(i->record(inv, rows)); });
    measure("recent_durations", 1, [&] { (void)i->recent_durations(); });
  }
  auto s = w.open();
  const auto hits = s->lookup_many(keys, true);
  w.dir.sh("rm -rf ws/packages/*/dist");
  measure("restore, output absent", n, [&] {
    for (std::uint64_t k = 0; k < k_tasks; ++k)
      REQUIRE(s->restore(*hits[k], scopes[k], w.stage()).how == restore_result::outcome::restored);
  });
  measure("restore over the old output", n, [&] {
    for (std::uint64_t k = 0; k < k_tasks; ++k)
      REQUIRE(s->restore(*hits[k], scopes[k], w.stage()).how == restore_result::outcome::restored);
  });
  measure("clean", n, [&] {
    for (std::uint64_t k = 0; k < k_tasks; ++k) REQUIRE(clean_outputs(scopes[k]));
  });
}

TEST_CASE("bench: 2,000 outputs in place" * doctest::skip()) {
  workspace w;
  for (int i = 0; i < 2000; ++i) w.dir.write("ws/p/dist/d" + std::to_string(i % 50) + "/f" + std::to_string(i), "x");
  const auto scope = w.scope({"dist/**"});
  auto s = w.open();
  save_result r;
  measure("save of 2,000 files", 1, [&] { r = s->save(workspace::request(scope, key_of(1))); });
  REQUIRE(r.how == save_result::outcome::saved);
  measure("is_current of 2,000 files, walk", 1, [&] { CHECK(is_current(scope, r.outputs, r.stamps, "")); });
  const std::int64_t from = mono_ns();
  std::string blob;
  while ((blob = snapshot_dirs(scope, r.outputs)).empty() && mono_ns() - from < 5'000'000'000) {
  }
  measure("is_current of 2,000 files, snapshot", 1, [&] { CHECK(is_current(scope, r.outputs, r.stamps, blob)); });
  const auto hit = s->lookup(key_of(1));
  w.dir.sh("rm -rf ws/p/dist");
  measure("restore of 2,000 files", 1,
          [&] { CHECK(s->restore(*hit, scope, w.stage()).how == restore_result::outcome::restored); });
}
