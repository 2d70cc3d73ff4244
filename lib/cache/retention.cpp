// What leaves the store, and when (cache.md 12). Oldest use first; an artifact goes before its row, so that a full disk gets
// space.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "cache/dir_listing.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {
namespace {

constexpr std::int64_t k_second = 1'000'000'000;
constexpr std::int64_t k_hour = 3600 * k_second;
constexpr std::int64_t k_month = 30 * 24 * k_hour;

struct candidate {
  std::int64_t used_ns = 0;      ///< never later than now
  std::int64_t row_used_ns = 0;  ///< as the row has it
  std::uint64_t bytes = 0;       ///< rounded up to 4 KiB
  std::int64_t id = 0;           ///< 0: a file without a row
  digest128 key;
  std::string file;    ///< files without rows
  bool fresh = false;  ///< never taken
};

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

class pruner {
 public:
  pruner(store::retention policy, bool always, std::int64_t now) : policy_(policy), always_(always), now_(now) {}

  /// Most runs end here: one probe of an index, and, when rows were added or the bound is another one, one sum over the table.
  bool anything_due(database& db, bool sizes) const {
    if (always_) return true;
    if (policy_.older_than_ns) {
      statement s = db.use("SELECT used_ns FROM entries ORDER BY used_ns LIMIT 1");
      if (s && s.step() == step::row && s.integer(0) < now_ - *policy_.older_than_ns) return true;
    }
    if (!policy_.max_bytes || !sizes) return false;
    statement s = db.use("SELECT coalesce(sum((artifact_bytes + 4095) / 4096), 0) FROM entries");
    return s && s.step() == step::row && static_cast<std::uint64_t>(s.integer(0)) * 4096 > *policy_.max_bytes;
  }

  bool read_rows(database& db) {
    statement s = db.use("SELECT id, key, artifact_bytes, used_ns FROM entries");
    if (!s) return false;
    step got = s.step();
    for (; got == step::row; got = s.step()) {
      candidate c;
      c.id = s.integer(0);
      if (s.blob(1).size() == 16) std::memcpy(c.key.raw.data(), s.blob(1).data(), 16);
      c.bytes = rounded(static_cast<std::uint64_t>(s.integer(2)));
      c.row_used_ns = s.integer(3);
      c.used_ns = std::min(c.row_used_ns, now_);
      all_.push_back(std::move(c));
    }
    return got == step::done;
  }

  /// Uses of this process that the rows may not show yet.
  template <class LastUse>
  void see_uses(LastUse last_use) {
    for (candidate& c : all_) c.used_ns = std::max(c.used_ns, std::min(last_use(c.key), now_));
  }

  /// Rows were read before this listing: a save in between is a file without a row we know, fresh, and stays.
  void read_directory(int dir, std::int64_t dir_now_ns) {
    const dir_listing listing = list_store(dir);
    std::vector<digest128> present;
    for (const store_file& f : listing.artifacts) present.push_back(f.key);
    std::sort(present.begin(), present.end());
    std::vector<digest128> known;
    for (candidate& c : all_) known.push_back(c.key);
    std::sort(known.begin(), known.end());
    std::erase_if(all_, [&](candidate& c) {
      if (std::binary_search(present.begin(), present.end(), c.key)) return false;
      if (c.used_ns < now_ - k_hour) lost_.push_back(std::move(c));
      return true;
    });
    for (const store_file& f : listing.artifacts) {
      if (std::binary_search(known.begin(), known.end(), f.key)) continue;
      candidate c;
      c.file = f.name;
      c.bytes = rounded(f.size);
      c.fresh = f.mtime_ns > dir_now_ns - k_hour;
      // Ages of files are measured on the directory's own clock, then moved onto ours.
      c.used_ns = std::min(now_, now_ - (dir_now_ns - f.mtime_ns));
      all_.push_back(std::move(c));
    }
    for (const store_file& f : listing.others) {
      if (is_dead_temporary(f, dir_now_ns) || is_forsaken_database(f, dir_now_ns)) litter_.push_back(f.name);
    }
  }

  std::vector<candidate> victims() {
    std::sort(all_.begin(), all_.end(), [](const candidate& a, const candidate& b) { return a.used_ns < b.used_ns; });
    std::uint64_t total = 0;
    for (const candidate& c : all_) total += c.bytes;
    std::vector<candidate> out;
    for (candidate& c : all_) {
      const bool old = policy_.older_than_ns && c.used_ns < now_ - *policy_.older_than_ns;
      const bool too_much = policy_.max_bytes && total > *policy_.max_bytes;
      if (!old && !too_much) break;
      if (c.fresh) continue;
      total -= c.bytes;
      out.push_back(std::move(c));
    }
    return out;
  }

  std::vector<candidate>& lost() noexcept { return lost_; }
  const std::vector<std::string>& litter() const noexcept { return litter_; }
  void set_host(std::string host) { host_ = std::move(host); }

 private:
  /// ".tmp-<host>-<pid>-<random>", one hour old; on this host only when its process is dead.
  bool is_dead_temporary(const store_file& f, std::int64_t dir_now_ns) const {
    if (!f.name.starts_with(".tmp-") || f.mtime_ns > (mutated("prune-local-clock") ? now_ : dir_now_ns) - k_hour) return false;
    const std::string mine = ".tmp-" + host_ + "-";
    if (!f.name.starts_with(mine)) return true;
    int pid = 0;
    const char* from = f.name.data() + mine.size();
    const auto parsed = std::from_chars(from, f.name.data() + f.name.size(), pid);
    if (parsed.ec != std::errc() || pid <= 0) return true;
    return ::kill(pid, 0) != 0 && errno == ESRCH;
  }

