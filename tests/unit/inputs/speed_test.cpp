// Timings on a large repository, printed when VX_BENCH names one: its projects are packages/*. Nothing is asserted about time.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.hpp"
#include "inputs_fixture.hpp"

using namespace vx;
using namespace vx::test;

namespace {

double cpu_ms(int who) {
  rusage u{};
  ::getrusage(who, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

}  // namespace

TEST_CASE("timings of a warm listing") {
  const char* root = std::getenv("VX_BENCH");
  if (root == nullptr) return;
  const environment env = environment::of_process();
  std::vector<std::string> projects;
  const auto packages = fs::list_dir_at(fs::k_cwd, std::string(root) + "/packages");
  REQUIRE(packages);
  for (const auto& e : *packages) projects.push_back("packages/" + e.name);
  auto index = std::move(*cache::index::open(root, {}));
  for (int round = 0; round < 6; ++round) {
    const std::int64_t t0 = mono_ns();
    const double c0 = cpu_ms(RUSAGE_SELF), k0 = cpu_ms(RUSAGE_CHILDREN);
    auto f = start_facts(root, env, index.get());
    const std::int64_t t1 = mono_ns();
    const double c1 = cpu_ms(RUSAGE_SELF), k1 = cpu_ms(RUSAGE_CHILDREN);
    std::size_t items = 0;
    for (const std::string& p : projects) {
      for (const declaration& d : {declaration{p, {"src/**", "tsconfig.json", "package.json"}, {}, {"dist/**"}},
                                   declaration{p, {"**"}, {}, {"dist/**"}},
                                   declaration{p, {"src/**", "test/**", "!**/*.md"}, {"tsconfig.base.json"}, {}}}) {
        const inputs::selector s = make_selector(d);
        items += f->select(s)->items.size();
        (void)f->manifest_identity(p);
      }
    }
    const double c2 = cpu_ms(RUSAGE_SELF);
    std::vector<inputs::selector> ready;
    for (const std::string& p : projects) {
      ready.push_back(make_selector({p, {"src/**", "tsconfig.json", "package.json"}, {}, {"dist/**"}}));
      ready.push_back(make_selector({p, {"**"}, {}, {"dist/**"}}));
      ready.push_back(make_selector({p, {"src/**", "test/**", "!**/*.md"}, {"tsconfig.base.json"}, {}}));
    }
    const double c3 = cpu_ms(RUSAGE_SELF);
    for (const inputs::selector& s : ready) items += f->select(s)->items.size();
    const double c4 = cpu_ms(RUSAGE_SELF);
    for (const inputs::selector& s : ready) (void)f->manifest_identity(s.project_dir);
    const double c5 = cpu_ms(RUSAGE_SELF);
    std::size_t checked = 0;
    for (const inputs::selector& s : ready) {
      const auto d = f->describe(s);
      REQUIRE(d);
      checked += d->files.items.size();
      (void)f->moved(s, *d, inputs::facts::strictness::immutable);
    }
    const double c6 = cpu_ms(RUSAGE_SELF);
    f->flush_memos();
    index->flush();
    std::printf(
        "listing %.1f ms wall, %.1f ms own CPU, %.1f ms git's; %zu selects %.1f ms; %zu manifests %.1f ms; items %zu (with "
        "compiling %.1f); truth checks %.2f us an input\n",
        static_cast<double>(t1 - t0) / 1e6, c1 - c0, k1 - k0, ready.size(), c4 - c3, ready.size(), c5 - c4, items, c2 - c1,
        (c6 - c5) * 1e3 / static_cast<double>(checked));
  }
}
