#include "cache/database.hpp"

#include <errno.h>
#include <sqlite3.h>

namespace vx::cache {

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

status database::open_file(const std::string& path, bool writable, bool create, bool immutable) {
  close();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  flags |= writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (create) flags |= SQLITE_OPEN_CREATE;
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      constexpr char k_hex[] = "0123456789abcdef";
      uri += {'%', k_hex[static_cast<unsigned char>(c) >> 4], k_hex[static_cast<unsigned char>(c) & 15]};
    } else {
      uri += c;
    }
  }
  if (immutable) uri += "?immutable=1";
  const int rc = sqlite3_open_v2(uri.c_str(), &db_, flags, nullptr);
  if (rc == SQLITE_OK) return {};
  const int sys = db_ != nullptr ? sqlite3_system_errno(db_) : 0;
  const std::string what = sqlite3_errstr(rc);
  close();
  if (sys != 0) return fail_sys(sys, "cannot open", path);
  return fail(errc::IO, path + ": " + what);
}

status database::open_memory() {
  close();
  if (sqlite3_open_v2(":memory:", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr) ==
      SQLITE_OK) {
    return {};
  }
  close();
  return fail(errc::NO_MEMORY, "no memory for the index");
}

void database::close() noexcept {
  for (const auto& [sql, s] : statements_) sqlite3_finalize(s);
  statements_.clear();
  sqlite3_close(db_);
  db_ = nullptr;
}

bool database::writable() const noexcept { return db_ != nullptr && sqlite3_db_readonly(db_, "main") == 0; }

bool database::exec(const char* sql) noexcept { return db_ != nullptr && sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK; }

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
  return rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
}

bool database::is_full() const noexcept {
  if ((error_code() & 0xff) == SQLITE_FULL) return true;
  const int sys = db_ == nullptr ? 0 : sqlite3_system_errno(db_);
  return (error_code() & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT);
}

std::string database::error_text() const { return db_ == nullptr ? "not open" : sqlite3_errmsg(db_); }

}  // namespace vx::cache
