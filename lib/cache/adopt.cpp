// Artifacts without rows: a new database, another schema's files, a store directory carried by a CI cache (cache.md 7).
#include <fcntl.h>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "cache/row_blobs.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {
namespace {

bool index_entry(database& db, entry& e, const std::string& outputs_blob, const std::string& log) {
  {
    statement s = db.use(
        "INSERT INTO entries (key, project, task, command, origin, artifact_bytes, output_bytes, output_count, log_bytes, "
        "duration_ns, cpu_ns, "
        "rss_bytes, created_ns, used_ns) VALUES (?1, ?2, ?3, NULL, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11) "
        "ON CONFLICT (key) DO UPDATE SET project = ?2, task = ?3, artifact_bytes = ?4, output_bytes = ?5, output_count = ?6, "
        "log_bytes = ?7, "
        "duration_ns = ?8, cpu_ns = ?9, rss_bytes = ?10, used_ns = ?11 RETURNING id");
    if (!s) return false;
    s.blob(1, e.key.view()).text(2, e.project).text(3, e.task);
    s.integer(4, static_cast<std::int64_t>(e.artifact_bytes)).integer(5, static_cast<std::int64_t>(e.output_bytes));
    s.integer(6, static_cast<std::int64_t>(e.output_count))
        .integer(7, static_cast<std::int64_t>(e.log_bytes))
        .integer(8, e.stats.duration_ns);
    e.stats.cpu_ns ? s.integer(9, *e.stats.cpu_ns) : s.null(9);
    e.stats.peak_rss_bytes ? s.integer(10, *e.stats.peak_rss_bytes) : s.null(10);
    s.integer(11, e.used_ns);
    if (s.step() != step::row) return false;
    e.id = s.integer(0);
    if (s.step() != step::done) return false;
  }
  if (!db.use("INSERT OR REPLACE INTO entry_outputs (entry, rows) VALUES (?1, ?2)")
           .integer(1, e.id)
           .blob(2, outputs_blob)
           .run())
    return false;
  if (log.empty() || log.size() > k_inline_log_limit) return true;
  return db.use("INSERT OR REPLACE INTO entry_logs (entry, bytes) VALUES (?1, ?2)").integer(1, e.id).blob(2, log).run();
}

}  // namespace

std::optional<lookup_result> store::adopt(const digest128& key, const std::string& project, const std::string& task,
                                          const output_scope& scope) {
  impl& m = *impl_;
  if (m.mode == store_mode::none) return std::nullopt;
  const std::string name = impl::artifact_name(key);
  const auto fd = fs::open_at(m.dir.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return std::nullopt;
  const auto st = fs::fstat_fd(fd->get());
  if (!st || st->kind != fs::kind::file) return std::nullopt;
  impl::codec_lease tools(m);
  artifact_expectations expect;
  expect.key = key;
  expect.scope = &scope;
  auto contents = scan_artifact_fd(fd->get(), st->size, expect, nullptr, &*tools);
  if (!contents) return std::nullopt;

  lookup_result out;
  out.entry.key = key;
  out.entry.project = project;
  out.entry.task = task;
  out.entry.artifact_bytes = st->size;
  out.entry.output_bytes = contents->output_bytes;
  out.entry.output_count = contents->rows.size();
  out.entry.log_bytes = contents->log.size();
  out.entry.stats = contents->stats;
  out.entry.created_ns = out.entry.used_ns = wall_ns();
  out.outputs = std::move(contents->rows);
  if (m.mode != store_mode::read_write || !m.options.create) return out;  // served without a row

  const std::string blob = encode_outputs(out.outputs);
  const auto lock = m.use_db();
  transaction t(m.db);
  // Under the write lock no save can replace the file: what was scanned is what the row will describe.
  const auto now = fs::lstat_at(m.dir.get(), name);
  const bool same = now && now->ino == st->ino && now->size == st->size;
  ++m.rows_added;
  if (t && same && index_entry(m.db, out.entry, blob, contents->log) && t.commit()) {
    m.mark_used(key, out.entry.id, out.entry.used_ns, st->mtime.sec);
    return out;
  }
  m.db_failed();
  out.entry.id = 0;
  return same ? std::optional<lookup_result>(std::move(out)) : std::nullopt;
}

}  // namespace vx::cache
