// The transaction that makes saves visible (cache.md 6.3 step 4). Saves that are ready at one moment share one transaction,
// each with its own savepoint: whoever comes first leads and commits what has gathered, the others wait for their turn to be
// told.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {
namespace {

constexpr std::size_t k_batch = 64;

}  // namespace

void store::impl::commit(pending_save& p) {
  std::unique_lock lock(queue_mutex);
  queue.push_back(&p);
  while (!p.done) {
    if (queue_has_leader) {
      queue_changed.wait(lock);
      continue;
    }
    queue_has_leader = true;
    std::vector<pending_save*> batch;
    while (!queue.empty() && batch.size() < k_batch) {
      batch.push_back(queue.front());
      queue.pop_front();
    }
    lock.unlock();
    commit_batch(batch);
    lock.lock();
    for (pending_save* b : batch) b->done = true;
    queue_has_leader = false;
    queue_changed.notify_all();
  }
}

void store::impl::commit_batch(const std::vector<pending_save*>& batch) {
  if (mutated("early-rename"))
    for (pending_save* p : batch) place(*p);
  const auto lock = use_db();
  const auto give_up = [&](const std::string& why) {
    // Backwards: two saves of one key stack their asides.
    for (auto p = batch.rbegin(); p != batch.rend(); ++p) {
      undo(**p);
      (*p)->landed = false;
      if ((*p)->error.empty()) (*p)->error = why;
    }
    db_failed();
  };
  const auto reason = [&] {
    if (db.is_full()) return "no space left in " + where.dir;
    if (db.is_busy()) return where.dir + "/store-1.db is busy";
    return where.dir + "/store-1.db: " + db.error_text();
  };
  if (!db_writable) return give_up(where.dir + " cannot be written");
  transaction t(db);
  if (!t) return give_up(reason());
  const std::int64_t now = wall_ns();
  for (pending_save* p : batch) {
    if (batch.size() > 1 && !db.exec("SAVEPOINT one")) return give_up(reason());
    // The bytes become visible only while the write lock is held: no other writer's rows can meet them.
    p->landed = (p->placed || place(*p)) && write_rows(*p, now);
    if (!p->landed) {
      if (p->error.empty()) p->error = reason();
      db_failed();
      undo(*p);
      if (batch.size() == 1) return;
      db.exec("ROLLBACK TO one");
    }
    if (batch.size() > 1 && !db.exec("RELEASE one")) return give_up(reason());
  }
  if (!t.commit()) return give_up(reason());
  for (pending_save* p : batch) {
    if (p->landed && !p->aside.empty()) ::unlinkat(dir.get(), p->aside.c_str(), 0);
  }
}

/// Temporary to final name; what lay there goes aside first (replacing by rename makes some file systems flush).
bool store::impl::place(pending_save& p) {
  const std::string name = artifact_name(p.request->key);
  if (const int e = fs::fault("rename", name.c_str())) {
    p.error = sys_failure(e, "cannot rename to", where.dir + "/" + name).message;
    return false;
  }
  std::string aside = temp_name();
  if (::renameat(dir.get(), name.c_str(), dir.get(), aside.c_str()) == 0) {
    p.aside = std::move(aside);
  } else if (errno != ENOENT) {
    p.error = sys_failure(errno, "cannot replace", where.dir + "/" + name).message;
    return false;
  }
  if (::renameat(dir.get(), p.temp.c_str(), dir.get(), name.c_str()) != 0) {
    p.error = sys_failure(errno, "cannot rename to", where.dir + "/" + name).message;
    return false;
  }
  p.placed = true;
  return true;
}

void store::impl::undo(pending_save& p) {
  const std::string name = artifact_name(p.request->key);
  if (p.placed) ::unlinkat(dir.get(), name.c_str(), 0);
  if (!p.aside.empty()) ::renameat(dir.get(), p.aside.c_str(), dir.get(), name.c_str());
  p.placed = false;
  p.aside.clear();
}

bool store::impl::write_rows(pending_save& p, std::int64_t now) {
  ++rows_added;
  const save_request& q = *p.request;
  std::int64_t id = 0;
  {
    statement s = db.use(
        "INSERT INTO entries (key, project, task, command, origin, artifact_bytes, output_bytes, output_count, log_bytes, "
        "duration_ns, cpu_ns, "
        "rss_bytes, created_ns, used_ns) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) "
        "ON CONFLICT (key) DO UPDATE SET project = ?2, task = ?3, command = ?4, origin = 0, artifact_bytes = ?5, output_bytes "
        "= ?6, "
        "output_count = ?7, log_bytes = ?8, duration_ns = ?9, cpu_ns = ?10, rss_bytes = ?11, created_ns = ?12, used_ns = ?12 "
        "RETURNING id");
    if (!s) return false;
    s.blob(1, q.key.view()).text(2, q.project).text(3, q.task).text_or_null(4, q.command);
    s.integer(5, static_cast<std::int64_t>(p.artifact_bytes)).integer(6, static_cast<std::int64_t>(p.output_bytes));
    s.integer(7, static_cast<std::int64_t>(p.rows->size()))
        .integer(8, static_cast<std::int64_t>(q.log.size()))
        .integer(9, q.stats.duration_ns);
    q.stats.cpu_ns ? s.integer(10, *q.stats.cpu_ns) : s.null(10);
    q.stats.peak_rss_bytes ? s.integer(11, *q.stats.peak_rss_bytes) : s.null(11);
    s.integer(12, now);
    if (s.step() != step::row) return false;
    id = s.integer(0);
    if (s.step() != step::done) return false;
  }
  if (!db.use("INSERT OR REPLACE INTO entry_outputs (entry, rows) VALUES (?1, ?2)")
           .integer(1, id)
           .blob(2, p.outputs_blob)
           .run())
    return false;
  if (!db.use("INSERT OR REPLACE INTO entry_inputs (entry, rows) VALUES (?1, ?2)").integer(1, id).blob(2, p.inputs_blob).run())
    return false;
  const bool keep_log = !q.log.empty() && q.log.size() <= k_inline_log_limit;
  if (keep_log) {
    if (!db.use("INSERT OR REPLACE INTO entry_logs (entry, bytes) VALUES (?1, ?2)").integer(1, id).blob(2, q.log).run())
      return false;
  } else if (!p.aside.empty()) {
    if (!db.use("DELETE FROM entry_logs WHERE entry = ?1").integer(1, id).run()) return false;
  }
  mark_used(q.key, id, now, now / 1'000'000'000);
  return true;
}

}  // namespace vx::cache
