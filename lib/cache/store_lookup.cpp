// Finding entries: a row AND a file of exactly its size (cache.md 7).
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "cache/key_list.hpp"
#include "cache/row_blobs.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {
namespace {

constexpr std::size_t k_keys_per_statement = 256;
constexpr std::int64_t k_second = 1'000'000'000;

const key_list& rows_of_keys() {
  static const key_list list("SELECT " VX_CACHE_ENTRY_COLUMNS
                             ", o.rows FROM entries e LEFT JOIN entry_outputs o ON o.entry = e.id WHERE e.key",
                             k_keys_per_statement);
  return list;
}
const key_list& entries_of_keys() {
  static const key_list list("SELECT " VX_CACHE_ENTRY_COLUMNS " FROM entries e WHERE e.key", k_keys_per_statement);
  return list;
}

}  // namespace

entry read_entry(const statement& s) {
  entry e;
  e.id = s.integer(0);
  const std::string_view key = s.blob(1);
  if (key.size() == 16) std::memcpy(e.key.raw.data(), key.data(), 16);
  e.project = s.text(2);
  e.task = s.text(3);
  e.from_remote = s.integer(4) != 0;
  e.artifact_bytes = static_cast<std::uint64_t>(s.integer(5));
  e.output_bytes = static_cast<std::uint64_t>(s.integer(6));
  e.output_count = static_cast<std::uint64_t>(s.integer(7));
  e.log_bytes = static_cast<std::uint64_t>(s.integer(8));
  e.stats.duration_ns = s.integer(9);
  if (!s.is_null(10)) e.stats.cpu_ns = s.integer(10);
  if (!s.is_null(11)) e.stats.peak_rss_bytes = s.integer(11);
  e.created_ns = s.integer(12);
  e.used_ns = s.integer(13);
  return e;
}

void store::impl::select_rows(const std::vector<wanted>& sorted, bool outputs, std::vector<std::optional<lookup_result>>& out,
                              std::vector<digest128>& damaged) {
  const auto before = [](const wanted& w, const digest128& k) { return w.key < k; };
  for (std::size_t from = 0; from < sorted.size(); from += k_keys_per_statement) {
    statement s =
        (outputs ? rows_of_keys() : entries_of_keys()).look_up(db, sorted, from, [](const wanted& w) { return w.key.view(); });
    if (!s) return db_failed();
    step got = s.step();
    for (; got == step::row; got = s.step()) {
      lookup_result r;
      r.entry = read_entry(s);
      if (outputs) {
        auto rows = decode_outputs(s.blob(k_entry_columns));
        if (!rows || rows->size() != r.entry.output_count) {
          damaged.push_back(r.entry.key);
          continue;
        }
        r.outputs = std::move(*rows);
      }
      auto at = std::lower_bound(sorted.begin(), sorted.end(), r.entry.key, before);
      if (at == sorted.end()) continue;
      auto next = at + 1;
      for (; next != sorted.end() && next->key == r.entry.key; ++next) out[next->at] = r;  // asked twice
      if (at->key == r.entry.key) out[at->at] = std::move(r);
    }
    if (got == step::failed) return db_failed();
  }
}

void store::impl::check_files(const std::vector<digest128>& keys, bool outputs,
                              std::vector<std::optional<lookup_result>>& out) {
  std::vector<digest128> lost;
  std::string name;
  std::vector<std::pair<const lookup_result*, std::int64_t>> fresh;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!out[i]) continue;
    name = artifact_name(keys[i]);
    struct ::stat st;
    const int rc = ::fstatat(dir.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW);
    const bool whole = rc == 0 && S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == out[i]->entry.artifact_bytes;
    if (whole || mutated("row-is-enough")) {
      if (outputs) fresh.emplace_back(&*out[i], static_cast<std::int64_t>(st.st_mtime));
      continue;
    }
    // Trouble of the system (EIO, ESTALE, EACCES) is a miss that proves nothing about the row.
    if (rc == 0 || errno == ENOENT) lost.push_back(keys[i]);
    out[i].reset();
  }
  {
    const std::lock_guard lock(marks_mutex);
    for (const auto& [r, mtime] : fresh) marks[r->entry.key].see(r->entry.id, r->entry.used_ns, mtime);
  }
  if (outputs && !lost.empty()) forget_lost(lost, {});
}

