// Figures about a store (cli.md 12), and its directory by role.
#include <map>

#include "base/fs.hpp"
#include "cache/dir_listing.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {

dir_listing list_store(int dir) {
  dir_listing out;
  const auto entries = fs::list_dir_at(dir, ".");
  if (!entries) return out;
  constexpr std::string_view k_suffix = ".tar.zst";
  for (const fs::dir_entry& e : *entries) {
    const auto st = fs::lstat_at(dir, e.name);
    if (!st || st->kind != fs::kind::file) continue;
    store_file f;
    f.name = e.name;
    f.size = st->size;
    f.allocated = st->blocks * 512;
    if (!st->mtime.to_ns(f.mtime_ns)) f.mtime_ns = 0;
    const bool artifact = e.name.size() == 32 + k_suffix.size() && e.name.ends_with(k_suffix) &&
                          digest128::parse(std::string_view(e.name).substr(0, 32), f.key);
    (artifact ? out.artifacts : out.others).push_back(std::move(f));
  }
  return out;
}

result<store::statistics> store::stats() {
  impl& m = *impl_;
  statistics out;
  if (m.mode == store_mode::none || !m.dir) return out;
  std::set<digest128> known;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> projects;
  {
    const auto lock = m.use_db();
    statement s = m.db.use("SELECT key, project, artifact_bytes, used_ns FROM entries");
    for (step got = s ? s.step() : step::done; got == step::row; got = s.step()) {
      digest128 key;
      if (s.blob(0).size() == 16) std::memcpy(key.raw.data(), s.blob(0).data(), 16);
      known.insert(key);
      auto& [entries, bytes] = projects[std::string(s.text(1))];
      ++entries;
      bytes += (static_cast<std::uint64_t>(s.integer(2)) + 4095) / 4096 * 4096;
      if (!out.oldest_use_ns || s.integer(3) < *out.oldest_use_ns) out.oldest_use_ns = s.integer(3);
    }
  }
  out.entries = known.size();
  out.projects.assign(projects.begin(), projects.end());
  const dir_listing listing = list_store(m.dir.get());
  for (const store_file& f : listing.artifacts) {
    out.bytes += f.allocated;
    if (known.count(f.key) != 0) continue;
    ++out.orphan_artifacts;
    out.orphan_bytes += f.allocated;
  }
  for (const store_file& f : listing.others) {
    out.bytes += f.allocated;
    if (f.name.find(".bad-") != std::string::npos) out.bad_files.push_back(f.name);
  }
  std::sort(out.bad_files.begin(), out.bad_files.end());
  return out;
}

}  // namespace vx::cache
