#include "cache/store.hpp"

#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <random>
#include <thread>

#include "cache/database.hpp"
#include "fixture.hpp"
#include "key/digest.hpp"
#include "support/child.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;
using save_outcome = save_result::outcome;
using restore_outcome = restore_result::outcome;

namespace {

lookup_result saved(store& s, const output_scope& scope, std::uint64_t key, const std::string& log = {}) {
  const save_result r = s.save(workspace::request(scope, key_of(key), log));
  REQUIRE_MESSAGE(r.how == save_outcome::saved, r.reason);
  auto hit = s.lookup(key_of(key));
  REQUIRE(hit);
  return std::move(*hit);
}

void restored(store& s, const workspace& w, const lookup_result& hit, const output_scope& scope) {
  const restore_result r = s.restore(hit, scope, w.stage());
  REQUIRE_MESSAGE(r.how == restore_outcome::restored, r.reason);
  CHECK(is_current(scope, hit.outputs, r.stamps, ""));
}

/// The last value a statement gives.
std::string run_sql(const std::string& file, const std::string& sql) {
  sqlite3* db = nullptr;
  std::string out;
  REQUIRE(sqlite3_open_v2(file.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
  CHECK(sqlite3_exec(
            db, sql.c_str(),
            [](void* to, int, char** v, char**) {
              *static_cast<std::string*>(to) = v[0] != nullptr ? v[0] : "";
              return 0;
            },
            &out, nullptr) == SQLITE_OK);
  sqlite3_close(db);
  return out;
}

pid_t spawn(const std::string& fixture, const std::vector<std::string>& args) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid != 0) return pid;
  std::vector<std::string> all = {vx::test::self_path(), "--vx-child", fixture};
  all.insert(all.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& a : all) argv.push_back(a.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

int wait_for(pid_t pid) {
  int state = 0;
  REQUIRE(::waitpid(pid, &state, 0) == pid);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace

TEST_CASE("a saved tree comes back exactly, whatever the umask, and is current at once") {
  workspace w;
  auto s = w.open();
  w.dir.sh(R"(cd ws/p && mkdir -p dist/sub/deep dist/none && printf one > dist/a && printf two > dist/sub/b && : > dist/empty
    printf x > dist/sub/deep/c && chmod 755 dist/a && chmod 600 dist/sub/b && chmod 444 dist/empty && chmod 000 dist/sub/deep/c
    touch -d '1960-05-05 05:05:05.123456789 UTC' dist/a; touch -d @0 dist/sub/b; touch -d '2300-01-01 00:00:00.5 UTC' dist/empty
    ln -s a dist/rel; ln -s nowhere dist/dangling; ln -s sub dist/todir; ln -s zz dist/later; : > dist/zz
    chmod 755 dist dist/sub; chmod 555 dist/sub/deep)");
  const auto scope = w.scope({"dist/**"});
  const std::string before = w.tree("dist");
  const lookup_result hit = saved(*s, scope, 1, std::string("\x01\x01\0\0\0x", 6));
  CHECK(s->read_log(hit.entry).value() == std::string("\x01\x01\0\0\0x", 6));
  CHECK(w.temporaries() == 0);
  for (const mode_t mask : {022, 077, 002, 0}) {
    w.dir.sh("cd ws/p && chmod -R u+rwx dist && rm -rf dist");
    const mode_t old = ::umask(mask);
    restored(*s, w, hit, scope);
    ::umask(old);
    CHECK(w.tree("dist") == before);
    CHECK_MESSAGE(w.notices.empty(), w.notices.front());
  }
  CHECK(w.dir.sh("ls -A ws/.vx/stage/*") == "");
}

TEST_CASE("a restore repairs every kind of difference and removes strays of every kind") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  w.dir.write("ws/p/dist/sub/b", "two");
  w.dir.write("ws/p/src/s", "source");
  w.dir.symlink("a", "ws/p/dist/l");
  w.dir.sh("chmod 755 ws/p/dist ws/p/dist/sub");
  const auto scope = w.scope({"dist/**", "!dist/keep/**"});
  const std::string before = w.tree("dist");
  const lookup_result hit = saved(*s, scope, 1);
  const char* changes[] = {
      "echo x > dist/a",
      "rm dist/a && mkdir -p dist/a/b && touch dist/a/b/c",
      "rm -r dist/sub && ln -s ../src dist/sub",
      "rm -r dist/sub && touch dist/sub",
      "rm dist/l && mkdir dist/l",
      "rm dist/l && ln -s ../src/s dist/l",
      "mkdir -p dist/stray/deep && touch dist/stray/deep/x dist/y && ln -s x dist/z && mkdir dist/e && mkfifo dist/ff",
      "chmod 555 dist/sub dist && chmod 000 dist/sub/b",
      "rm -rf dist",
      "rm dist/a && ln -s ../src/s dist/a",
      "chmod 700 dist/sub",
  };
  for (const char* change : changes) {
    w.dir.sh(std::string("cd ws/p && ") + change);
    REQUIRE_FALSE(w.tree("dist") == before);
    restored(*s, w, hit, scope);
    CHECK_MESSAGE(w.tree("dist") == before, change);
    CHECK(w.dir.read("ws/p/src/s") == "source");
  }
  w.dir.write("ws/p/dist/keep/mine", "kept");
  w.dir.write("ws/p/dist/stray", "x");
  restored(*s, w, hit, scope);
  CHECK(w.dir.read("ws/p/dist/keep/mine") == "kept");
  CHECK_FALSE(w.dir.exists("ws/p/dist/stray"));
}

TEST_CASE("a restore never writes through a link it did not make, and refuses where a miss would") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/rt/a", "built");
  w.dir.write("ws/p/src/a", "source");
  const auto scope = w.scope({"dist/**"});
  const lookup_result hit = saved(*s, scope, 1);
  w.dir.sh("cd ws/p && rm -r dist/rt && ln -s ../src dist/rt");
  restored(*s, w, hit, scope);
  CHECK(w.dir.read("ws/p/src/a") == "source");
  CHECK(w.dir.read("ws/p/dist/rt/a") == "built");

  w.dir.sh("mkdir elsewhere && cd ws/p && rm -rf dist && ln -s '" + (w.dir / "elsewhere") + "' dist");
  const restore_result r = s->restore(hit, scope, w.stage());
  CHECK(r.how == restore_outcome::refused);
  CHECK(r.reason.find("outside the project") != std::string::npos);
  CHECK(w.dir.sh("ls -A elsewhere") == "");
  CHECK_FALSE(clean_outputs(scope));
}

TEST_CASE("project and workspace outputs with one name stay apart") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/gen/a", "project");
  w.dir.write("ws/gen/a", "workspace");
  const auto scope = w.scope({"gen/**"}, {"gen/**"});
  const lookup_result hit = saved(*s, scope, 1);
  w.dir.sh("rm -rf ws/p/gen ws/gen");
  restored(*s, w, hit, scope);
  CHECK(w.dir.read("ws/p/gen/a") == "project");
  CHECK(w.dir.read("ws/gen/a") == "workspace");
}

TEST_CASE("what cannot be stored refuses the save by name, stores nothing and leaves no temporary") {
  struct row {
    const char* make;
    std::vector<std::string> outputs;
    save_outcome how;
    const char* says;
  };
  const row table[] = {
      {"mkdir dist && ln -s /etc/passwd dist/abs", {"dist/**"}, save_outcome::unstorable_output, "p/dist/abs"},
      {"mkdir dist && ln -s ../../../x dist/up", {"dist/**"}, save_outcome::unstorable_output, "rises above the workspace"},
      {"mkdir dist && ln -s ../../.git/x dist/git", {"dist/**"}, save_outcome::unstorable_output, ".git"},
      {"mkdir dist && mkfifo dist/ff", {"dist/**"}, save_outcome::unstorable_output, "p/dist/ff"},
      {"mkdir -p .o/p && ln -s .o/p dist", {"dist/**"}, save_outcome::unstorable_output, "declare .o/p/** too"},
      {"mkdir dist && truncate -s 3G dist/huge && touch dist/small",
       {"dist/**"},
       save_outcome::too_large,
       "p/dist/huge (3.0 GB)"},
  };
  for (const row& r : table) {
    workspace w;
    auto s = w.open();
    w.dir.sh(std::string("cd ws/p && ") + r.make);
    const auto scope = w.scope(r.outputs);
    const save_result got = s->save(workspace::request(scope, key_of(1)));
    CHECK_MESSAGE(got.how == r.how, r.make, ": ", got.reason);
    CHECK_MESSAGE(got.reason.find(r.says) != std::string::npos, got.reason);
    CHECK_FALSE(s->lookup(key_of(1)));
    CHECK(w.dir.sh("ls -A store | grep -v -e ^store-1 -e ^lock -e gitignore || true") == "");
  }
  workspace w;
  auto s = w.open();
  w.dir.sh("cd ws/p && mkdir -p .o/p && echo x > .o/p/f && ln -s .o/p dist");
  const auto both = w.scope({"dist/**", ".o/p/**"});
  const lookup_result hit = saved(*s, both, 2);
  w.dir.sh("cd ws/p && rm -rf dist .o");
  restored(*s, w, hit, both);
  CHECK(w.dir.sh("cat ws/p/dist/f; readlink ws/p/dist") == "x\n.o/p\n");
}

TEST_CASE("content below a link and at its target is stored once") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/out/store/p/f", "content");
  w.dir.symlink("../store/p", "ws/p/out/node_modules/p");
  const auto scope = w.scope({"out/**", "out/node_modules/**"});
  const lookup_result hit = saved(*s, scope, 1);
  std::size_t files = 0;
  for (const output_row& r : hit.outputs) files += r.kind == 'f' ? 1 : 0;
  CHECK(files == 1);
  w.dir.sh("rm -rf ws/p/out");
  restored(*s, w, hit, scope);
  CHECK(w.dir.sh("readlink ws/p/out/node_modules/p; cat ws/p/out/node_modules/p/f") == "../store/p\ncontent");
}

