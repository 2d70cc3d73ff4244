#include "cache/index.hpp"

#include "fixture.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;

namespace {

std::unique_ptr<cache::index> open_index(const workspace& w, bool create = true, std::vector<std::string>* notices = nullptr) {
  cache::index::open_options o;
  o.create = create;
  o.notice = [notices](const std::string& line) {
    if (notices != nullptr) notices->push_back(line);
  };
  return cache::index::open(w.root(), o).value();
}

file_memo memo(const std::string& path, std::int64_t n) {
  file_memo m;
  m.path = path;
  m.size = static_cast<std::uint64_t>(n);
  m.mtime_ns = n;
  m.ctime_ns = -n;
  m.ino = ~static_cast<std::uint64_t>(n);
  m.id = key::git_blob_id(path, key::object_format::sha1);
  return m;
}

invocation_row invocation(std::int64_t at, std::int64_t tasks, std::int64_t hits) {
  invocation_row v;
  v.run = new_run_id();
  v.command = "run build";
  v.requested = "[\"build\"]";
  v.policy = "rw";
  v.started_ns = at;
  v.ended_ns = at + 5;
  v.task_count = tasks;
  v.hit_count = hits;
  v.exit_ok = true;
  v.os = "linux";
  v.arch = "x64";
  v.vx_version = "0.1.0";
  v.dirty = false;
  v.branch = "main";
  return v;
}

run_row task_row(const std::string& project, const std::string& status, std::int64_t duration) {
  run_row r;
  r.key = key_of(static_cast<std::uint64_t>(duration));
  r.project = project;
  r.task = "build";
  r.status = status;
  r.duration_ns = duration;
  r.cached = true;
  return r;
}

}  // namespace

TEST_CASE("stamps, snapshots, memos, sizes, verdicts, evaluations and blobs are kept and read in bulk") {
  workspace w;
  {
    auto i = open_index(w);
    REQUIRE(i->persistent());
    for (std::uint64_t k = 0; k < 600; ++k) i->put_stamps(key_of(k), {{k, static_cast<std::int64_t>(k)}, {0, 0}});
    i->put_dirs(key_of(3), "snapshot");
    std::vector<file_memo> files;
    for (int n = 0; n < 1200; ++n) files.push_back(memo("src/\xff" + std::to_string(n), n));
    i->put_file_memos(files);
    const key::oid id = key::git_blob_id("x", key::object_format::sha256);
    i->put_blob_sizes({{id, 77}});
    i->put_verdict(key_of(9), std::string("a\0b", 3));
    i->put_config_evals({{"vx.config.ts", "trace", "{}"}});
    i->put_meta("manifests", std::string("\0\1", 2));
    REQUIRE(i->flush());
  }
  auto i = open_index(w);
  std::vector<digest128> keys;
  for (std::uint64_t k = 0; k < 900; ++k) keys.push_back(key_of(k));
  keys.push_back(key_of(3));
  const auto got = i->current_many(keys);
  REQUIRE(got.size() == 901);
  for (std::uint64_t k = 0; k < 900; ++k) {
    CHECK(got[k].has_value() == (k < 600));
    if (k < 600) CHECK(got[k]->stamps[0].ino == k);
  }
  CHECK(got[3]->dirs == "snapshot");
  CHECK(got[900]->dirs == "snapshot");
  CHECK(got[4]->dirs.empty());

  CHECK(i->file_memo_count() == 1200);
  std::vector<std::string> few =
                               {"src/\xff"
                                "7",
                                "none"},
                           many;
  for (int n = 0; n < 1100; ++n) many.push_back("src/\xff" + std::to_string(n));
  many.push_back("none");
  const auto seven = i->file_memos(few);
  REQUIRE(seven.size() == 1);
  CHECK(seven[0].ino == ~std::uint64_t{7});
  CHECK(seven[0].ctime_ns == -7);
  CHECK(seven[0].id == memo(few[0], 7).id);
  CHECK(i->file_memos(many).size() == 1100);
  CHECK(i->blob_sizes({key::git_blob_id("x", key::object_format::sha256), key::git_blob_id("y", key::object_format::sha1)})
            .size() == 1);
  CHECK(i->verdict(key_of(9)) == std::string("a\0b", 3));
  CHECK_FALSE(i->verdict(key_of(10)));
  REQUIRE(i->config_evals({"vx.config.ts", "other"}).size() == 1);
  CHECK(i->meta("manifests") == std::string("\0\1", 2));
  CHECK_FALSE(i->meta("none"));
}

TEST_CASE("the last word on a key counts, and new stamps void its snapshot") {
  workspace w;
  auto i = open_index(w);
  i->put_stamps(key_of(1), {{1, 1}});
  i->put_dirs(key_of(1), "old");
  CHECK(i->current_many({key_of(1)})[0]->dirs == "old");
  i->put_stamps(key_of(1), {{2, 2}});
  CHECK(i->current_many({key_of(1)})[0]->dirs.empty());
  CHECK(i->current_many({key_of(1)})[0]->stamps[0].ino == 2);
  i->drop_stamps(key_of(1));
  CHECK_FALSE(i->current_many({key_of(1)})[0]);
  i->put_stamps(key_of(1), {{3, 3}});
  i->drop_stamps(key_of(1));
  i->put_stamps(key_of(1), {{4, 4}});
  CHECK(i->current_many({key_of(1)})[0]->stamps[0].ino == 4);
}

