// Opening, creating and replacing the two databases, safe beside any number of processes doing the same (cache.md 3.1, 14).
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "cache/database.hpp"

namespace vx::cache {
namespace {

enum class look : std::uint8_t { ok, empty, damaged, busy, failed };

std::int64_t pragma_int(database& db, const char* sql, bool& ok) {
  statement s = db.use(sql);
  ok = s && s.step() == step::row;
  return ok ? s.integer(0) : 0;
}

look trouble(const database& db) { return db.is_damage() ? look::damaged : db.is_busy() ? look::busy : look::failed; }

/// Is this the file its name promises? An empty one is a creation that has not happened yet.
look examine(database& db, const database_kind& kind) {
  bool ok = false;
  const std::int64_t application = pragma_int(db, "PRAGMA application_id", ok);
  if (!ok) return trouble(db);
  const std::int64_t version = pragma_int(db, "PRAGMA user_version", ok);
  if (!ok) return trouble(db);
  if (application == 0 && version == 0) {
    const std::int64_t tables = pragma_int(db, "SELECT count(*) FROM sqlite_schema", ok);
    if (!ok) return trouble(db);
    return tables == 0 ? look::empty : look::damaged;
  }
  if (application != kind.application_id || version != kind.user_version) return look::damaged;
  // A -wal can hide that the file below it was cut or overwritten.
  if (!db.main_file_is(kind.application_id, kind.user_version)) return look::damaged;
  statement s = db.use(kind.first_read);
  if (!s) return db.is_busy() ? look::busy : look::damaged;  // a table is missing
  return s.step() == step::failed ? trouble(db) : look::ok;
}

/// False: a lock or damage stands in the way; the pragma that reads the schema is the last.
bool set_connection_pragmas(database& db, const database_kind& kind) {
  db.expect_pages_of(kind.page_bytes);
  return db.exec(
      "PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
      "PRAGMA journal_size_limit=67108864; PRAGMA synchronous=NORMAL;");
}

/// False when WAL cannot be had here: the caller uses a rollback journal.
bool try_wal(database& db) {
  statement s = db.use("PRAGMA journal_mode=WAL");
  return s && s.step() == step::row && s.text(0) == "wal";
}

bool create_tables(database& db, const database_kind& kind, const database_request& request, bool network) {
  const std::string pages = "PRAGMA page_size=" + std::to_string(kind.page_bytes) + "; PRAGMA auto_vacuum=INCREMENTAL";
  db.exec(pages.c_str());
  if (network || !try_wal(db)) db.exec("PRAGMA journal_mode=TRUNCATE");
  transaction t(db);
  if (!t || !db.exec(kind.ddl)) return false;
  if (request.seed && !request.seed(db)) return false;
  const std::string ids = "PRAGMA application_id=" + std::to_string(kind.application_id) +
                          "; PRAGMA user_version=" + std::to_string(kind.user_version) + ";";
  if (!db.exec(ids.c_str()) || !t.commit()) return false;
  db.checkpoint();  // the main file is to tell what it is by itself
  return true;
}

/// Keeps the three newest "<name>.bad-*" groups.
void trim_set_aside(int dir, const std::string& name) {
  const auto listing = fs::list_dir_at(dir, ".");
  if (!listing) return;
  std::vector<std::string> main_files;
  const std::string prefix = name + ".bad-";
  for (const fs::dir_entry& e : *listing) {
    const bool side = e.name.ends_with("-wal") || e.name.ends_with("-shm");
    if (e.name.starts_with(prefix) && !side) main_files.push_back(e.name);
  }
  std::sort(main_files.begin(), main_files.end());
  for (std::size_t i = 0; i + 3 < main_files.size(); ++i) {
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlinkat(dir, (main_files[i] + suffix).c_str(), 0);
  }
}

/// All three files move together: a fresh database beside an old -wal would be damaged at once. The caller holds the lock.
status set_aside(int dir, const std::string& dir_path, const std::string& name, const database_request& request) {
  const std::string target = name + ".bad-" + std::to_string(wall_ns() / 1'000'000'000) + "-" + std::to_string(::getpid());
  for (const char* suffix : {"-wal", "-shm", ""}) {
    const std::string from = name + suffix, to = target + suffix;
    if (::renameat(dir, from.c_str(), dir, to.c_str()) != 0 && errno != ENOENT)
      return fail_sys(errno, "cannot move aside", dir_path + "/" + from);
  }
  trim_set_aside(dir, name);
  if (request.notice)
    request.notice("cache: " + dir_path + "/" + name + " was damaged; it is kept as " + target + " and a new one was started");
  return {};
}

struct place {
  unique_fd dir;
  std::string path;  ///< of the database
  bool network = false;
  std::int64_t deadline = 0;  ///< of all waits for locks together, on the monotonic clock

  int left_ms() const noexcept { return static_cast<int>(std::max<std::int64_t>(0, (deadline - mono_ns()) / 1'000'000)); }
  std::string locked() const { return path + " is busy: another process holds its lock"; }
};

/// Pragmas and a look. Whatever waits for a lock waits until the deadline and no longer.
look inspect(database& db, const database_kind& kind, const place& at) {
  db.wait_for_locks(at.left_ms());
  const look l = set_connection_pragmas(db, kind) ? examine(db, kind) : trouble(db);
  db.wait_for_locks(k_busy_wait_ms);
  return l;
}

opened_database as_read_only(database& db, const database_kind& kind, const place& at, std::string reason) {
  using access = database::access;
  // With a -wal beside it the file alone is not the whole truth.
  const auto wal = fs::lstat_at(at.dir.get(), std::string(kind.file) + "-wal");
  const bool live = wal && wal->exists() && wal->size > 0;
  std::vector<access> ways = {access::immutable};
  if (live) ways = {access::read_live, access::read, access::immutable};
  for (const access how : ways) {
    if (const status s = db.open_file(at.path, how); !s) return {database_state::unusable, s.error().message, 0};
    const look l = inspect(db, kind, at);
    if (l == look::busy) {
      db.close();
      return {database_state::unusable, at.locked(), 0};
    }
    if (l == look::ok) {
      const auto st = fs::lstat_at(at.dir.get(), kind.file);
      return {database_state::read_only, std::move(reason), st ? st->ino : 0};
    }
    if (l == look::empty) break;
  }
  db.close();
  return {database_state::absent, std::move(reason), 0};
}

/// One try of the ordinary open; look::failed carries the system's words in `reason`.
look open_existing(database& db, const database_kind& kind, const place& at, std::string& reason) {
  if (const status s = db.open_file(at.path, database::access::write); !s) {
    reason = s.error().message;
    return s.error().sys == ENOENT ? look::empty : look::failed;
  }
  const look l = inspect(db, kind, at);
  if (l == look::busy) reason = at.locked();
  if (l == look::failed) reason = at.path + ": " + db.error_text();
  return l;
}

opened_database success(const database& db, const database_kind& kind, const place& at, std::string reason = {}) {
  const auto st = fs::lstat_at(at.dir.get(), kind.file);
  return {db.writable() ? database_state::read_write : database_state::read_only, std::move(reason), st ? st->ino : 0};
}

/// Under the lock: look again, set aside what is not ours, create what is missing.
opened_database create_locked(database& db, const database_kind& kind, const database_request& request, const place& at,
                              std::uint64_t condemned) {
  std::string reason;
  const auto lock = fs::open_at(at.dir.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW, request.private_file ? 0600 : 0666);
  if (!lock) return {database_state::unusable, lock.error().message, 0};
  if (const status s = fs::lock_blocking(lock->get()); !s) return {database_state::unusable, s.error().message, 0};

  const auto now = fs::lstat_at(at.dir.get(), kind.file);
  bool bad = condemned != 0 && now && now->ino == condemned;
  if (!bad && now && now->exists()) {
    const look l = open_existing(db, kind, at, reason);
    if (l == look::ok) return success(db, kind, at);
    if (l == look::failed || l == look::busy) {
      db.close();
      return {database_state::unusable, reason, 0};
    }
    bad = l == look::damaged;
  }
  db.close();
  if (bad) {
    if (const status s = set_aside(at.dir.get(), request.dir, kind.file, request); !s)
      return {database_state::unusable, s.error().message, 0};
  }
  if (request.private_file) {
    // Made here so that its mode is ours: SQLite would let the umask decide, and -wal and -shm copy the mode.
    const auto made = fs::open_at(at.dir.get(), kind.file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!made) return {database_state::unusable, made.error().message, 0};
    ::fchmod(made->get(), 0600);
  }
  if (const status s = db.open_file(at.path, database::access::create); !s)
    return {database_state::unusable, s.error().message, 0};
  db.wait_for_locks(k_busy_wait_ms);
  (void)set_connection_pragmas(db, kind);
  if (!create_tables(db, kind, request, at.network)) {
    reason = db.is_full() ? "no space left in " + request.dir : at.path + ": " + db.error_text();
    db.close();
    return {database_state::unusable, reason, 0};
  }
  return success(db, kind, at);
}

result<place> find_place(const database_kind& kind, const database_request& request) {
  place at;
  VX_TRY_LET(at.dir, fs::open_dir_at(fs::k_cwd, request.dir));
  at.path = request.dir + "/" + kind.file;
  at.network = fs::is_network_fs(at.dir.get());
  at.deadline = mono_ns() + std::int64_t{request.wait_ms} * 1'000'000;
  return at;
}

}  // namespace

opened_database open_database(database& db, const database_kind& kind, const database_request& request) {
  auto at = find_place(kind, request);
  if (!at) {
    const bool none = at.error().sys == ENOENT && !request.create;
    return {none ? database_state::absent : database_state::unusable, at.error().message, 0};
  }
  const auto now = fs::lstat_at(at->dir.get(), kind.file);
  const bool exists = now && now->exists() && now->size > 0;
  if (!request.create) return exists ? as_read_only(db, kind, *at, {}) : opened_database{database_state::absent, {}, 0};

  const bool dir_writable = ::faccessat(at->dir.get(), ".", W_OK, AT_EACCESS) == 0;
  const bool file_writable = !exists || ::faccessat(at->dir.get(), kind.file, W_OK, AT_EACCESS) == 0;
  if (!dir_writable || !file_writable) {
    const int why = errno;
    const std::string reason = sys_failure(why, "cannot write", dir_writable ? at->path : request.dir).message;
    return exists ? as_read_only(db, kind, *at, reason) : opened_database{database_state::absent, reason, 0};
  }
  if (exists) {
    std::string reason;
    const look l = open_existing(db, kind, *at, reason);
    if (l == look::ok) {
      if (at->network) db.exec("PRAGMA journal_mode=TRUNCATE");
      return success(db, kind, *at);
    }
    db.close();
    // A lock that SQLite did not wait for is a creation under way: the lock file tells when it is done.
    if (l == look::busy && at->left_ms() == 0) return {database_state::unusable, reason, 0};
  }
  return create_locked(db, kind, request, *at, 0);
}

opened_database replace_damaged(database& db, const database_kind& kind, const database_request& request, std::uint64_t ino) {
  db.close();
  const auto at = find_place(kind, request);
  if (!at) return {database_state::unusable, at.error().message, 0};
  return create_locked(db, kind, request, *at, ino);
}

}  // namespace vx::cache