namespace {

std::string random_name(std::mt19937& rng) {
  std::string out;
  const std::size_t n = 1 + rng() % 12;
  for (std::size_t i = 0; i < n; ++i) {
    char c = static_cast<char>(rng() % 255 + 1);
    if (c == '/') c = '_';
    out += c;
  }
  if (rng() % 16 == 0) out = std::string(200 + rng() % 55, 'n');
  return out == "." || out == ".." ? "dots" : out;
}

/// A tree below `at`, made with system calls: names of any bytes, every mode, odd times, links, empty directories.
void grow(const std::string& at, int depth, std::mt19937& rng) {
  const std::size_t n = rng() % 5;
  for (std::size_t i = 0; i < n; ++i) {
    const std::string path = at + "/" + random_name(rng);
    const auto pick = rng() % 10;
    if (pick < 3 && depth < 4) {
      if (::mkdir(path.c_str(), 0755) != 0) continue;
      grow(path, depth + 1, rng);
      const mode_t modes[] = {0755, 0755, 0700, 0555, 0777, 0000};
      ::chmod(path.c_str(), modes[rng() % 6]);
    } else if (pick < 5) {
      const std::string target = rng() % 2 == 0 ? random_name(rng) : "../" + random_name(rng);
      (void)!::symlink(target.c_str(), path.c_str());
    } else {
      const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (fd < 0) continue;
      std::string body(rng() % 4 == 0 ? 0 : rng() % 5000, '\0');
      for (char& c : body) c = static_cast<char>(rng() % 4);
      REQUIRE(::write(fd, body.data(), body.size()) == static_cast<ssize_t>(body.size()));
      ::fchmod(fd, rng() % 512);
      const std::int64_t seconds[] = {0, -1, -2'000'000'000, 1'700'000'000, 2'147'483'648, 8'000'000'000};
      const struct timespec times[2] = {{0, UTIME_OMIT}, {seconds[rng() % 6], static_cast<long>(rng() % 1'000'000'000)}};
      ::futimens(fd, times);
      ::close(fd);
    }
  }
}

}  // namespace

TEST_CASE("restore(save(T)) equals T for random trees") {
  if (::geteuid() != 0) return;  // directories of mode 000 cannot be listed by others
  workspace w;
  auto s = w.open();
  const auto scope = w.scope({"dist/**"});
  for (unsigned seed = 1; seed <= 25; ++seed) {
    std::mt19937 rng(seed);
    w.dir.sh("rm -rf ws/p/dist && mkdir ws/p/dist");
    grow(w.project() + "/dist", 0, rng);
    const std::string before = w.tree("dist");
    const save_result r = s->save(workspace::request(scope, key_of(seed)));
    REQUIRE_MESSAGE(r.how == save_outcome::saved, r.reason);
    CHECK(is_current(scope, r.outputs, r.stamps, ""));
    // Onto another tree, not onto nothing.
    std::mt19937 other(seed + 1000);
    w.dir.sh("rm -rf ws/p/dist && mkdir ws/p/dist");
    grow(w.project() + "/dist", 0, other);
    restored(*s, w, *s->lookup(key_of(seed)), scope);
    CHECK_MESSAGE(w.tree("dist") == before, "seed ", seed);
  }
}

TEST_CASE("a row needs its file: gone, cut or replaced it is a miss, and the row goes") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  const lookup_result hit = saved(*s, scope, 1);
  const std::string file = "store/" + key_of(1).hex() + ".tar.zst";
  SUBCASE("gone") { w.dir.sh("rm " + file); }
  SUBCASE("cut") { w.dir.sh("truncate -s -1 " + file); }
  SUBCASE("longer") { w.dir.sh("echo >> " + file); }
  SUBCASE("a directory") { w.dir.sh("rm " + file + " && mkdir " + file); }
  const auto plan = s->lookup_many({key_of(1)}, false);
  CHECK_FALSE(plan[0]);
  CHECK(run_sql(w.store_dir() + "/store-1.db", "SELECT count(*) FROM entries") == "1");  // a plan drops nothing
  CHECK_FALSE(s->lookup(key_of(1)));
  CHECK_FALSE(s->newest_of("p", "build"));
  const restore_result r = s->restore(hit, scope, w.stage());
  CHECK(r.how == restore_outcome::missing);
  CHECK(w.dir.read("ws/p/dist/a") == "one");
}

TEST_CASE("a damaged artifact is a miss with the tree untouched, and is dropped") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  w.dir.write("ws/p/dist/z", "last");
  const auto scope = w.scope({"dist/**"});
  const lookup_result hit = saved(*s, scope, 1);
  w.dir.write("ws/p/dist/a", "changed");
  const std::string file = "store/" + key_of(1).hex() + ".tar.zst";
  w.dir.sh("printf '\\377\\377\\377' | dd of=" + file + " bs=1 seek=200 conv=notrunc 2>/dev/null");
  const restore_result r = s->restore(hit, scope, w.stage());
  CHECK(r.how == restore_outcome::missing);
  CHECK(r.reason.find("damaged") != std::string::npos);
  CHECK(w.dir.read("ws/p/dist/a") == "changed");
  CHECK(w.dir.sh("ls -A ws/.vx/stage/*") == "");
  CHECK_FALSE(s->artifact_present(key_of(1)));
  CHECK_FALSE(s->lookup(key_of(1)));
}

TEST_CASE("each byte of a stored artifact flipped in turn never puts a wrong file into the tree") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "hello hello hello");
  const auto scope = w.scope({"dist/**"});
  const lookup_result hit = saved(*s, scope, 1);
  const std::string before = w.tree("dist");
  const std::string name = "store/" + key_of(1).hex() + ".tar.zst";
  const std::string good = w.dir.read(name);
  w.dir.sh("rm -rf ws/p/dist");
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(~bad[i]);
    w.dir.write(name, bad);
    const restore_result r = s->restore(hit, scope, w.stage());
    if (r.how == restore_outcome::restored) {
      CHECK(w.tree("dist") == before);
      w.dir.sh("rm -rf ws/p/dist");
      continue;
    }
    ++refused;
    CHECK(r.how == restore_outcome::missing);
    CHECK_FALSE(w.dir.exists("ws/p/dist"));
  }
  CHECK(refused + 4 > good.size());
}

