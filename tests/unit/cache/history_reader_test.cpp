#include "cache/history_reader.hpp"

#include <filesystem>

#include "cache/database.hpp"
#include "cache/row_blobs.hpp"
#include "fixture.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;

namespace {

std::unique_ptr<cache::index> open_index(const workspace& w) { return cache::index::open(w.root(), {}).value(); }

run_row row(const std::string& project, const std::string& status, std::uint64_t key, std::int64_t at,
            std::int64_t attempts = 1) {
  run_row r;
  r.key = key_of(key);
  r.project = project;
  r.task = "build";
  r.status = status;
  r.started_ns = r.ended_ns = at;
  r.attempts = attempts;
  r.cached = true;
  return r;
}

run_id record(cache::index& index, std::int64_t at, const std::vector<run_row>& rows) {
  invocation_row v;
  v.run = new_run_id();
  v.command = "vx run build";
  v.requested = "[]";
  v.policy = "lR,lW";
  v.started_ns = v.ended_ns = at;
  v.task_count = static_cast<std::int64_t>(rows.size());
  for (const run_row& r : rows) v.hit_count += r.status == "cache-hit" ? 1 : 0;
  v.restored_local = v.hit_count;
  v.os = "linux";
  v.arch = "x64";
  REQUIRE(index.record(v, rows));
  return v.run;
}

}  // namespace

TEST_CASE("the policy of a run, the recorded tasks, and where a failure was fixed") {
  const workspace w;
  const auto index = open_index(w);
  const std::int64_t now = wall_ns();
  record(*index, now - 3000, {row("a", "failed", 1, now - 3000), row("b", "success", 2, now - 3000)});
  record(*index, now - 2000, {row("a", "failed", 1, now - 2000)});
  const run_id third = record(*index, now - 1000, {row("a", "success", 3, now - 1000)});
  history_reader reader(w.root());
  CHECK(reader.policy_of(third) == "lR,lW");
  CHECK_FALSE(reader.policy_of(new_run_id()));
  using pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(reader.recorded_tasks(100) == pairs{{"a", "build"}, {"b", "build"}});
  CHECK(reader.recorded_tasks(2) == pairs{{"a", "build"}});
  const std::vector<run_row> rows = index->recent_runs_of("a", "build", 10);
  REQUIRE(rows.size() == 3);
  CHECK(reader.fixed_in(rows[2]) == format_run_id(third));
  CHECK_FALSE(reader.fixed_in(rows[0]));
}

TEST_CASE("the table gains a column for what unsaved results were made of when one is recorded") {
  const workspace w;
  digest128 salt, other;
  salt.raw.fill(std::byte{7});
  const std::vector<key::component> parts = {{key::component_kind::env, "MODE", "0123"},
                                             {key::component_kind::file, "src/x", "ab"}};
  const auto index = open_index(w);
  std::vector<run_row> rows;
  for (std::uint64_t i = 0; i < 70; ++i) rows.push_back(row("p" + std::to_string(i), "success", i, 1000));
  record(*index, wall_ns(), rows);
  {
    database db;
    REQUIRE(db.open_file(w.root() + "/.vx/index-1.db", database::access::read));
    CHECK(db.use("SELECT forward FROM runs"));
    CHECK_FALSE(db.use("SELECT inputs FROM runs"));
  }
  history_reader before(w.root());
  CHECK(before.unsaved_inputs(new_run_id(), key_of(1)).empty());

  for (const std::size_t i : {std::size_t{0}, std::size_t{33}, std::size_t{69}})
    rows[i].inputs = encode_unsaved_inputs(salt, parts);
  const run_id second = record(*index, wall_ns(), rows);
  history_reader reader(w.root());
  for (std::uint64_t i = 0; i < 70; ++i) {
    const auto got = decode_unsaved_inputs(salt, reader.unsaved_inputs(second, key_of(i)));
    CHECK(got.size() == (i == 0 || i == 33 || i == 69 ? 2 : 0));
  }
  CHECK(decode_unsaved_inputs(other, reader.unsaved_inputs(second, key_of(33))).empty());
  const std::vector<run_row> order = index->runs_of(second);
  REQUIRE(order.size() == 70);
  for (std::size_t i = 0; i < 70; ++i) CHECK(order[i].project == rows[i].project);
}

TEST_CASE("counts and hit keys of a period") {
  const workspace w;
  const auto index = open_index(w);
  const std::int64_t now = wall_ns();
  record(*index, now - 5000, {row("a", "cache-hit", 1, now - 5000)});
  record(*index, now - 100,
         {row("a", "cache-hit", 1, now - 100), row("b", "cache-hit", 2, now - 100), row("c", "success", 3, now - 100)});
  record(*index, now - 50, {row("a", "cache-hit", 1, now - 50)});
  history_reader reader(w.root());
  const run_counts counts = reader.counts_since(now - 1000);
  CHECK(counts.tasks == 4);
  CHECK(counts.hits == 3);
  CHECK(counts.restored == 3);
  std::uint64_t of_one = 0;
  for (const auto& [key, n] : reader.hit_keys_since(now - 1000))
    if (key == key_of(1)) of_one = n;
  CHECK(of_one == 2);
  CHECK(reader.hit_keys_since(now - 1000).size() == 2);
}

TEST_CASE("flaky is a key that failed after passing, or a pass that took another attempt") {
  const workspace w;
  const auto index = open_index(w);
  const std::int64_t now = wall_ns();
  record(*index, now - 90,
         {row("a", "success", 1, now), row("b", "failed", 2, now), row("c", "success", 3, now, 3), row("d", "failed", 4, now),
          row("e", "success", 5, now)});
  record(*index, now - 80,
         {row("a", "failed", 1, now), row("b", "success", 2, now), row("d", "success", 6, now), row("e", "cache-hit", 5, now)});
  record(*index, now - 70, {row("a", "success", 1, now)});
  history_reader reader(w.root());
  const std::vector<flaky_task> flaky = reader.flaky_tasks(now - 1000);
  REQUIRE(flaky.size() == 2);
  CHECK(flaky[0].project == "a");
  CHECK(flaky[0].keys == 1);
  CHECK(flaky[0].passes == 2);
  CHECK(flaky[0].failures == 1);
  CHECK(flaky[1].project == "c");
  CHECK(flaky[1].passes == 1);
  CHECK(flaky[1].failures == 2);
  CHECK(reader.flaky_tasks(now + 1000).empty());
}

TEST_CASE("no history reads as empty and stays absent") {
  const workspace w;
  history_reader reader(w.root());
  CHECK(reader.recorded_tasks(10).empty());
  CHECK(reader.counts_since(0).tasks == 0);
  CHECK(reader.flaky_tasks(0).empty());
  CHECK_FALSE(reader.policy_of(new_run_id()));
  CHECK_FALSE(std::filesystem::exists(w.root() + "/.vx"));
}
