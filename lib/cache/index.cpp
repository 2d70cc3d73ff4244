#include "cache/index.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "cache/index_impl.hpp"
#include "cache/key_list.hpp"
#include "cache/row_blobs.hpp"

namespace vx::cache {
namespace {

constexpr std::int64_t k_day = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::size_t k_keys = 256, k_paths = 500;

file_memo read_memo(const statement& s) {
  file_memo m;
  m.path = s.blob(0);
  m.size = static_cast<std::uint64_t>(s.integer(1));
  m.mtime_ns = s.integer(2);
  m.ctime_ns = s.integer(3);
  m.ino = static_cast<std::uint64_t>(s.integer(4));
  m.id = key::oid::from_raw(s.blob(5));
  return m;
}

}  // namespace

index::index() : impl_(std::make_unique<impl>()) {}
index::~index() { flush(); }

result<std::unique_ptr<index>> index::open(const std::string& root, const open_options& options) {
  if (!root.starts_with('/')) return fail(errc::INVALID, "the workspace root must be absolute");
  std::unique_ptr<index> out(new index());
  out->impl_->root = root;
  out->impl_->dir = path::join(root, ".vx");
  out->impl_->options = options;
  out->impl_->open();
  if (!options.create && !out->impl_->persistent) {
    const std::string other = out->impl_->other_schema();
    if (!other.empty()) {
      return fail(errc::CACHE_VERSION,
                  out->impl_->dir + " holds " + other + " of another version of vx; this one reads index-1.db");
    }
  }
  return out;
}

bool index::persistent() const noexcept { return impl_->persistent; }

/// "index-<n>.db" where ours is not; "" when there is none.
std::string index::impl::other_schema() const {
  const auto listing = fs::list_dir_at(fs::k_cwd, dir);
  if (!listing) return {};
  std::string found;
  for (const fs::dir_entry& e : *listing) {
    if (e.name == k_index_database.file) return {};
    if (e.name.starts_with("index-") && e.name.ends_with(".db") && e.name > found) found = e.name;
  }
  return found;
}

void index::impl::note(const std::string& line) {
  if (told) return;
  told = true;
  if (options.notice) options.notice(line);
}

database_request index::impl::db_request() {
  database_request r;
  r.dir = dir;
  r.create = options.create;
  r.notice = [this](const std::string& line) { note(line); };
  r.seed = [this](database& d) {
    const std::string now = std::to_string(wall_ns());
    statement s = d.use("INSERT INTO meta (name, value) VALUES (?1, ?2)");
    return s.text(1, "root").blob(2, root).run() && s.text(1, "swept_ns").text(2, now).run();
  };
  return r;
}

void index::impl::open_in_memory() {
  persistent = writable = false;
  if (db.open_memory()) db.exec(k_index_database.ddl);
}

void index::impl::open() {
  if (options.create) {
    if (::mkdir(dir.c_str(), 0777) != 0 && errno != EEXIST) {
      note("cache: " + sys_failure(errno, "cannot create", dir).message + "; no history or stamps are kept");
      return open_in_memory();
    }
    const unique_fd ignore(
        ::open(path::join(dir, ".gitignore").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (ignore) (void)fs::write_all(ignore.get(), "*\n");
  }
  const opened_database opened = open_database(db, k_index_database, db_request());
  db_ino = opened.ino;
  persistent = writable = opened.state == database_state::read_write;
  if (opened.state == database_state::read_write) return;
  if (options.create) {
    note("cache: " + (opened.reason.empty() ? dir + " cannot be written" : opened.reason) + "; no history or stamps are kept");
  }
  // A read-only file still answers; everything else is an empty index.
  if (opened.state == database_state::read_only) {
    persistent = !options.create;
    return;
  }
  open_in_memory();
}

std::unique_lock<std::mutex> index::impl::use(bool land_queue) {
  std::unique_lock lock(mutex);
  if (damaged) {
    damaged = false;
    if (writable) {
      const opened_database opened = replace_damaged(db, k_index_database, db_request(), db_ino);
      db_ino = opened.ino;
      persistent = writable = opened.state == database_state::read_write;
    } else {
      db.close();
    }
    if (!db.is_open()) open_in_memory();
  }
  if (land_queue && !queue_empty()) flush_locked();
  return lock;
}

bool index::impl::queue_empty() const noexcept {
  return stamps.empty() && dirs.empty() && files.empty() && sizes.empty() && verdicts.empty() && evals.empty() && metas.empty();
}

void index::impl::clear_queue() {
  stamps.clear();
  dirs.clear();
  files.clear();
  sizes.clear();
  verdicts.clear();
  evals.clear();
  metas.clear();
  seen_keys.clear();
  seen_files.clear();
  seen_evals.clear();
}

bool index::impl::write_outputs(std::int64_t now) {
  const auto put = [&](const char* replace, const char* remove, const auto& rows) {
    for (const auto& [key, blob] : rows) {
      statement s = db.use(blob ? replace : remove);
      s.blob(1, key.view());
      if (blob) s.blob(2, *blob).integer(3, now);
      if (!s.run()) return false;
    }
    return true;
  };
  return put("INSERT OR REPLACE INTO output_stamps (key, rows, seen_ns) VALUES (?1, ?2, ?3)",
             "DELETE FROM output_stamps WHERE key = ?1", stamps) &&
         put("INSERT OR REPLACE INTO output_dirs (key, rows, seen_ns) VALUES (?1, ?2, ?3)",
             "DELETE FROM output_dirs WHERE key = ?1", dirs);
}

bool index::impl::write_memos(std::int64_t now) {
  for (const file_memo& f : files) {
    statement s = db.use(
        "INSERT OR REPLACE INTO file_hashes (path, size, mtime_ns, ctime_ns, ino, oid, seen_ns) VALUES (?1, ?2, ?3, ?4, ?5, "
        "?6, ?7)");
    s.blob(1, f.path).integer(2, static_cast<std::int64_t>(f.size)).integer(3, f.mtime_ns).integer(4, f.ctime_ns);
    if (!s.integer(5, static_cast<std::int64_t>(f.ino)).blob(6, f.id.view()).integer(7, now).run()) return false;
  }
  for (const auto& [id, size] : sizes) {
    statement s = db.use("INSERT OR REPLACE INTO blob_sizes (oid, size, seen_ns) VALUES (?1, ?2, ?3)");
    if (!s.blob(1, id.view()).integer(2, static_cast<std::int64_t>(size)).integer(3, now).run()) return false;
  }
  for (const auto& [digest, paths] : verdicts) {
    statement s = db.use("INSERT OR REPLACE INTO index_verdicts (digest, paths, seen_ns) VALUES (?1, ?2, ?3)");
    if (!s.blob(1, digest.view()).blob(2, paths).integer(3, now).run()) return false;
  }
  for (const auto& [path, e] : evals) {
    statement s = db.use("INSERT OR REPLACE INTO config_evals (path, trace, json, seen_ns) VALUES (?1, ?2, ?3, ?4)");
    if (!s.blob(1, path).blob(2, e.trace).blob(3, e.json).integer(4, now).run()) return false;
  }
  for (const auto& [name, value] : metas) {
    statement s = db.use("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)");
    if (!s.text(1, name).blob(2, value).run()) return false;
  }
  return true;
}

bool index::impl::touch_seen(std::int64_t now) {
  for (const digest128& key : seen_keys) {
    if (!db.use("UPDATE output_stamps SET seen_ns = ?1 WHERE key = ?2").integer(1, now).blob(2, key.view()).run()) return false;
    if (!db.use("UPDATE output_dirs SET seen_ns = ?1 WHERE key = ?2").integer(1, now).blob(2, key.view()).run()) return false;
  }
  for (const std::string& path : seen_files) {
    if (!db.use("UPDATE file_hashes SET seen_ns = ?1 WHERE path = ?2").integer(1, now).blob(2, path).run()) return false;
  }
  for (const std::string& path : seen_evals) {
    if (!db.use("UPDATE config_evals SET seen_ns = ?1 WHERE path = ?2").integer(1, now).blob(2, path).run()) return false;
  }
  return true;
}

bool index::impl::write_queue(std::int64_t now) { return write_outputs(now) && write_memos(now) && touch_seen(now); }

bool index::impl::flush_locked() {
  const bool nothing = queue_empty() && seen_keys.empty() && seen_files.empty() && seen_evals.empty();
  if (nothing) return true;
  bool landed = false;
  if (writable || !persistent) {
    transaction t(db);
    landed = t && write_queue(wall_ns()) && t.commit();
    if (!landed) failed();
  }
  clear_queue();
  return landed;
}

bool index::flush() {
  const auto lock = impl_->use(false);
  return impl_->flush_locked();
}

std::vector<std::optional<index::current_state>> index::current_many(const std::vector<digest128>& keys) {
  static const key_list list(
      "SELECT s.key, s.rows, s.seen_ns, d.rows FROM output_stamps s LEFT JOIN output_dirs d ON d.key = s.key WHERE s.key",
      k_keys);
  std::vector<std::optional<current_state>> out(keys.size());
  impl& m = *impl_;
  std::vector<std::pair<digest128, std::size_t>> sorted;
  sorted.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) sorted.emplace_back(keys[i], i);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; });
  const auto lock = m.use();
  const std::int64_t old = wall_ns() - k_day;
  for (std::size_t from = 0; from < sorted.size(); from += k_keys) {
    statement s = list.look_up(m.db, sorted, from, [](const auto& p) { return p.first.view(); });
    if (!s) break;
    step got = s.step();
    for (; got == step::row; got = s.step()) {
      digest128 key;
      if (s.blob(0).size() != 16) continue;
      std::memcpy(key.raw.data(), s.blob(0).data(), 16);
      auto stamps = decode_stamps(s.blob(1));
      if (!stamps) continue;
      if (s.integer(2) < old) m.seen_keys.push_back(key);
      current_state state{std::move(*stamps), std::string(s.blob(3))};
      auto at =
          std::lower_bound(sorted.begin(), sorted.end(), key, [](const auto& p, const digest128& k) { return p.first < k; });
      for (; at != sorted.end() && at->first == key; ++at) out[at->second] = state;
    }
    if (got == step::failed) m.failed();
  }
  return out;
}