TEST_CASE("artifacts without rows are adopted: a deleted database, a copied store") {
  workspace w;
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  {
    auto s = w.open();
    (void)saved(*s, scope, 1, std::string("\x01\x01\0\0\0x", 6));
    (void)saved(*s, scope, 2);
  }
  w.dir.sh("rm store/store-1.db*");
  auto s = w.open();
  CHECK_FALSE(s->empty());
  CHECK_FALSE(s->lookup(key_of(1)));
  CHECK(s->artifact_present(key_of(1)));
  const auto adopted = s->adopt(key_of(1), "p", "build", scope);
  REQUIRE(adopted);
  const auto hit = s->lookup(key_of(1));
  REQUIRE(hit);
  CHECK(hit->outputs.size() == 1);
  CHECK(s->read_log(hit->entry).value().size() == 6);
  w.dir.sh("rm -rf ws/p/dist");
  restored(*s, w, *hit, scope);
  // Names are checked against the declaration, keys against the name of the file, content against its sum.
  CHECK_FALSE(s->adopt(key_of(2), "p", "build", w.scope({"other/**"})));
  w.dir.sh("cp store/" + key_of(2).hex() + ".tar.zst store/" + key_of(3).hex() + ".tar.zst");
  CHECK_FALSE(s->adopt(key_of(3), "p", "build", scope));
  CHECK_FALSE(s->adopt(key_of(9), "p", "build", scope));
}

TEST_CASE("a damaged row is indexed again from its artifact") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  (void)saved(*s, scope, 1);
  run_sql(w.store_dir() + "/store-1.db", "UPDATE entry_outputs SET rows = x'0102'");
  CHECK_FALSE(s->lookup(key_of(1)));
  CHECK(s->adopt(key_of(1), "p", "build", scope));
  CHECK(s->lookup(key_of(1)));
}

TEST_CASE("lookups answer in order, with repeats and absences, over several chunks") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  for (std::uint64_t k = 0; k < 10; ++k) (void)saved(*s, scope, k);
  std::vector<digest128> keys;
  for (std::uint64_t k = 0; k < 700; ++k) keys.push_back(key_of(k % 2 == 0 ? k / 2 % 20 : 10'000 + k));
  const auto got = s->lookup_many(keys, true);
  REQUIRE(got.size() == keys.size());
  for (std::uint64_t k = 0; k < 700; ++k) {
    const bool want = k % 2 == 0 && k / 2 % 20 < 10;
    CHECK(got[k].has_value() == want);
    if (want) CHECK(got[k]->entry.key == keys[k]);
  }
  CHECK(s->lookup_many({}, true).empty());
}

TEST_CASE("components of an entry are kept and the newest entry of a task is found") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  save_request q = workspace::request(scope, key_of(1));
  q.components = {{key::component_kind::file, "src/a", "id"}, {key::component_kind::env, "A", "unset"}};
  REQUIRE(s->save(q).how == save_outcome::saved);
  q.key = key_of(2);
  REQUIRE(s->save(q).how == save_outcome::saved);
  const auto newest = s->newest_of("p", "build");
  REQUIRE(newest);
  CHECK(newest->key == key_of(2));
  const auto rows = s->read_components(*newest);
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[0].kind == key::component_kind::env);
  CHECK_FALSE(s->newest_of("p", "other"));
}