/// Rows whose file is gone go, after looking again under the write lock: a save may be between its two renames.
void store::impl::forget_lost(const std::vector<digest128>& keys, const std::vector<digest128>& damaged) {
  if (!db_writable || !options.create) return;
  const auto lock = use_db();
  transaction t(db);
  if (!t) return db_failed();
  for (const digest128& key : keys) {
    std::int64_t bytes = -1;
    if (statement s = db.use("SELECT artifact_bytes FROM entries WHERE key = ?1"); s.blob(1, key.view()).step() == step::row) {
      bytes = s.integer(0);
    }
    struct ::stat st;
    const int rc = ::fstatat(dir.get(), artifact_name(key).c_str(), &st, AT_SYMLINK_NOFOLLOW);
    const bool gone = rc != 0 ? errno == ENOENT : st.st_size != bytes;
    if (bytes >= 0 && gone) db.use("DELETE FROM entries WHERE key = ?1").blob(1, key.view()).run();
  }
  // Without its row the artifact can be adopted, which writes a sound one.
  for (const digest128& key : damaged) db.use("DELETE FROM entries WHERE key = ?1").blob(1, key.view()).run();
  if (!t.commit()) db_failed();
}

std::vector<std::optional<lookup_result>> store::lookup_many(const std::vector<digest128>& keys, bool outputs) {
  std::vector<std::optional<lookup_result>> out(keys.size());
  impl& m = *impl_;
  if (m.mode == store_mode::none || keys.empty()) return out;
  std::vector<impl::wanted> sorted;
  sorted.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) sorted.push_back({keys[i], i});
  std::sort(sorted.begin(), sorted.end(),
            [](const impl::wanted& a, const impl::wanted& b) { return a.key != b.key ? a.key < b.key : a.at < b.at; });
  std::vector<digest128> damaged;
  {
    const auto lock = m.use_db();
    m.select_rows(sorted, outputs, out, damaged);
  }
  if (!damaged.empty()) m.forget_lost({}, damaged);
  m.check_files(keys, outputs, out);
  return out;
}

std::optional<lookup_result> store::lookup(const digest128& key) { return std::move(lookup_many({key}, true)[0]); }

