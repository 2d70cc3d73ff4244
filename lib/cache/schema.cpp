// The tables. A change here is a new digit in the file name (cache.md 18); a test pins the text.
#include "cache/database.hpp"

namespace vx::cache {
namespace {

constexpr const char* k_store_ddl = R"sql(
CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
CREATE TABLE entries (
  id             INTEGER PRIMARY KEY,
  key            BLOB    NOT NULL UNIQUE CHECK (length(key) = 16),
  project        TEXT    NOT NULL, task TEXT NOT NULL,
  command        TEXT,
  origin         INTEGER NOT NULL DEFAULT 0 CHECK (origin IN (0, 1)),
  artifact_bytes INTEGER NOT NULL,
  output_bytes   INTEGER NOT NULL, output_count INTEGER NOT NULL, log_bytes INTEGER NOT NULL,
  duration_ns    INTEGER NOT NULL, cpu_ns INTEGER, rss_bytes INTEGER,
  created_ns     INTEGER NOT NULL, used_ns INTEGER NOT NULL
);
CREATE INDEX entries_used ON entries (used_ns);
CREATE INDEX entries_task ON entries (project, task, created_ns);
CREATE TABLE entry_outputs (entry INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE, rows  BLOB NOT NULL);
CREATE TABLE entry_inputs  (entry INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE, rows  BLOB NOT NULL);
CREATE TABLE entry_logs    (entry INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE, bytes BLOB NOT NULL);
)sql";

constexpr const char* k_index_ddl = R"sql(
CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
CREATE TABLE output_stamps (key BLOB PRIMARY KEY NOT NULL CHECK (length(key) = 16), rows BLOB NOT NULL, seen_ns INTEGER NOT NULL);
CREATE TABLE output_dirs   (key BLOB PRIMARY KEY NOT NULL CHECK (length(key) = 16), rows BLOB NOT NULL, seen_ns INTEGER NOT NULL);
CREATE TABLE file_hashes (
  path BLOB PRIMARY KEY NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, ino INTEGER NOT NULL,
  oid  BLOB NOT NULL CHECK (length(oid) IN (20, 32)), seen_ns INTEGER NOT NULL
);
CREATE TABLE blob_sizes     (oid BLOB PRIMARY KEY NOT NULL, size INTEGER NOT NULL, seen_ns INTEGER NOT NULL);
CREATE TABLE index_verdicts (digest BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 16), paths BLOB NOT NULL, seen_ns INTEGER NOT NULL);
CREATE TABLE config_evals   (path BLOB PRIMARY KEY NOT NULL, trace BLOB NOT NULL, json BLOB NOT NULL, seen_ns INTEGER NOT NULL);
CREATE TABLE lockfile_closures (file BLOB NOT NULL, parser INTEGER NOT NULL, digests BLOB NOT NULL, seen_ns INTEGER NOT NULL, PRIMARY KEY (file, parser));
CREATE TABLE invocations (
  run         BLOB PRIMARY KEY NOT NULL CHECK (length(run) = 16),
  command     TEXT NOT NULL, requested TEXT NOT NULL, policy TEXT NOT NULL, concurrency INTEGER NOT NULL, flow TEXT,
  started_ns  INTEGER NOT NULL, ended_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
  task_count  INTEGER NOT NULL, failed_count INTEGER NOT NULL, hit_count INTEGER NOT NULL,
  hit_local   INTEGER NOT NULL, hit_remote INTEGER NOT NULL,
  up_to_date  INTEGER NOT NULL, restored_local INTEGER NOT NULL, restored_remote INTEGER NOT NULL,
  exit_ok     INTEGER NOT NULL, commit_sha TEXT, branch TEXT, dirty INTEGER,
  ci          INTEGER NOT NULL, ci_provider TEXT, host TEXT, os TEXT NOT NULL, arch TEXT NOT NULL, vx_version TEXT NOT NULL,
  tags        TEXT NOT NULL DEFAULT '{}', remote TEXT
);
CREATE INDEX invocations_started ON invocations (started_ns);
CREATE TABLE runs (
  id          INTEGER PRIMARY KEY,
  run         BLOB NOT NULL REFERENCES invocations (run) ON DELETE CASCADE,
  key         BLOB CHECK (key IS NULL OR length(key) = 16),
  project     TEXT NOT NULL, task TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('success', 'failed', 'cache-hit', 'cache-hit-remote', 'skipped')),
  exit_code   INTEGER NOT NULL, duration_ns INTEGER NOT NULL, cpu_ns INTEGER, rss_bytes INTEGER,
  started_ns  INTEGER NOT NULL, ended_ns INTEGER NOT NULL, mono_start_ns INTEGER, mono_end_ns INTEGER,
  attempts    INTEGER NOT NULL DEFAULT 1, cached INTEGER NOT NULL, restored INTEGER,
  saved       INTEGER NOT NULL DEFAULT 0, withheld TEXT,
  blocked_by  TEXT, timed_out INTEGER NOT NULL DEFAULT 0, not_ready TEXT, sandbox_violations INTEGER, forward BLOB
);
CREATE INDEX runs_run    ON runs (run);
CREATE INDEX runs_failed ON runs (key) WHERE status = 'failed';
)sql";

}  // namespace

// Pages: the store writes a transaction a save, so small ones; the index reads thousands of rows at once and writes once a run.
const database_kind k_store_database = {
    "store-1.db", k_store_ddl, 0x76785331, 1, 4096, "SELECT value FROM meta WHERE name = 'salt'"};
const database_kind k_index_database = {
    "index-1.db", k_index_ddl, 0x76784931, 1, 16384, "SELECT value FROM meta WHERE name = 'root'"};

}  // namespace vx::cache