TEST_CASE("a long log is read from the artifact") {
  workspace w;
  auto s = w.open();
  const auto scope = w.scope({});
  const std::string log = encode_log({{1, std::string(200'000, 'x'), 0}});
  const lookup_result hit = saved(*s, scope, 1, log);
  CHECK(hit.entry.log_bytes == log.size());
  CHECK(s->read_log(hit.entry).value() == log);
}

TEST_CASE("a file that changes while it is packed refuses the save") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  save_request q = workspace::request(scope, key_of(1));
  const auto listing = list_outputs(scope).value();
  q.listing = &listing;
  w.dir.sh("rm ws/p/dist/a && mkdir ws/p/dist/a");
  CHECK(s->save(q).how == save_outcome::output_changing);
  w.dir.sh("rmdir ws/p/dist/a");
  CHECK(s->save(q).how == save_outcome::output_changing);
  CHECK(w.temporaries() == 0);
}

TEST_CASE("saves from many threads land, and a key saved twice keeps one artifact") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t k = 0; k < 20; ++k) {
        if (s->save(workspace::request(scope, key_of(k % 2 == 0 ? k : t * 100 + k))).how != save_outcome::saved) ++failures;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(failures == 0);
  CHECK(w.files_in_store() == 10 + 80);
  CHECK(w.temporaries() == 0);
  for (std::uint64_t k = 0; k < 20; k += 2) CHECK(s->lookup(key_of(k)));
}

namespace {

int save_many(const std::vector<std::string>& args) {
  // args: root, store, first key, count, "private" or ""
  const auto scope = make_scope(args[0], "p", {"dist/**"});
  open_options o;
  o.private_dir = args[4] == "private";
  int notices = 0;
  o.notice = [&](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    ++notices;
  };
  auto s = store::open({args[1], store_source::flag}, o).value();
  const std::uint64_t first = std::stoull(args[2]), count = std::stoull(args[3]);
  for (std::uint64_t k = first; k < first + count; ++k) {
    const save_result r = s->save(workspace::request(scope, key_of(k)));
    if (r.how != save_outcome::saved) {
      std::fprintf(stderr, "%s\n", r.reason.c_str());
      return 2;
    }
    if (!s->lookup(key_of(k))) return 3;
  }
  return notices == 0 ? 0 : 4;
}
const bool reg_save = vx::test::register_child("save-many", save_many);

bool integrity(const std::string& file) { return run_sql(file, "PRAGMA integrity_check") == "ok"; }

}  // namespace

TEST_CASE("sixteen processes create one store at one instant and all save into it") {
  for (const char* how : {"", "private"}) {
    workspace w;
    w.dir.write("ws/p/dist/a", "one");
    w.dir.mkdir("cache/vx");
    const std::string dir = w.dir / "cache/vx/0123456789abcdef";
    std::vector<pid_t> pids;
    for (int i = 0; i < 16; ++i) pids.push_back(spawn("save-many", {w.root(), dir, std::to_string(i % 4 * 10), "5", how}));
    for (const pid_t pid : pids) CHECK(wait_for(pid) == 0);
    CHECK(integrity(dir + "/store-1.db"));
    CHECK(w.dir.sh("ls -A cache/vx/*/ | grep -c 'tar.zst$'") == "20\n");
    CHECK(w.dir.sh("ls -A cache/vx/*/ | grep -c -e '^.tmp' -e bad || true") == "0\n");
    CHECK(w.dir.sh("cat cache/vx/*/.gitignore") == "*\n");
    if (std::string(how) == "private") {
      CHECK(w.dir.sh("stat -c %a cache/vx cache/vx/* cache/vx/*/store-1.db cache/vx/*/lock cache/vx/*/*.zst | sort -u") ==
            "600\n700\n");
    }
  }
}

TEST_CASE("processes killed in the middle of saving leave a store that opens, with whole entries only") {
  workspace w;
  w.dir.write("ws/p/dist/a", std::string(50'000, 'x'));
  const auto scope = w.scope({"dist/**"});
  std::mt19937 rng(7);
  for (int round = 0; round < 12; ++round) {
    const pid_t pid = spawn("save-many", {w.root(), w.store_dir(), std::to_string(round % 3 * 1000), "100000", ""});
    // Killed at some save, wherever it is: the number of artifacts tells how far it has come.
    const std::size_t until = w.dir.exists("store") ? w.files_in_store() + 1 + rng() % 8 : 1;
    const std::int64_t from = mono_ns();
    while (mono_ns() - from < 20'000'000'000 && (!w.dir.exists("store") || w.files_in_store() < until)) {
      if (round % 3 != 0 && mono_ns() - from > 300'000'000) break;
    }
    ::kill(pid, SIGKILL);
    CHECK(wait_for(pid) == 128 + SIGKILL);
    auto s = w.open();
    REQUIRE(s->mode() == store_mode::read_write);
    CHECK(integrity(w.store_dir() + "/store-1.db"));
    for (std::uint64_t k = 0; k < 3000; ++k) {
      if (k % 1000 > 40) continue;
      const auto hit = s->lookup(key_of(k));
      if (hit) CHECK(s->restore(*hit, scope, w.stage()).how == restore_outcome::restored);
    }
    const save_result r = s->save(workspace::request(scope, key_of(5)));
    CHECK_MESSAGE(r.how == save_outcome::saved, r.reason);
  }
  CHECK_MESSAGE(w.notices.empty(), w.notices.front());
}

TEST_CASE("a damaged database is set aside with its companions, told in one line, and its entries adopted") {
  workspace w;
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  {
    auto s = w.open();
    (void)saved(*s, scope, 1);
  }
  const char* damage[] = {
      "ls store/store-1.db-wal >/dev/null && truncate -s 100 store/store-1.db",
      "head -c 5000 /dev/urandom > store/store-1.db",
      "truncate -s 100 store/store-1.db",
      "printf x | dd of=store/store-1.db bs=1 seek=68 conv=notrunc 2>/dev/null",  // application_id
      "printf 'SQLite format 3' > store/store-1.db; touch store/store-1.db-wal store/store-1.db-shm",
  };
  for (const char* d : damage) {
    w.notices.clear();
    w.dir.sh(d);
    auto s = w.open();
    CHECK_MESSAGE(s->mode() == store_mode::read_write, d);
    REQUIRE_MESSAGE(w.notices.size() == 1, d);
    CHECK(w.notices[0].find("was damaged") != std::string::npos);
    CHECK(s->adopt(key_of(1), "p", "build", scope));
    CHECK(s->lookup(key_of(1)));
    // Names carry seconds and pid: make room for the next within this second.
    w.dir.sh("for f in store/*.bad-*; do mv \"$f\" \"kept-$(basename $f)\"; done");
  }
}

TEST_CASE("corruption met in the middle costs rows, not the run") {
  workspace w;
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  {
    auto s = w.open();
    for (std::uint64_t k = 0; k < 300; ++k) (void)saved(*s, scope, k);
  }
  // Everything but the first pages: the open succeeds, the reads do not.
  w.dir.sh("dd if=/dev/urandom of=store/store-1.db bs=4096 seek=3 count=60 conv=notrunc 2>/dev/null");
  auto s = w.open();
  std::vector<digest128> keys;
  for (std::uint64_t k = 0; k < 300; ++k) keys.push_back(key_of(k));
  (void)s->lookup_many(keys, true);
  const save_result first = s->save(workspace::request(scope, key_of(1000)));
  const save_result second = s->save(workspace::request(scope, key_of(1001)));
  CHECK_MESSAGE(second.how == save_outcome::saved, first.reason, second.reason);
  CHECK(s->lookup(key_of(1001)));
  CHECK(w.notices.size() == 1);
  CHECK(integrity(w.store_dir() + "/store-1.db"));
}

TEST_CASE("reading verbs change nothing and read an absent store as empty") {
  workspace w;
  auto none = w.open(false);
  CHECK(none->empty());
  CHECK_FALSE(none->lookup(key_of(1)));
  CHECK(w.notices.empty());
  CHECK_FALSE(w.dir.exists("store"));
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  {
    auto s = w.open();
    (void)saved(*s, scope, 1);
  }
  // The -wal a short run leaves behind is read without touching it; without one the file is read as it lies.
  const bool with_wal = w.dir.exists("store/store-1.db-wal");
  CHECK(with_wal);
  SUBCASE("beside a -wal") {}
  SUBCASE("without one") { run_sql(w.store_dir() + "/store-1.db", "PRAGMA wal_checkpoint(TRUNCATE)"); }
  const std::string before = w.dir.sh("cd store && find . -printf '%p %s %T@\\n' | sort && cat store-1.db | md5sum");
  {
    auto s = w.open(false);
    REQUIRE(s->lookup(key_of(1)));
    CHECK(s->lookup_many({key_of(1)}, false)[0]);
    CHECK(s->newest_of("p", "build"));
    CHECK(s->stats()->entries == 1);
    s->touch_used({key_of(1)}, wall_ns() + 1'000'000'000'000);
    s->drop(key_of(1));
    (void)s->prune({}, true, true);
    CHECK_FALSE(s->empty());
  }
  CHECK(w.dir.sh("cd store && find . -printf '%p %s %T@\\n' | sort && cat store-1.db | md5sum") == before);
}

namespace {

/// As an unprivileged user: what an unwritable store gives. args: root, store, stage
int unwritable(const std::vector<std::string>& args) {
  if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 77;
  const auto scope = make_scope(args[0], "p", {"dist/**"});
  std::vector<std::string> notices;
  open_options o;
  o.private_dir = false;
  o.notice = [&](const std::string& line) { notices.push_back(line); };
  auto s = store::open({args[1], store_source::flag}, o).value();
  if (s->mode() != store_mode::read_only) return 2;
  if (notices.size() != 1 || notices[0].find("nothing is saved") == std::string::npos) return 3;
  const auto hit = s->lookup(key_of(1));
  if (!hit) return 4;
  if (s->save(workspace::request(scope, key_of(2))).how != save_outcome::store_error) return 5;
  if (s->restore(*hit, scope, args[2]).how != restore_outcome::restored) return 6;
  const auto unreadable = s->lookup(key_of(3));
  if (!unreadable) return 7;
  const restore_result r = s->restore(*unreadable, scope, args[2]);
  if (r.how != restore_outcome::missing || r.reason.find("cannot read the cached artifact") == std::string::npos) return 8;
  return 0;
}
const bool reg_unwritable = vx::test::register_child("unwritable", unwritable);

}  // namespace

TEST_CASE("an unwritable store serves hits, saves nothing and says so once") {
  if (::geteuid() != 0) return;
  workspace w;
  w.dir.write("ws/p/dist/a", "one");
  {
    auto s = w.open();
    const auto scope = w.scope({"dist/**"});
    (void)saved(*s, scope, 1);
    (void)saved(*s, scope, 3);
  }
  w.dir.sh("chmod 755 . && rm -rf ws/p/dist && mkdir -p ws/.vx && chmod -R 777 ws && chmod -R go=rX store && chmod 600 store/" +
           key_of(3).hex() + "*");
  CHECK(wait_for(spawn("unwritable", {w.root(), w.store_dir(), w.stage()})) == 0);
  CHECK(w.dir.read("ws/p/dist/a") == "one");
  w.dir.sh("rm -rf ws/p/dist && chmod 755 ws/.vx && rm -rf ws/.vx/stage");
  CHECK(wait_for(spawn("unwritable", {w.root(), w.store_dir(), w.stage()})) == 0);
  CHECK(w.dir.sh("ls -A ws/p") == "dist\n");
}

TEST_CASE("a full store disk drops the save, names the cause and leaves no temporary; the tree's full disk fails the task") {
  if (::geteuid() != 0) return;
  workspace w;
  w.dir.mkdir("store");
  w.dir.mkdir("ws/p/dist");
  if (::mount("tmpfs", w.store_dir().c_str(), "tmpfs", 0, "size=4m") != 0) return;
  {
    auto s = w.open();
    w.dir.sh("head -c 8000000 /dev/urandom > ws/p/dist/big");
    const auto scope = w.scope({"dist/**"});
    const save_result r = s->save(workspace::request(scope, key_of(1)));
    CHECK(r.how == save_outcome::store_error);
    CHECK_MESSAGE(r.reason == "not cached: no space left in " + w.store_dir(), r.reason);
    CHECK(w.temporaries() == 0);
    CHECK_FALSE(s->lookup(key_of(1)));
    w.dir.sh("head -c 100000 /dev/urandom > ws/p/dist/big");
    (void)saved(*s, scope, 2);
  }
  CHECK(::umount(w.store_dir().c_str()) == 0);

  auto s = w.open();
  const auto scope = w.scope({"dist/**"});
  w.dir.sh("head -c 3000000 /dev/urandom > ws/p/dist/big");
  const lookup_result hit = saved(*s, scope, 3);
  w.dir.mkdir("ws/.vx");
  w.dir.write("ws/p/dist/big", "old");
  if (::mount("tmpfs", (w.root() + "/.vx").c_str(), "tmpfs", 0, "size=1m") != 0) return;
  const restore_result r = s->restore(hit, scope, w.stage());
  CHECK(r.how == restore_outcome::tree_error);
  CHECK_MESSAGE(r.reason.find("p/dist/big") != std::string::npos, r.reason);
  CHECK(w.dir.read("ws/p/dist/big") == "old");
  s.reset();
  CHECK(::umount((w.root() + "/.vx").c_str()) == 0);
  s = w.open();
  restored(*s, w, *s->lookup(key_of(3)), scope);
}

TEST_CASE("a stage on another file system is copied beside the target and renamed") {
  if (::geteuid() != 0) return;
  workspace w;
  auto s = w.open();
  w.dir.sh(
      "mkdir ws/p/dist && head -c 300000 /dev/urandom > ws/p/dist/a && chmod 000 ws/p/dist/a && touch -d @5.25 ws/p/dist/a && "
      "ln -s a ws/p/dist/l");
  const auto scope = w.scope({"dist/**"});
  const std::string before = w.tree("dist");
  const lookup_result hit = saved(*s, scope, 1);
  w.dir.sh("rm -r ws/p/dist");
  w.dir.mkdir("ws/.vx");
  if (::mount("tmpfs", (w.root() + "/.vx").c_str(), "tmpfs", 0, "size=1m") != 0) return;
  restored(*s, w, hit, scope);
  CHECK(w.tree("dist") == before);
  CHECK(w.dir.sh("ls -A ws/p/dist") == "a\nl\n");
  s.reset();
  CHECK(::umount((w.root() + "/.vx").c_str()) == 0);
}

namespace {
thread_local std::string fault_op;
thread_local int fault_errno = 0;
int fail_one(const char* op, const char*) { return fault_op == op ? fault_errno : 0; }
struct fault_guard {
  fault_guard(const char* op, int e) {
    fault_op = op;
    fault_errno = e;
    fs::set_fault_hook(&fail_one);
  }
  ~fault_guard() { fs::set_fault_hook(nullptr); }
};
}  // namespace

TEST_CASE("refusals of the system end a restore with the output's name or a miss, and the next one repairs the tree") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  w.dir.write("ws/p/dist/sub/b", "two");
  w.dir.symlink("a", "ws/p/dist/l");
  w.dir.sh("chmod 755 ws/p/dist ws/p/dist/sub");
  const auto scope = w.scope({"dist/**"});
  const std::string before = w.tree("dist");
  const lookup_result hit = saved(*s, scope, 1);
  struct row {
    const char* op;
    int sys;
    restore_outcome how;
  };
  const row table[] = {{"stage", ENOSPC, restore_outcome::tree_error}, {"stage", EMFILE, restore_outcome::tree_error},
                       {"write", EDQUOT, restore_outcome::tree_error}, {"rename", EACCES, restore_outcome::tree_error},
                       {"mkdir", EROFS, restore_outcome::tree_error},  {"symlink", ENOSPC, restore_outcome::tree_error},
                       {"read", EIO, restore_outcome::missing},        {"open", EMFILE, restore_outcome::tree_error}};
  for (const row& r : table) {
    w.dir.sh("rm -rf ws/p/dist");
    {
      const fault_guard guard(r.op, r.sys);
      const restore_result got = s->restore(hit, scope, w.stage());
      CHECK_MESSAGE(got.how == r.how, r.op, " ", got.reason);
      CHECK_FALSE(got.reason.empty());
    }
    restored(*s, w, hit, scope);
    CHECK(w.tree("dist") == before);
    CHECK(w.dir.sh("ls -A ws/.vx/stage/*") == "");
    CHECK(s->artifact_present(key_of(1)));
  }
}

TEST_CASE("a directory of someone else in an output's place fails the task by name and keeps its content") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a.js", "one");
  const auto scope = w.scope({"dist/*.js"});
  const lookup_result hit = saved(*s, scope, 1);
  w.dir.sh("cd ws/p/dist && rm a.js && mkdir a.js && touch a.js/mine.txt");
  const restore_result r = s->restore(hit, scope, w.stage());
  CHECK(r.how == restore_outcome::tree_error);
  CHECK_MESSAGE(r.reason.find("p/dist/a.js") != std::string::npos, r.reason);
  CHECK(w.dir.exists("ws/p/dist/a.js/mine.txt"));
  w.dir.sh("cd ws/p && rm -r dist && touch dist");
  const restore_result f = s->restore(hit, scope, w.stage());
  CHECK(f.how == restore_outcome::tree_error);
  CHECK_MESSAGE(f.reason.find("in the place of a directory") != std::string::npos, f.reason);
}

TEST_CASE("stage directories of dead processes go, those of living ones and other names stay") {
  workspace w;
  const pid_t dead = ::fork();
  REQUIRE(dead >= 0);
  if (dead == 0) ::_exit(0);
  CHECK(wait_for(dead) == 0);
  const std::string mine = std::to_string(::getpid()) + "-0";
  w.dir.write("stage/" + std::to_string(dead) + "-3/0", "half a file", 0444);
  w.dir.write("stage/" + mine + "/0", "being staged");
  w.dir.write("stage/notes/x", "someone's");
  remove_dead_stages(w.dir / "stage");
  CHECK(w.dir.sh("ls stage") == mine + "\nnotes\n");
  remove_dead_stages(w.dir / "absent");
  CHECK_FALSE(w.dir.exists("absent"));
}

TEST_CASE("directories swapped for links in a loop never lead a restore outside") {
  workspace w;
  auto s = w.open();
  for (int i = 0; i < 20; ++i) w.dir.write("ws/p/dist/sub/f" + std::to_string(i), "built");
  w.dir.mkdir("outside");
  const auto scope = w.scope({"dist/**"});
  const lookup_result hit = saved(*s, scope, 1);
  std::atomic<bool> stop{false};
  const std::string sub = w.project() + "/dist/sub", away = w.project() + "/dist-away", outside = w.dir / "outside";
  std::thread attacker([&] {
    while (!stop) {
      ::rename(sub.c_str(), away.c_str());
      (void)!::symlink(outside.c_str(), sub.c_str());
      ::unlink(sub.c_str());
      ::rename(away.c_str(), sub.c_str());
    }
  });
  for (int i = 0; i < 60; ++i) (void)s->restore(hit, scope, w.stage());
  stop = true;
  attacker.join();
  CHECK(w.dir.sh("ls -A outside") == "");
  w.dir.sh("rm -rf ws/p/dist-away");
  restored(*s, w, hit, scope);
}

TEST_CASE("retention: age, then size, strictly oldest use first; files without rows by mtime") {
  workspace w;
  auto s = w.open();
  const auto scope = w.scope({"dist/**"});
  for (std::uint64_t k = 0; k < 10; ++k) {
    w.dir.sh("mkdir -p ws/p/dist && head -c 18000 /dev/urandom > ws/p/dist/a");
    (void)saved(*s, scope, k);
  }
  const std::uint64_t k_size = (s->lookup(key_of(0))->entry.artifact_bytes + 4095) / 4096 * 4096;
  const std::int64_t now = wall_ns(), hour = std::int64_t{3600} * 1'000'000'000, day = 24 * hour;
  const auto set_used = [&](std::uint64_t k, std::int64_t at) {
    run_sql(w.store_dir() + "/store-1.db",
            "UPDATE entries SET used_ns = " + std::to_string(at) + " WHERE key = x'" + key_of(k).hex() + "'");
  };
  for (std::uint64_t k = 0; k < 10; ++k) set_used(k, now - static_cast<std::int64_t>(10 - k) * day);
  set_used(3, now + 1000 * day);  // the future counts as now
  const auto present = [&](std::uint64_t k) { return s->lookup(key_of(k)).has_value() && s->artifact_present(key_of(k)); };

  store::retention keep;
  CHECK(s->prune(keep, false, false)->evicted == 0);
  store::retention week;
  week.older_than_ns = 7 * day + hour;
  week.max_bytes = std::nullopt;
  const auto dry = s->prune(week, true, true);
  CHECK(dry->evicted == 3);
  CHECK(present(0));
  const auto aged = s->prune(week, false, true);
  CHECK(aged->evicted == dry->evicted);
  CHECK(aged->bytes_freed == dry->bytes_freed);
  CHECK(aged->bytes_freed == 3 * k_size);
  for (std::uint64_t k = 0; k < 10; ++k) CHECK(present(k) == (k > 2));

  store::retention small;
  small.older_than_ns = std::nullopt;
  small.max_bytes = 4 * k_size;
  CHECK(s->prune(small, false, false)->evicted == 3);
  for (std::uint64_t k = 0; k < 10; ++k) CHECK(present(k) == (k == 3 || k > 6));

  SUBCASE("orphans") {
    w.dir.sh("cp store/" + key_of(9).hex() + ".tar.zst store/" + key_of(77).hex() + ".tar.zst; cp store/" + key_of(9).hex() +
             ".tar.zst store/" + key_of(78).hex() + ".tar.zst; touch -d '3 hours ago' store/" + key_of(78).hex() + ".tar.zst");
    store::retention tiny;
    tiny.older_than_ns = std::nullopt;
    tiny.max_bytes = 5 * k_size;
    const auto r = s->prune(tiny, false, true);
    CHECK(r->orphans + r->evicted == 1);
    store::retention none;
    none.older_than_ns = 1;
    const auto all = s->prune(none, false, true);
    CHECK_FALSE(s->artifact_present(key_of(78)));
    CHECK(s->artifact_present(key_of(77)));  // younger than an hour: never
  }
  SUBCASE("temporaries and strangers") {
    w.dir.sh(
        "cd store && for n in .tmp-other-1-aa .tmp-$(uname -n)-999999-aa .tmp-$(uname -n)-1-aa stranger.txt; do touch -d '2 "
        "hours ago' $n; done; "
        "touch .tmp-other-1-new; touch -d '40 days ago' store-9.db store-2.db-wal");
    CHECK(s->prune(keep, false, true).has_value());
    CHECK(w.dir.sh("cd store && ls -A | grep -v -e zst -e '^store-1' -e lock -e gitignore | sed \"s/$(uname -n)/H/\" | "
                   "LC_ALL=C sort") == ".tmp-H-1-aa\n.tmp-other-1-new\nstranger.txt\n");
  }
  SUBCASE("rows without files go unreported once unused for an hour") {
    w.dir.sh("rm store/" + key_of(8).hex() + "* store/" + key_of(3).hex() + "*");
    const auto r = s->prune(keep, false, true);
    CHECK(r->evicted == 0);
    CHECK(s->stats()->entries == 3);
  }
}

TEST_CASE("uses are recorded in one batch; a large one at a grain that this process's eviction sees through") {
  workspace w;
  auto s = w.open();
  w.dir.write("ws/p/dist/a", "one");
  const auto scope = w.scope({"dist/**"});
  const std::int64_t saved_at = saved(*s, scope, 1).entry.used_ns;
  s->touch_used({key_of(1), key_of(2)}, saved_at + 500'000'000);
  CHECK(s->lookup(key_of(1))->entry.used_ns == saved_at + 500'000'000);
  s->touch_used({key_of(1)}, saved_at + 2'000'000'000);
  CHECK(s->lookup(key_of(1))->entry.used_ns == saved_at + 2'000'000'000);
  w.dir.sh("touch -d '2 hours ago' store/*.zst");
  (void)s->lookup(key_of(1));
  s->touch_used({key_of(1)}, saved_at + 4'000'000'000);
  CHECK(w.dir.sh("find store -name '*.zst' -mmin -10 | wc -l") == "1\n");

  SUBCASE("the grain") {
    const std::int64_t later = saved(*s, scope, 2).entry.used_ns;
    std::vector<digest128> many{key_of(1)};
    for (std::uint64_t k = 1000; k < 1300; ++k) many.push_back(key_of(k));
    run_sql(w.store_dir() + "/store-1.db", "UPDATE entries SET used_ns = " + std::to_string(later - 1'000'000'000) +
                                               " WHERE key = x'" + key_of(1).hex() + "'");
    (void)s->lookup(key_of(1));
    s->touch_used(many, wall_ns());
    CHECK(s->lookup(key_of(1))->entry.used_ns == later - 1'000'000'000);
    store::retention one;
    one.older_than_ns = std::nullopt;
    one.max_bytes = 4096;
    CHECK(s->prune(one, false, false)->evicted == 1);
    CHECK(s->lookup(key_of(1)));
    CHECK(!s->lookup(key_of(2)));
  }
}

TEST_CASE("statistics agree with the disk") {
  workspace w;
  auto s = w.open();
  const auto scope = w.scope({"dist/**"});
  w.dir.sh("mkdir -p ws/p/dist && head -c 200000 /dev/urandom > ws/p/dist/a");
  (void)saved(*s, scope, 1);
  w.dir.sh("cp store/" + key_of(1).hex() + ".tar.zst store/" + key_of(2).hex() + ".tar.zst; touch store/store-1.db.bad-1-1");
  const auto st = s->stats();
  CHECK(st->entries == 1);
  CHECK(st->orphan_artifacts == 1);
  CHECK(st->bad_files == std::vector<std::string>{"store-1.db.bad-1-1"});
  REQUIRE(st->projects.size() == 1);
  CHECK(st->projects[0].second.first == 1);
  const std::uint64_t du = std::stoull(w.dir.sh("du -s -B1 store")) - 4096;
  CHECK(st->bytes * 100 >= du * 98);
  CHECK(st->bytes <= du + 4096);
}

TEST_CASE("which directory is the store") {
  workspace w;
  environment env;
  env.set("HOME", w.dir / "home");
  w.dir.mkdir("home");
  w.dir.mkdir("named");
  location_request q;
  q.root = w.root();
  q.cwd = w.project();
  q.env = &env;
  q.repo_id = "0123456789abcdef";
  const auto dir = [&] { return locate_store(q).value().dir; };
  CHECK(dir() == w.dir / "home/.cache/vx/0123456789abcdef");
  env.set("XDG_CACHE_HOME", "relative");
  CHECK(dir() == w.dir / "home/.cache/vx/0123456789abcdef");
  env.set("XDG_CACHE_HOME", w.dir / "xdg");
  CHECK(dir() == w.dir / "xdg/vx/0123456789abcdef");
  CHECK(locate_store(q)->source == store_source::shared);
  env.set("VX_CACHE_DIR", "");
  CHECK(dir() == w.dir / "xdg/vx/0123456789abcdef");
  env.set("VX_CACHE_DIR", ".c");
  CHECK(dir() == w.root() + "/.c");
  q.config = "~/c";
  CHECK(dir() == w.dir / "home/c");
  q.flag = "here";
  CHECK(dir() == w.project() + "/here");
  CHECK(locate_store(q)->source == store_source::flag);

  SUBCASE("refusals come before anything is written") {
    w.dir.write("named/package.json", "{}");
    w.dir.write("above/sub/vx.config.ts", "");
    for (const std::string& bad :
         {std::string(), std::string("  "), w.dir / "named", w.root(), w.dir.path(), std::string("/"), w.dir / "above"}) {
      q.flag = bad;
      CHECK_MESSAGE(!locate_store(q), bad);
    }
    CHECK(w.dir.sh("find . -name .gitignore") == "");
  }
  q.flag = q.config = std::nullopt;
  env.unset("VX_CACHE_DIR");
  SUBCASE("fallbacks into the checkout") {
    q.repo_id.clear();
    CHECK(dir() == w.root() + "/.vx/cache");
    q.repo_id = "0123456789abcdef";
    w.dir.mkdir("xdg");
    w.dir.sh("chmod 777 xdg");
    CHECK(dir() == w.root() + "/.vx/cache");
    w.dir.sh("chmod 755 xdg && mkdir real && ln -s ../real xdg/vx");
    CHECK(dir() == w.root() + "/.vx/cache");
    w.dir.sh("rm xdg/vx && mkdir xdg/vx");
    CHECK(locate_store(q)->source == store_source::shared);
    if (::geteuid() == 0) {
      w.dir.sh("chown 65534 xdg/vx");
      CHECK(locate_store(q)->source == store_source::workspace);
    }
  }
}

TEST_CASE("opening a database that another process keeps locked waits once, however often it looks") {
  workspace w;
  w.open();
  const std::string file = w.store_dir() + "/store-1.db";
  run_sql(file, "PRAGMA journal_mode=DELETE");
  sqlite3* holder = nullptr;
  REQUIRE(sqlite3_open_v2(file.c_str(), &holder, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_exec(holder, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  database db;
  database_request request;
  request.dir = w.store_dir();
  request.wait_ms = 1000;
  const std::int64_t from = mono_ns();
  const opened_database opened = open_database(db, k_store_database, request);
  const std::int64_t took = mono_ns() - from;
  CHECK(opened.state == database_state::unusable);
  CHECK(opened.reason == file + " is busy: another process holds its lock");
  CHECK(took >= 900'000'000);
  CHECK(took < 1'900'000'000);
  sqlite3_exec(holder, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(holder);
}

TEST_CASE("tables and pragmas are pinned to the schema number") {
  // A change of the text is a new file name (cache.md 18).
  CHECK(key::xxh3_128(k_store_database.ddl).hex() == "430bc190a7e6fd9a03c0ad428235d221");
  CHECK(key::xxh3_128(k_index_database.ddl).hex() == "c34a7d48911ba0726590181fd0965fb6");
  workspace w;
  auto s = w.open();
  auto i = cache::index::open(w.root(), {}).value();
  const auto ask = [](const std::string& file, const std::string& pragma) { return run_sql(file, "PRAGMA " + pragma); };
  const std::string store_file = w.store_dir() + "/store-1.db", index_file = w.root() + "/.vx/index-1.db";
  CHECK(ask(store_file, "application_id") == std::to_string(0x76785331));
  CHECK(ask(index_file, "application_id") == std::to_string(0x76784931));
  for (const std::string& f : {store_file, index_file}) {
    CHECK(ask(f, "user_version") == "1");
    CHECK(ask(f, "journal_mode") == "wal");
    CHECK(ask(f, "auto_vacuum") == "2");
  }
  CHECK(w.dir.read("ws/.vx/.gitignore") == "*\n");
  CHECK(w.dir.read("store/.gitignore") == "*\n");
  const digest128 salt = s->salt();
  CHECK(salt != digest128{});
  s.reset();
  CHECK(w.open()->salt() == salt);
}
