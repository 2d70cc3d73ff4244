#include "cache/database.hpp"

#include <errno.h>
#include <sqlite3.h>

#include <cstring>

namespace vx::cache {
namespace {

/// A path as the path of a URI.
std::string escaped(const std::string& path) {
  constexpr char k_hex[] = "0123456789abcdef";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '?' || c == '#' || c == '%') {
      out += {'%', k_hex[byte >> 4], k_hex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

statement& statement::integer(int at, std::int64_t v) noexcept {
  sqlite3_bind_int64(s_, at, v);
  return *this;
}
statement& statement::text(int at, std::string_view v) noexcept {
  sqlite3_bind_text64(s_, at, v.empty() ? "" : v.data(), v.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}
statement& statement::blob(int at, std::string_view v) noexcept {
  // An empty view may carry a null pointer, which would bind NULL.
  sqlite3_bind_blob64(s_, at, v.empty() ? "" : v.data(), v.size(), SQLITE_STATIC);
  return *this;
}
statement& statement::null(int at) noexcept {
  sqlite3_bind_null(s_, at);
  return *this;
}

cache::step statement::step() noexcept {
  const int rc = s_ == nullptr ? SQLITE_MISUSE : sqlite3_step(s_);
  return rc == SQLITE_ROW ? cache::step::row : rc == SQLITE_DONE ? cache::step::done : cache::step::failed;
}

bool statement::run() noexcept {
  cache::step s = step();
  while (s == cache::step::row) s = step();
  if (s_ != nullptr) sqlite3_reset(s_);
  return s == cache::step::done;
}

void statement::rewind() noexcept {
  if (s_ != nullptr) sqlite3_reset(s_);
}

bool statement::is_null(int column) const noexcept { return sqlite3_column_type(s_, column) == SQLITE_NULL; }
std::int64_t statement::integer(int column) const noexcept { return sqlite3_column_int64(s_, column); }
std::string_view statement::text(int column) const noexcept {
  const unsigned char* p = sqlite3_column_text(s_, column);
  if (p == nullptr) return {};
  return {reinterpret_cast<const char*>(p), static_cast<std::size_t>(sqlite3_column_bytes(s_, column))};
}
std::string_view statement::blob(int column) const noexcept {
  const void* p = sqlite3_column_blob(s_, column);
  if (p == nullptr) return {};
  return {static_cast<const char*>(p), static_cast<std::size_t>(sqlite3_column_bytes(s_, column))};
}

void statement::finish() noexcept {
  if (s_ == nullptr) return;
  sqlite3_reset(s_);
  sqlite3_clear_bindings(s_);  // the views that were bound die with the caller
  s_ = nullptr;
}

status database::open_file(const std::string& path, access how) {
  close();
  const bool writes = how == access::write || how == access::create;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  flags |= writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (how == access::create) flags |= SQLITE_OPEN_CREATE;
  std::string uri = "file:" + escaped(path);
  if (how == access::immutable) uri += "?immutable=1";
  if (how == access::read_live) uri += "?readonly_shm=1";
  const int rc = sqlite3_open_v2(uri.c_str(), &db_, flags, nullptr);
  if (rc == SQLITE_OK) {
    if (writes) sqlite3_wal_hook(db_, &database::committed, this);
    return {};
  }
  const int sys = db_ != nullptr ? sqlite3_system_errno(db_) : 0;
  const std::string what = sqlite3_errstr(rc);
  close();
  if (sys != 0) return fail_sys(sys, "cannot open", path);
  return fail(errc::IO, path + ": " + what);
}

status database::open_memory() {
  close();
  if (sqlite3_open_v2(":memory:", &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                      nullptr) == SQLITE_OK) {
    return {};
  }
  close();
  return fail(errc::NO_MEMORY, "no memory for the index");
}

/// Checkpoints flush the disk, which on a busy one takes longer than a warm run. So a commit makes one only for a very long
/// -wal, and closing leaves a short one behind: the next open reads it back in about a millisecond a megabyte.
int database::committed(void* self, sqlite3* db, const char* schema, int pages) {
  constexpr int k_longest_wal = 32 << 20;
  auto& own = *static_cast<database*>(self);
  own.wal_pages_ = pages;
  if (pages >= k_longest_wal / own.page_bytes_)
    sqlite3_wal_checkpoint_v2(db, schema, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return SQLITE_OK;
}

void database::close() noexcept {
  constexpr int k_short_wal = 2 << 20;
  for (const auto& [sql, s] : statements_) sqlite3_finalize(s);
  statements_.clear();
  if (db_ != nullptr && wal_pages_ <= k_short_wal / page_bytes_)
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_close(db_);
  db_ = nullptr;
  wal_pages_ = 0;
}

bool database::checkpoint() noexcept {
  return db_ != nullptr && sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) == SQLITE_OK;
}

bool database::main_file_is(std::int32_t application_id, std::int32_t user_version) const noexcept {
  // Through SQLite's own descriptor: closing another one on the file would drop this process's locks.
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr)
    return false;
  sqlite3_int64 size = 0;
  unsigned char head[100];
  if (file->pMethods->xFileSize(file, &size) != SQLITE_OK || size < 512) return false;
  if (file->pMethods->xRead(file, head, sizeof head, 0) != SQLITE_OK) return false;
  const auto number = [&](std::size_t at) {
    return static_cast<std::int32_t>(std::uint32_t{head[at]} << 24 | std::uint32_t{head[at + 1]} << 16 |
                                     std::uint32_t{head[at + 2]} << 8 | head[at + 3]);
  };
  const int page = head[16] << 8 | head[17];
  if (std::memcmp(head, "SQLite format 3", 16) != 0 || size < (page == 1 ? 65536 : page)) return false;
  const bool ours = number(60) == user_version && number(68) == application_id;
  const bool never_checkpointed = number(60) == 0 && number(68) == 0;  // its creator was killed: the -wal has it all
  return ours || never_checkpointed;
}

void database::wait_for_locks(int ms) noexcept {
  if (db_ != nullptr) sqlite3_busy_timeout(db_, ms);
}

bool database::writable() const noexcept { return db_ != nullptr && sqlite3_db_readonly(db_, "main") == 0; }

bool database::exec(const char* sql) noexcept {
  return db_ != nullptr && sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

statement database::use(const char* sql) {
  if (db_ == nullptr) return statement(nullptr);
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return statement(found->second);
  sqlite3_stmt* s = nullptr;
  if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, nullptr) != SQLITE_OK) return statement(nullptr);
  statements_.emplace(sql, s);
  return statement(s);
}

std::int64_t database::last_rowid() const noexcept { return sqlite3_last_insert_rowid(db_); }
std::int64_t database::changes() const noexcept { return sqlite3_changes64(db_); }
int database::error_code() const noexcept { return db_ == nullptr ? SQLITE_CANTOPEN : sqlite3_extended_errcode(db_); }

bool database::is_damage() const noexcept {
  const int rc = error_code() & 0xff;
  return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB;
}

bool database::is_busy() const noexcept {
  const int rc = error_code() & 0xff;
  return rc == SQLITE_BUSY || rc == SQLITE_LOCKED ||
         rc == SQLITE_PROTOCOL;  // the last: ten seconds of tries, whatever the timeout
}

bool database::is_full() const noexcept {
  if ((error_code() & 0xff) == SQLITE_FULL) return true;
  const int sys = db_ == nullptr ? 0 : sqlite3_system_errno(db_);
  return (error_code() & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT);
}

std::string database::error_text() const { return db_ == nullptr ? "not open" : sqlite3_errmsg(db_); }

}  // namespace vx::cache