  /// "store-<n>.db" of another schema that nobody wrote for a month.
  static bool is_forsaken_database(const store_file& f, std::int64_t dir_now_ns) {
    if (!f.name.starts_with("store-") || f.name == "store-1.db" || f.name.starts_with("store-1.db-")) return false;
    const bool database = f.name.ends_with(".db") || f.name.ends_with(".db-wal") || f.name.ends_with(".db-shm");
    return database && f.mtime_ns < dir_now_ns - k_month;
  }

  store::retention policy_;
  bool always_;
  std::int64_t now_;
  std::string host_;
  std::vector<candidate> all_, lost_;
  std::vector<std::string> litter_;
};

/// The directory's own time: the mtime of a file just written there.
std::int64_t directory_clock(int dir, const std::string& temp, bool may_write, std::int64_t fallback) {
  if (!may_write) return fallback;
  const unique_fd fd(::openat(dir, temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fallback;
  std::int64_t now = fallback;
  if (::write(fd.get(), "x", 1) == 1) {
    if (const auto st = fs::fstat_fd(fd.get()); st && !st->mtime.to_ns(now)) now = fallback;
  }
  ::unlinkat(dir, temp.c_str(), 0);
  return now;
}

std::int64_t number_in_meta(database& db, const char* name, std::int64_t otherwise) {
  statement s = db.use("SELECT value FROM meta WHERE name = ?1");
  std::int64_t at = otherwise;
  if (s && s.text(1, name).step() == step::row) {
    const std::string_view v = s.text(0);
    std::from_chars(v.data(), v.data() + v.size(), at);
  }
  return at;
}
void put_number(database& db, const char* name, std::int64_t value) {
  const std::string text = std::to_string(value);
  db.use("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)").text(1, name).text(2, text).run();
}

/// Entries of one transaction: their files, then their rows, unless someone used them meanwhile.
bool evict(database& db, int dir, const candidate* begin, const candidate* end, bool unlink_file, store::prune_report& report) {
  transaction t(db);
  if (!t) return false;
  for (const candidate* c = begin; c != end; ++c) {
    {
      statement s = db.use("SELECT used_ns FROM entries WHERE id = ?1 AND key = ?2");
      if (!s || s.integer(1, c->id).blob(2, c->key.view()).step() != step::row || s.integer(0) > c->row_used_ns) continue;
    }
    if (unlink_file && ::unlinkat(dir, (c->key.hex() + ".tar.zst").c_str(), 0) != 0 && errno != ENOENT) continue;
    if (!db.use("DELETE FROM entries WHERE id = ?1").integer(1, c->id).run()) return false;
    if (!unlink_file) continue;
    ++report.evicted;
    report.bytes_freed += c->bytes;
  }
  return t.commit();
}

}  // namespace

result<store::prune_report> store::prune(const retention& policy, bool dry_run, bool explicit_request) {
  impl& m = *impl_;
  prune_report report;
  const bool may_write = m.mode == store_mode::read_write && m.options.create && !dry_run;
  if (m.mode == store_mode::none || (!may_write && !dry_run)) return report;
  const std::int64_t now = wall_ns();
  pruner p(policy, explicit_request || dry_run, now);
  p.set_host(m.host);
  bool sweep = explicit_request || dry_run;
  {
    const auto lock = m.use_db();
    const std::int64_t swept = number_in_meta(m.db, "swept_ns", 0);
    sweep = sweep || swept > now || swept < now - k_hour;
    // The sum grows only with rows: who adds some looks at it, and whoever has another bound than the one before.
    const std::int64_t bound = policy.max_bytes ? static_cast<std::int64_t>(*policy.max_bytes) : -1;
    const bool other_bound = number_in_meta(m.db, "bound_bytes", -2) != bound;
    if (!sweep && !p.anything_due(m.db, m.rows_added != 0 || other_bound)) {
      if (other_bound) put_number(m.db, "bound_bytes", bound);
      return report;
    }
    if (!p.read_rows(m.db)) {
      m.db_failed();
      if (m.db.is_open()) return report;
    }
  }
  {
    const std::lock_guard lock(m.marks_mutex);
    p.see_uses([&](const digest128& key) {
      const auto at = m.marks.find(key);
      return at == m.marks.end() ? std::int64_t{0} : at->second.touched_ns;
    });
  }
  if (sweep) p.read_directory(m.dir.get(), directory_clock(m.dir.get(), m.temp_name(), may_write, now));

  std::vector<candidate> entries;
  for (candidate& c : p.victims()) {
    if (c.id != 0) {
      entries.push_back(std::move(c));
      continue;
    }
    if (!dry_run && ::unlinkat(m.dir.get(), c.file.c_str(), 0) != 0) continue;
    ++report.orphans;
    report.orphan_bytes += c.bytes;
  }
  if (dry_run) {
    report.evicted = entries.size();
    for (const candidate& c : entries) report.bytes_freed += c.bytes;
    return report;
  }
  for (const std::string& name : p.litter()) ::unlinkat(m.dir.get(), name.c_str(), 0);
  constexpr std::size_t k_batch = 64;  // short holds of the write lock
  for (const bool with_file : {true, false}) {
    const std::vector<candidate>& list = with_file ? entries : p.lost();
    for (std::size_t i = 0; i < list.size(); i += k_batch) {
      const auto lock = m.use_db();
      if (!evict(m.db, m.dir.get(), list.data() + i, list.data() + std::min(list.size(), i + k_batch), with_file, report)) {
        m.db_failed();
        return report;
      }
    }
  }
  const auto lock = m.use_db();
  if (sweep) put_number(m.db, "swept_ns", now);
  if (!entries.empty()) m.db.exec("PRAGMA incremental_vacuum");
  return report;
}

}  // namespace vx::cache