bool store::artifact_present(const digest128& key) {
  struct ::stat st;
  return impl_->dir && ::fstatat(impl_->dir.get(), impl::artifact_name(key).c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(st.st_mode);
}

void store::impl::mark_used(const digest128& key, std::int64_t id, std::int64_t used_ns, std::int64_t artifact_mtime_s) {
  const std::lock_guard lock(marks_mutex);
  marks[key].see(id, used_ns, artifact_mtime_s);
}

std::optional<entry> store::newest_of(const std::string& project, const std::string& task) {
  impl& m = *impl_;
  const auto lock = m.use_db();
  statement s = m.db.use("SELECT " VX_CACHE_ENTRY_COLUMNS
                         " FROM entries e WHERE e.project = ?1 AND e.task = ?2 ORDER BY e.created_ns DESC LIMIT 1");
  if (!s) return std::nullopt;
  const step got = s.text(1, project).text(2, task).step();
  if (got == step::failed) m.db_failed();
  if (got != step::row) return std::nullopt;
  return read_entry(s);
}

/// A batch of more than 256 entries records a use at a grain of one minute, so that a warm run over thousands of tasks,
/// repeated at once, writes nothing. This process knows the exact time (`marks`), and its prune goes by that; other processes
/// see it to a minute.
void store::touch_used(const std::vector<digest128>& keys, std::int64_t now_ns) {
  impl& m = *impl_;
  if (m.mode != store_mode::read_write || !m.options.create) return;
  constexpr std::int64_t k_hour_s = 3600;
  const std::int64_t grain = keys.size() <= k_keys_per_statement ? 0 : 60 * k_second;
  std::vector<std::int64_t> ids;
  std::vector<digest128> renew;
  {
    const std::lock_guard lock(m.marks_mutex);
    for (const digest128& key : keys) {
      const auto at = m.marks.find(key);
      if (at == m.marks.end()) continue;
      impl::use_mark& mark = at->second;
      mark.touched_ns = now_ns;
      if (mark.used_ns < now_ns - grain || mark.used_ns > now_ns) {
        mark.used_ns = now_ns;
        ids.push_back(mark.id);
      }
      if (mark.artifact_mtime_s < now_ns / k_second - k_hour_s) {
        mark.artifact_mtime_s = now_ns / k_second;
        renew.push_back(key);
      }
    }
  }
  for (const digest128& key : renew) {
    // What other versions of vx, which have other tables, see of this use.
    ::utimensat(m.dir.get(), impl::artifact_name(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  if (ids.empty()) return;
  std::sort(ids.begin(), ids.end());
  const auto lock = m.use_db();
  transaction t(m.db);
  if (!t) return m.db_failed();
  statement s = m.db.use("UPDATE entries SET used_ns = ?1 WHERE id = ?2");
  for (const std::int64_t id : ids) {
    if (!s || !s.integer(1, now_ns).integer(2, id).run()) return m.db_failed();
  }
  if (!t.commit()) m.db_failed();
}

void store::drop(const digest128& key) { impl_->drop(key); }

void store::impl::drop(const digest128& key) {
  if (mode != store_mode::read_write || !options.create) return;
  const auto lock = use_db();
  transaction t(db);
  if (!t) return db_failed();
  const bool gone = db.use("DELETE FROM entries WHERE key = ?1").blob(1, key.view()).run();
  ::unlinkat(dir.get(), artifact_name(key).c_str(), 0);
  if (!gone || !t.commit()) db_failed();
}

result<std::string> store::read_log(const entry& e) {
  if (e.log_bytes == 0) return std::string();
  impl& m = *impl_;
  if (e.log_bytes <= k_inline_log_limit && e.id != 0) {
    const auto lock = m.use_db();
    statement s = m.db.use("SELECT l.bytes FROM entries e JOIN entry_logs l ON l.entry = e.id WHERE e.key = ?1");
    if (s && s.blob(1, e.key.view()).step() == step::row && s.blob(0).size() == e.log_bytes) return std::string(s.blob(0));
  }
  VX_TRY_LET(const unique_fd fd, fs::open_at(m.dir.get(), impl::artifact_name(e.key), O_RDONLY | O_NOFOLLOW));
  VX_TRY_LET(const fs::stat_info st, fs::fstat_fd(fd.get()));
  impl::codec_lease tools(m);
  artifact_expectations expect;
  expect.key = e.key;
  VX_TRY_LET(artifact_contents contents, scan_artifact_fd(fd.get(), st.size, expect, nullptr, &*tools));
  return std::move(contents.log);
}

result<std::vector<key::component>> store::read_components(const entry& e) {
  impl& m = *impl_;
  const auto lock = m.use_db();
  statement s = m.db.use("SELECT i.rows FROM entries e JOIN entry_inputs i ON i.entry = e.id WHERE e.key = ?1");
  if (!s) return fail(errc::NOT_FOUND, "the store cannot be read");
  const step got = s.blob(1, e.key.view()).step();
  if (got == step::failed) m.db_failed();
  if (got != step::row) return std::vector<key::component>();
  return decode_components(s.blob(0));
}

}  // namespace vx::cache