void index::put_stamps(const digest128& key, const std::vector<output_stamp>& stamps) {
  const auto lock = impl_->use(false);
  impl_->stamps[key] = encode_stamps(stamps);
  impl_->dirs[key] = std::nullopt;
}

void index::put_dirs(const digest128& key, std::string blob) {
  const auto lock = impl_->use(false);
  if (blob.empty()) {
    impl_->dirs[key] = std::nullopt;
  } else {
    impl_->dirs[key] = std::move(blob);
  }
}

void index::drop_stamps(const digest128& key) {
  const auto lock = impl_->use(false);
  impl_->stamps[key] = std::nullopt;
  impl_->dirs[key] = std::nullopt;
}

std::vector<file_memo> index::file_memos(const std::vector<std::string>& paths) {
  static const key_list list("SELECT path, size, mtime_ns, ctime_ns, ino, oid, seen_ns FROM file_hashes WHERE path", k_paths);
  impl& m = *impl_;
  std::vector<file_memo> out;
  if (paths.empty()) return out;
  const auto lock = m.use();
  const std::int64_t old = wall_ns() - k_day;
  const auto take = [&](statement& s) {
    out.push_back(read_memo(s));
    if (s.integer(6) < old) m.seen_files.push_back(out.back().path);
  };
  // The highest rowid bounds the number of rows from above, without a scan.
  std::size_t rows = 0;
  if (statement s = m.db.use("SELECT coalesce(max(rowid), 0) FROM file_hashes"); s && s.step() == step::row)
    rows = static_cast<std::size_t>(s.integer(0));
  if (rows == 0) return out;
  if (paths.size() > k_paths && paths.size() > rows / 3) {
    const std::unordered_set<std::string_view> wanted(paths.begin(), paths.end());
    statement s = m.db.use("SELECT path, size, mtime_ns, ctime_ns, ino, oid, seen_ns FROM file_hashes");
    step got = s ? s.step() : step::failed;
    for (; got == step::row; got = s.step()) {
      if (wanted.count(s.blob(0)) != 0) take(s);
    }
    if (got == step::failed) m.failed();
    return out;
  }
  for (std::size_t from = 0; from < paths.size(); from += k_paths) {
    statement s = list.look_up(m.db, paths, from, [](const std::string& p) { return std::string_view(p); });
    if (!s) break;
    step got = s.step();
    for (; got == step::row; got = s.step()) take(s);
    if (got == step::failed) m.failed();
  }
  return out;
}

