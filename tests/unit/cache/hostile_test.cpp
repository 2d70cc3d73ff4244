// Hostile artifacts lying in a store: whatever they hold, they are a miss and nothing is touched.
#include <thread>

#include "cache/row_blobs.hpp"
#include "raw_tar.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;

namespace {

/// A project with sources and old outputs, and a directory outside that nothing may reach.
struct victim {
  workspace w;
  output_scope scope = w.scope({"dist/**", "!dist/keep/**", "out"}, {}, {"dist/nested"});
  std::unique_ptr<store> s;
  lookup_result hit;

  victim() {
    w.dir.write("ws/p/src/a", "source");
    w.dir.write("ws/p/dist/a", "one");
    w.dir.write("outside/a", "outside");
    w.dir.write("ws/.git/config", "git");
    s = w.open();
    const save_result r = s->save(workspace::request(scope, k_key));
    REQUIRE_MESSAGE(r.how == save_result::outcome::saved, r.reason);
    hit = s->lookup(k_key).value();
    w.dir.write("ws/p/dist/a", "changed since");
  }
  std::string all() const {
    return w.dir.sh(
        "find ws/p ws/.git outside -printf '%y %m %p %l %s %T@\\n' | LC_ALL=C sort; cat ws/p/src/a ws/p/dist/a outside/a "
        "ws/.git/config");
  }
  std::string artifact() const { return w.store_dir() + "/" + k_key.hex() + ".tar.zst"; }
  void plant(const std::string& bytes) { w.dir.write("store/" + k_key.hex() + ".tar.zst", bytes); }
  /// As a row would have it that vouches for just this file.
  restore_result restore_planted(const std::string& bytes) {
    plant(bytes);
    lookup_result vouched = hit;
    vouched.entry.artifact_bytes = bytes.size();
    return s->restore(vouched, scope, w.stage());
  }
};

}  // namespace

TEST_CASE("every hostile archive is a miss in a restore and in an adoption, with the tree and what lies outside as they were") {
  victim v;
  const std::string before = v.all();
  for (const hostile& h : hostile_archives()) {
    for (const bool late : {false, true}) {
      auto members = h.members;
      if (late) members.insert(members.begin(), file("project/dist/0"));
      const std::string bytes = frame_of(wrap(members));
      const restore_result r = v.restore_planted(bytes);
      CHECK_MESSAGE(r.how == restore_result::outcome::missing, h.name);
      CHECK_MESSAGE(v.all() == before, h.name);
      v.plant(bytes);
      CHECK_MESSAGE(!v.s->adopt(k_key, "p", "build", v.scope), h.name);
      CHECK_MESSAGE(v.all() == before, h.name);
      CHECK_MESSAGE(v.w.temporaries() == 0, h.name);
    }
  }
  CHECK(v.w.dir.sh("ls -A ws/.vx/stage/*") == "");
}

TEST_CASE("an artifact of another key, or with other outputs than its row, is a miss") {
  victim v;
  const std::string before = v.all();
  const std::string doc = entry_document(key_of(2), "p#build", {});
  raw_member wide = file("project/dist/a", "one");
  wide.mode = 0755;
  raw_member link = special("project/dist/a", '2', "b");
  const std::vector<std::pair<const char*, std::string>> table = {
      {"another key", frame_of(wrap({file("project/dist/a", "one")}, {}, doc))},
      {"nothing in it", frame_of(wrap({}))},
      {"an output too many", frame_of(wrap({file("project/dist/a", "one"), file("project/dist/b")}))},
      {"another name", frame_of(wrap({file("project/dist/b", "one")}))},
      {"another size", frame_of(wrap({file("project/dist/a", "four")}))},
      {"another mode", frame_of(wrap({wide}))},
      {"a link", frame_of(wrap({link}))},
      {"another time", frame_of(wrap({file("project/dist/a", "one")}))},
  };
  for (const auto& [name, bytes] : table) {
    const restore_result r = v.restore_planted(bytes);
    CHECK_MESSAGE(r.how == restore_result::outcome::missing, name);
    CHECK_MESSAGE(v.all() == before, name);
  }
}

TEST_CASE("what is adopted and restored from a hand-made artifact is exactly its members") {
  victim v;
  v.w.dir.sh("rm -f store/store-1.db*");
  v.s = v.w.open();
  v.plant(frame_of(wrap({file("project/dist/a", "hand-made"), special("project/dist/d/", '5', "", 0555),
                         special("project/out", '2', "dist/a")})));
  const auto adopted = v.s->adopt(k_key, "p", "build", v.scope);
  REQUIRE(adopted);
  const restore_result r = v.s->restore(*adopted, v.scope, v.w.stage());
  REQUIRE_MESSAGE(r.how == restore_result::outcome::restored, r.reason);
  CHECK(v.w.dir.sh("cd ws/p && find dist out -printf '%y %m %p %l\\n' | LC_ALL=C sort") ==
        "d 555 dist/d \nd 755 dist \nf 644 dist/a \nl 777 out dist/a\n");
  CHECK(v.w.dir.read("ws/p/dist/a") == "hand-made");
}

TEST_CASE("each output directory swapped for a link during restores that repair it never leads outside") {
  victim v;
  for (int i = 0; i < 12; ++i) v.w.dir.write("ws/p/dist/one/two/f" + std::to_string(i), "built");
  const save_result saved = v.s->save(workspace::request(v.scope, key_of(7)));
  REQUIRE_MESSAGE(saved.how == save_result::outcome::saved, saved.reason);
  const lookup_result hit = v.s->lookup(key_of(7)).value();
  const std::string outside = v.w.dir.sh("find outside -printf '%y %m %p %l %s %T@\\n' | LC_ALL=C sort");
  for (const char* at : {"dist", "dist/one", "dist/one/two"}) {
    const std::string dir = v.w.project() + "/" + at, away = v.w.dir / "away", target = v.w.dir / "outside";
    std::atomic<bool> stop{false};
    std::thread attacker([&] {
      while (!stop) {
        if (::rename(dir.c_str(), away.c_str()) != 0) continue;
        (void)!::symlink(target.c_str(), dir.c_str());
        ::unlink(dir.c_str());
        ::rename(away.c_str(), dir.c_str());
      }
    });
    for (int i = 0; i < 25; ++i) {
      v.w.dir.write("scratch", std::to_string(i));
      ::unlink((v.w.project() + "/dist/one/two/f3").c_str());
      (void)v.s->restore(hit, v.scope, v.w.stage());
    }
    stop = true;
    attacker.join();
    CHECK(v.w.dir.sh("find outside -printf '%y %m %p %l %s %T@\\n' | LC_ALL=C sort") == outside);
    v.w.dir.sh("rm -rf away ws/p/dist");
    CHECK(v.s->restore(hit, v.scope, v.w.stage()).how == restore_result::outcome::restored);
  }
}
