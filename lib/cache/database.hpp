// A small owner for one SQLite connection: statements prepared once, blobs bound without copies, opening, creation and
// replacement of damaged files (cache.md 3.1, 14). Not locked: its user holds a mutex around each use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace vx::cache {

enum class step : std::uint8_t { row, done, failed };

/// A prepared statement in use. Columns are views into SQLite's memory: valid until the next step or the end of this object,
/// which resets the statement and clears its bindings.
class statement {
 public:
  explicit statement(sqlite3_stmt* s) noexcept : s_(s) {}
  ~statement() { finish(); }
  statement(statement&& o) noexcept : s_(o.s_) { o.s_ = nullptr; }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;
  explicit operator bool() const noexcept { return s_ != nullptr; }

  // Positions count from 1. Text and blobs must outlive the step.
  statement& integer(int at, std::int64_t v) noexcept;
  statement& text(int at, std::string_view v) noexcept;
  statement& blob(int at, std::string_view v) noexcept;
  statement& null(int at) noexcept;
  statement& text_or_null(int at, std::string_view v) noexcept { return v.empty() ? null(at) : text(at, v); }

  cache::step step() noexcept;
  bool run() noexcept;     ///< steps to the end; false on failure
  void rewind() noexcept;  ///< ready for other bindings

  bool is_null(int column) const noexcept;  ///< columns count from 0
  std::int64_t integer(int column) const noexcept;
  std::string_view text(int column) const noexcept;
  std::string_view blob(int column) const noexcept;

 private:
  void finish() noexcept;
  sqlite3_stmt* s_;
};

class database {
 public:
  database() = default;
  ~database() { close(); }
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  /// How a file is opened. `read_live`: beside a -wal, changing neither it nor the -shm. `immutable`: a file nobody writes.
  enum class access : std::uint8_t { write, create, read, read_live, immutable };
  /// Opens a connection without looking at its content.
  status open_file(const std::string& path, access how);
  status open_memory();
  void close() noexcept;
  bool is_open() const noexcept { return db_ != nullptr; }
  bool writable() const noexcept;
  /// How long a statement waits for a lock from now on.
  void wait_for_locks(int ms) noexcept;
  /// How long a -wal may grow is judged in bytes.
  void expect_pages_of(int bytes) noexcept { page_bytes_ = bytes; }

  bool exec(const char* sql) noexcept;
  /// The statement for a literal; prepared at the first call, kept. Null (false) when it cannot be prepared.
  statement use(const char* sql);
  /// False: the main file itself (whatever the -wal says) has no sound first page of this kind.
  bool main_file_is(std::int32_t application_id, std::int32_t user_version) const noexcept;
  bool checkpoint() noexcept;
  std::int64_t last_rowid() const noexcept;
  std::int64_t changes() const noexcept;

  /// The extended result code of the last failure on this connection, and what it means.
  int error_code() const noexcept;
  bool is_damage() const noexcept;  ///< not a database, malformed
  bool is_busy() const noexcept;
  bool is_full() const noexcept;  ///< SQLITE_FULL, ENOSPC, EDQUOT
  std::string error_text() const;

 private:
  static int committed(void* self, sqlite3* db, const char* schema, int pages);

  sqlite3* db_ = nullptr;
  int page_bytes_ = 4096;
  int wal_pages_ = 0;  ///< in the -wal after our last commit
  std::unordered_map<const char*, sqlite3_stmt*> statements_;
};

/// Begins IMMEDIATE; rolls back unless committed.
class transaction {
 public:
  explicit transaction(database& db) : db_(db), open_(db.use("BEGIN IMMEDIATE").run()) {}
  ~transaction() {
    if (open_) db_.exec("ROLLBACK");
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  explicit operator bool() const noexcept { return open_; }
  bool commit() noexcept {
    if (!open_ || !db_.use("COMMIT").run()) return false;
    open_ = false;
    return true;
  }

 private:
  database& db_;
  bool open_;
};

/// What a file of ours is called and what it must be.
struct database_kind {
  const char* file;  ///< "store-1.db"
  const char* ddl;   ///< tables and indexes
  std::int32_t application_id;
  std::int32_t user_version;
  std::int32_t page_bytes;  ///< when it is created
  const char* first_read;   ///< a SELECT that must work on a sound file
};
extern const database_kind k_store_database, k_index_database;

/// How long opening and, after it, each statement waits for another process's lock (cache.md 3.1).
constexpr int k_busy_wait_ms = 5000;

struct database_request {
  std::string dir;
  bool create = true;         ///< false: reading verbs change nothing
  bool private_file = false;  ///< 0600
  std::function<void(const std::string&)> notice;
  std::function<bool(database&)> seed;  ///< fills `meta` inside the creating transaction
  int wait_ms = k_busy_wait_ms;         ///< in all, while another process keeps the database locked
};

enum class database_state : std::uint8_t { read_write, read_only, absent, unusable };
struct opened_database {
  database_state state = database_state::unusable;
  std::string reason;     ///< for unusable and for read_only by necessity: what the system said
  std::uint64_t ino = 0;  ///< of the file that was opened
};

/// The whole procedure of cache.md 3.1 and 14. Never fails: the state tells. The directory exists already when `create`.
opened_database open_database(database& db, const database_kind& kind, const database_request& request);
/// After corruption was reported on a connection to the file with inode `ino`: sets it aside (once, under the lock) and opens
/// anew.
opened_database replace_damaged(database& db, const database_kind& kind, const database_request& request, std::uint64_t ino);

}  // namespace vx::cache