std::size_t index::file_memo_count() {
  const auto lock = impl_->use();
  statement s = impl_->db.use("SELECT count(*) FROM file_hashes");
  return s && s.step() == step::row ? static_cast<std::size_t>(s.integer(0)) : 0;
}

void index::put_file_memos(std::vector<file_memo> rows) {
  const auto lock = impl_->use(false);
  if (impl_->files.empty()) {
    impl_->files = std::move(rows);
  } else {
    impl_->files.insert(impl_->files.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
}

std::vector<std::pair<key::oid, std::uint64_t>> index::blob_sizes(const std::vector<key::oid>& ids) {
  static const key_list list("SELECT oid, size FROM blob_sizes WHERE oid", k_keys);
  std::vector<std::pair<key::oid, std::uint64_t>> out;
  const auto lock = impl_->use();
  for (std::size_t from = 0; from < ids.size(); from += k_keys) {
    statement s = list.look_up(impl_->db, ids, from, [](const key::oid& id) { return id.view(); });
    if (!s) break;
    step got = s.step();
    for (; got == step::row; got = s.step())
      out.emplace_back(key::oid::from_raw(s.blob(0)), static_cast<std::uint64_t>(s.integer(1)));
    if (got == step::failed) impl_->failed();
  }
  return out;
}

void index::put_blob_sizes(const std::vector<std::pair<key::oid, std::uint64_t>>& rows) {
  const auto lock = impl_->use(false);
  impl_->sizes.insert(impl_->sizes.end(), rows.begin(), rows.end());
}

std::optional<std::string> index::verdict(const digest128& digest) {
  const auto lock = impl_->use();
  statement s = impl_->db.use("SELECT paths FROM index_verdicts WHERE digest = ?1");
  if (!s || s.blob(1, digest.view()).step() != step::row) return std::nullopt;
  return std::string(s.blob(0));
}

void index::put_verdict(const digest128& digest, std::string paths) {
  const auto lock = impl_->use(false);
  impl_->verdicts[digest] = std::move(paths);
}

std::vector<index::config_eval> index::config_evals(const std::vector<std::string>& paths) {
  static const key_list list("SELECT path, trace, json, seen_ns FROM config_evals WHERE path", k_paths);
  std::vector<config_eval> out;
  const auto lock = impl_->use();
  const std::int64_t old = wall_ns() - k_day;
  for (std::size_t from = 0; from < paths.size(); from += k_paths) {
    statement s = list.look_up(impl_->db, paths, from, [](const std::string& p) { return std::string_view(p); });
    if (!s) break;
    step got = s.step();
    for (; got == step::row; got = s.step()) {
      out.push_back({std::string(s.blob(0)), std::string(s.blob(1)), std::string(s.blob(2))});
      if (s.integer(3) < old) impl_->seen_evals.push_back(out.back().path);
    }
    if (got == step::failed) impl_->failed();
  }
  return out;
}

void index::put_config_evals(std::vector<config_eval> rows) {
  const auto lock = impl_->use(false);
  for (config_eval& e : rows) {
    std::string path = e.path;
    impl_->evals[std::move(path)] = std::move(e);
  }
}

std::optional<std::string> index::meta(std::string_view name) {
  const auto lock = impl_->use();
  statement s = impl_->db.use("SELECT value FROM meta WHERE name = ?1");
  if (!s || s.text(1, name).step() != step::row) return std::nullopt;
  return std::string(s.blob(0));
}

void index::put_meta(std::string name, std::string value) {
  const auto lock = impl_->use(false);
  impl_->metas[std::move(name)] = std::move(value);
}

}  // namespace vx::cache