TEST_CASE("history is recorded with the queue in one transaction and read back") {
  workspace w;
  auto i = open_index(w);
  invocation_row cold = invocation(1'000, 2, 0), warm = invocation(2'000, 2, 2), bad = invocation(3'000, 2, 1);
  bad.exit_ok = false;
  run_row a = task_row("a", "success", 10), b = task_row("b", "success", 30);
  a.cpu_ns = 5;
  a.withheld = "policy";
  a.forward = std::string("\x01\0", 2);
  i->put_meta("m", "v");
  REQUIRE(i->record(cold, {a, b}));
  REQUIRE(i->record(warm, {task_row("a", "cache-hit", 1), task_row("b", "cache-hit", 1)}));
  run_row failed = task_row("a", "failed", 99);
  failed.exit_code = 3;
  failed.key = key_of(500);
  REQUIRE(i->record(bad, {failed, task_row("b", "success", 50)}));
  CHECK(i->meta("m") == "v");

  const auto newest = i->invocations(2);
  REQUIRE(newest.size() == 2);
  CHECK(newest[0].run == bad.run);
  CHECK(newest[1].run == warm.run);
  CHECK(newest[0].dirty == false);
  CHECK(newest[0].branch == "main");
  CHECK_FALSE(newest[0].host);
  CHECK(i->invocations(5, true).size() == 1);

  const auto rows = i->runs_of(cold.run);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].cpu_ns == 5);
  CHECK(rows[0].withheld == "policy");
  CHECK(rows[0].forward == std::string("\x01\0", 2));
  CHECK_FALSE(rows[1].cpu_ns);
  CHECK(rows[1].id > rows[0].id);

  const auto durations = i->recent_durations();
  REQUIRE(durations.size() == 2);
  CHECK(durations[0].id == "a#build");
  CHECK(durations[0].p50_ns == 10);
  CHECK(durations[1].p50_ns == 30);
  CHECK(i->recent_durations(1).size() == 1);
  CHECK(i->recent_runs_of("a", "build", 2).size() == 2);
  CHECK(i->recent_runs_of("a", "build", 3).size() == 3);
  CHECK(i->recent_runs_of("a", "none", 3).empty());
  CHECK(i->key_failed_before(key_of(500)));
  CHECK_FALSE(i->key_failed_before(key_of(10)));

  const std::string id = format_run_id(cold.run);
  CHECK(i->find_runs(id) == std::vector<std::string>{id});
  for (std::size_t n = 1; n <= id.size(); ++n) {
    const auto found = i->find_runs(id.substr(0, n));
    CHECK(std::count(found.begin(), found.end(), id) == 1);
  }
  CHECK(i->find_runs("xyz").empty());
  CHECK(i->find_runs("").empty());
  CHECK(i->find_runs(id + "0").empty());
}

TEST_CASE("an unusable .vx gives an index in memory and one line; a damaged file is set aside") {
  SUBCASE("unusable") {
    workspace w;
    w.dir.write("ws/.vx", "a file");
    std::vector<std::string> notices;
    auto i = open_index(w, true, &notices);
    CHECK_FALSE(i->persistent());
    CHECK(notices.size() == 1);
    i->put_stamps(key_of(1), {{1, 1}});
    CHECK(i->current_many({key_of(1)})[0]);
    CHECK(i->record(invocation(1, 1, 0), {task_row("a", "success", 1)}));
  }
  SUBCASE("damaged") {
    workspace w;
    w.dir.write("ws/.vx/index-1.db", std::string(5000, 'g'));
    std::vector<std::string> notices;
    auto i = open_index(w, true, &notices);
    CHECK(i->persistent());
    REQUIRE(notices.size() == 1);
    CHECK(notices[0].find("was damaged") != std::string::npos);
    CHECK(i->record(invocation(1, 1, 0), {task_row("a", "success", 1)}));
    CHECK(i->invocations(5).size() == 1);
  }
  SUBCASE("another version's index alone is refused by name to a reader") {
    workspace w;
    w.dir.write("ws/.vx/index-7.db", "x");
    cache::index::open_options o;
    o.create = false;
    const auto got = cache::index::open(w.root(), o);
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::CACHE_VERSION);
    CHECK(got.error().message.find("index-7.db") != std::string::npos);
    CHECK(open_index(w)->persistent());
    CHECK(cache::index::open(w.root(), o));
  }
  SUBCASE("reading verbs") {
    workspace w;
    std::vector<std::string> notices;
    auto i = open_index(w, false, &notices);
    CHECK(i->invocations(5).empty());
    CHECK(i->recent_durations().empty());
    CHECK(notices.empty());
    CHECK_FALSE(w.dir.exists("ws/.vx"));
    (void)open_index(w)->record(invocation(1, 1, 0), {task_row("a", "success", 1)});
    const std::string before = w.dir.sh("cd ws/.vx && find . -printf '%p %s %T@\\n' | sort");
    {
      auto r = open_index(w, false, &notices);
      CHECK(r->invocations(5).size() == 1);
      r->put_meta("x", "y");
      CHECK_FALSE(r->flush());
    }
    CHECK(w.dir.sh("cd ws/.vx && find . -printf '%p %s %T@\\n' | sort") == before);
  }
}
