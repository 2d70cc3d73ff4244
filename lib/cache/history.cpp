// Runs and their tasks (cache.md 15). Readers take the newest N invocations and filter inside: the runs table has no index by
// task.
#include <algorithm>
#include <charconv>

#include "cache/index_impl.hpp"

namespace vx::cache {
namespace {

constexpr std::int64_t k_day = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::size_t k_duration_rows = 20'000;  ///< samples are plenty long before

std::string_view run_view(const run_id& id) { return {reinterpret_cast<const char*>(id.data()), id.size()}; }

void text_opt(statement& s, int at, const std::optional<std::string>& v) { v ? s.text(at, *v) : s.null(at); }
void int_opt(statement& s, int at, const std::optional<std::int64_t>& v) { v ? s.integer(at, *v) : s.null(at); }

bool insert_invocation(database& db, const invocation_row& v) {
  statement s = db.use(
      "INSERT OR REPLACE INTO invocations (run, command, requested, policy, concurrency, flow, started_ns, ended_ns, "
      "duration_ns, task_count, "
      "failed_count, hit_count, hit_local, hit_remote, up_to_date, restored_local, restored_remote, exit_ok, commit_sha, "
      "branch, dirty, ci, "
      "ci_provider, host, os, arch, vx_version, tags) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
      "?15, ?16, ?17, ?18, "
      "?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)");
  if (!s) return false;
  s.blob(1, run_view(v.run))
      .text(2, v.command)
      .text(3, v.requested)
      .text(4, v.policy)
      .integer(5, v.concurrency)
      .text_or_null(6, v.flow);
  s.integer(7, v.started_ns)
      .integer(8, v.ended_ns)
      .integer(9, v.duration_ns)
      .integer(10, v.task_count)
      .integer(11, v.failed_count);
  s.integer(12, v.hit_count)
      .integer(13, v.hit_local)
      .integer(14, v.hit_remote)
      .integer(15, v.up_to_date)
      .integer(16, v.restored_local);
  s.integer(17, v.restored_remote).integer(18, v.exit_ok ? 1 : 0);
  text_opt(s, 19, v.commit_sha);
  text_opt(s, 20, v.branch);
  v.dirty ? s.integer(21, *v.dirty ? 1 : 0) : s.null(21);
  s.integer(22, v.ci ? 1 : 0);
  text_opt(s, 23, v.ci_provider);
  text_opt(s, 24, v.host);
  s.text(25, v.os).text(26, v.arch).text(27, v.vx_version).text(28, v.tags);
  return s.run();
}

constexpr std::size_t k_run_columns = 22, k_rows_at_once = 32;

/// A column the table gains when first needed. Its rows are those of results that were not saved: everything else stays as
/// narrow as it was.
constexpr const char* k_add_inputs = "ALTER TABLE runs ADD COLUMN inputs BLOB";

/// One row's places, from `base + 1` on.
void bind_run(statement& s, int base, const run_id& run, const run_row& r) {
  s.blob(base + 1, run_view(run));
  r.key ? s.blob(base + 2, r.key->view()) : s.null(base + 2);
  s.text(base + 3, r.project)
      .text(base + 4, r.task)
      .text(base + 5, r.status)
      .integer(base + 6, r.exit_code)
      .integer(base + 7, r.duration_ns);
  int_opt(s, base + 8, r.cpu_ns);
  int_opt(s, base + 9, r.rss_bytes);
  s.integer(base + 10, r.started_ns).integer(base + 11, r.ended_ns);
  int_opt(s, base + 12, r.mono_start_ns);
  int_opt(s, base + 13, r.mono_end_ns);
  s.integer(base + 14, r.attempts).integer(base + 15, r.cached ? 1 : 0);
  r.restored ? s.integer(base + 16, *r.restored ? 1 : 0) : s.null(base + 16);
  s.integer(base + 17, r.saved ? 1 : 0).text_or_null(base + 18, r.withheld).text_or_null(base + 19, r.blocked_by);
  s.integer(base + 20, r.timed_out ? 1 : 0).text_or_null(base + 21, r.not_ready);
  r.forward.empty() ? s.null(base + 22) : s.blob(base + 22, r.forward);
}

/// An INSERT of `rows` rows at once: entering a statement costs as much as a row.
std::string insert_sql(std::size_t rows, bool inputs) {
  std::string sql =
      "INSERT OR FAIL INTO runs (run, key, project, task, status, exit_code, duration_ns, cpu_ns, rss_bytes, started_ns, "
      "ended_ns, mono_start_ns, "
      "mono_end_ns, attempts, cached, restored, saved, withheld, blocked_by, timed_out, not_ready, forward";
  sql += inputs ? ", inputs) VALUES " : ") VALUES ";
  for (std::size_t i = 0; i < rows; ++i) {
    sql += i == 0 ? "(?" : ",(?";
    for (std::size_t c = 1; c < k_run_columns + (inputs ? 1 : 0); ++c) sql += ",?";
    sql += ')';
  }
  return sql;
}

bool insert_with_inputs(database& db, const run_id& run, const run_row& row) {
  static const std::string sql = insert_sql(1, true);
  if (!db.use(sql.c_str()) && !db.exec(k_add_inputs)) return false;
  statement s = db.use(sql.c_str());
  if (!s) return false;
  bind_run(s, 0, run, row);
  return s.blob(k_run_columns + 1, row.inputs).run();
}

bool insert_runs(database& db, const run_id& run, const std::vector<run_row>& rows) {
  static const std::string many = insert_sql(k_rows_at_once, false), one = insert_sql(1, false);
  for (std::size_t from = 0; from < rows.size();) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(k_rows_at_once, rows.size() - from));
    const auto wide = std::find_if(first, last, [](const run_row& r) { return !r.inputs.empty(); });
    if (wide == first) {
      if (!insert_with_inputs(db, run, *first)) return false;
      ++from;
      continue;
    }
    const std::size_t n = wide - first == static_cast<std::ptrdiff_t>(k_rows_at_once) ? k_rows_at_once : 1;
    statement s = db.use(n == 1 ? one.c_str() : many.c_str());
    if (!s) return false;
    for (std::size_t i = 0; i < n; ++i) bind_run(s, static_cast<int>(i * k_run_columns), run, rows[from + i]);
    if (!s.run()) return false;
    from += n;
  }
  return true;
}

/// Without the table's CHECKs and its foreign key: for each row SQLite would build the list of status words as a table of its
/// own, look the invocation up, and keep what it needs to take a failed statement back, which costs several times the insert. A
/// run_row holds a key of 16 bytes or none, its status is one of the words, its invocation is in the same transaction, and a
/// failed statement ends that. Outside of transactions only.
class unchecked_inserts {
 public:
  explicit unchecked_inserts(database& db) : db_(db) {
    db_.exec("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF");
  }
  ~unchecked_inserts() { db_.exec("PRAGMA ignore_check_constraints=OFF; PRAGMA foreign_keys=ON"); }
  unchecked_inserts(const unchecked_inserts&) = delete;
  unchecked_inserts& operator=(const unchecked_inserts&) = delete;

 private:
  database& db_;
};

#define VX_CACHE_INVOCATION_COLUMNS                                                                                           \
  "run, command, requested, policy, concurrency, flow, started_ns, ended_ns, duration_ns, task_count, failed_count, "         \
  "hit_count, "                                                                                                               \
  "hit_local, hit_remote, up_to_date, restored_local, restored_remote, exit_ok, commit_sha, branch, dirty, ci, ci_provider, " \
  "host, "                                                                                                                    \
  "os, arch, vx_version, tags"
#define VX_CACHE_RUN_COLUMNS                                                                                              \
  "id, run, key, project, task, status, exit_code, duration_ns, cpu_ns, rss_bytes, started_ns, ended_ns, mono_start_ns, " \
  "mono_end_ns, attempts, cached, restored, saved, withheld, blocked_by, timed_out, not_ready, forward"

void read_run_id(const statement& s, int column, run_id& out) {
  const std::string_view raw = s.blob(column);
  if (raw.size() == out.size()) std::memcpy(out.data(), raw.data(), out.size());
}
std::optional<std::string> text_at(const statement& s, int c) {
  return s.is_null(c) ? std::nullopt : std::optional<std::string>(s.text(c));
}
std::optional<std::int64_t> int_at(const statement& s, int c) {
  return s.is_null(c) ? std::nullopt : std::optional<std::int64_t>(s.integer(c));
}

invocation_row read_invocation(const statement& s) {
  invocation_row v;
  read_run_id(s, 0, v.run);
  v.command = s.text(1);
  v.requested = s.text(2);
  v.policy = s.text(3);
  v.concurrency = s.integer(4);
  v.flow = s.text(5);
  v.started_ns = s.integer(6);
  v.ended_ns = s.integer(7);
  v.duration_ns = s.integer(8);
  v.task_count = s.integer(9);
  v.failed_count = s.integer(10);
  v.hit_count = s.integer(11);
  v.hit_local = s.integer(12);
  v.hit_remote = s.integer(13);
  v.up_to_date = s.integer(14);
  v.restored_local = s.integer(15);
  v.restored_remote = s.integer(16);
  v.exit_ok = s.integer(17) != 0;
  v.commit_sha = text_at(s, 18);
  v.branch = text_at(s, 19);
  if (!s.is_null(20)) v.dirty = s.integer(20) != 0;
  v.ci = s.integer(21) != 0;
  v.ci_provider = text_at(s, 22);
  v.host = text_at(s, 23);
  v.os = s.text(24);
  v.arch = s.text(25);
  v.vx_version = s.text(26);
  v.tags = s.text(27);
  return v;
}

run_row read_run(const statement& s) {
  run_row r;
  r.id = s.integer(0);
  read_run_id(s, 1, r.run);
  if (s.blob(2).size() == 16) std::memcpy(r.key.emplace().raw.data(), s.blob(2).data(), 16);
  r.project = s.text(3);
  r.task = s.text(4);
  r.status = s.text(5);
  r.exit_code = s.integer(6);
  r.duration_ns = s.integer(7);
  r.cpu_ns = int_at(s, 8);
  r.rss_bytes = int_at(s, 9);
  r.started_ns = s.integer(10);
  r.ended_ns = s.integer(11);
  r.mono_start_ns = int_at(s, 12);
  r.mono_end_ns = int_at(s, 13);
  r.attempts = s.integer(14);
  r.cached = s.integer(15) != 0;
  if (!s.is_null(16)) r.restored = s.integer(16) != 0;
  r.saved = s.integer(17) != 0;
  r.withheld = s.text(18);
  r.blocked_by = s.text(19);
  r.timed_out = s.integer(20) != 0;
  r.not_ready = s.text(21);
  r.forward = s.blob(22);
  return r;
}

/// The first id of the rows of the newest `n` invocations; nullopt: no history.
std::optional<std::int64_t> first_id_of_newest(database& db, std::size_t n) {
  std::vector<run_id> runs;
  {
    statement s = db.use("SELECT run FROM invocations ORDER BY started_ns DESC LIMIT ?1");
    if (!s) return std::nullopt;
    s.integer(1, static_cast<std::int64_t>(n));
    while (s.step() == step::row) read_run_id(s, 0, runs.emplace_back());
  }
  std::optional<std::int64_t> first;
  for (const run_id& run : runs) {
    statement s = db.use("SELECT id FROM runs WHERE run = ?1 ORDER BY id LIMIT 1");
    if (s && s.blob(1, run_view(run)).step() == step::row && (!first || s.integer(0) < *first)) first = s.integer(0);
  }
  return first;
}

std::int64_t median(std::vector<std::int64_t>& v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The lowest and the highest id with this prefix. False: no id can have it.
bool prefix_range(std::string_view prefix, run_id& low, run_id& high) {
  low.fill(std::byte{0});
  high.fill(std::byte{0xff});
  std::size_t nibble = 0;
  for (const char c : prefix) {
    if (c == '-') continue;
    const int v = hex_digit(c);
    if (v < 0 || nibble >= 32) return false;
    const std::size_t at = nibble / 2;
    const int shift = nibble % 2 == 0 ? 4 : 0;
    const auto keep = std::byte{static_cast<unsigned char>(shift == 4 ? 0x0f : 0xf0)};
    low[at] = (low[at] & keep) | std::byte{static_cast<unsigned char>(v << shift)};
    high[at] = (high[at] & keep) | std::byte{static_cast<unsigned char>(v << shift)};
    ++nibble;
  }
  return nibble > 0;
}

}  // namespace

status index::record(const invocation_row& inv, const std::vector<run_row>& rows) {
  impl& m = *impl_;
  const auto lock = m.use(false);
  if (!m.writable) {
    m.clear_queue();
    return {};  // said when it was opened
  }
  const std::int64_t now = wall_ns();
  const status landed = m.write_run(inv, rows, now);
  m.clear_queue();
  if (landed && !m.sweep(now)) m.failed();
  return landed;
}

status index::impl::write_run(const invocation_row& inv, const std::vector<run_row>& rows, std::int64_t now) {
  const unchecked_inserts quick(db);
  transaction t(db);
  if (t && write_queue(now) && insert_invocation(db, inv) && insert_runs(db, inv.run, rows) && t.commit()) return {};
  failed();
  if (db.is_full()) return fail(errc::IO, "history: no space left in " + dir);
  return fail(errc::IO, "history: " + dir + "/index-1.db: " + db.error_text());
}

/// Once a day: what was not seen for 30 days goes.
bool index::impl::sweep(std::int64_t now) {
  std::int64_t swept = 0;
  {
    statement s = db.use("SELECT value FROM meta WHERE name = 'swept_ns'");
    if (s && s.step() == step::row) {
      const std::string_view v = s.text(0);
      std::from_chars(v.data(), v.data() + v.size(), swept);
    }
  }
  if (swept <= now && swept > now - k_day) return true;
  const std::int64_t old = now - 30 * k_day;
  transaction t(db);
  if (!t) return false;
  for (const char* sql :
       {"DELETE FROM output_stamps WHERE seen_ns < ?1", "DELETE FROM output_dirs WHERE seen_ns < ?1",
        "DELETE FROM file_hashes WHERE seen_ns < ?1", "DELETE FROM blob_sizes WHERE seen_ns < ?1",
        "DELETE FROM index_verdicts WHERE seen_ns < ?1", "DELETE FROM config_evals WHERE seen_ns < ?1",
        "DELETE FROM lockfile_closures WHERE seen_ns < ?1", "DELETE FROM invocations WHERE started_ns < ?1"}) {
    if (!db.use(sql).integer(1, old).run()) return false;
  }
  const std::string text = std::to_string(now);
  return db.use("INSERT OR REPLACE INTO meta (name, value) VALUES ('swept_ns', ?1)").text(1, text).run() && t.commit();
}

std::vector<duration_stat> index::recent_durations(std::size_t invocations) {
  impl& m = *impl_;
  const auto lock = m.use();
  std::vector<run_id> runs;
  {
    // A run that executed nothing has nothing to say; with warm runs that is most of them.
    statement s = m.db.use(
        "SELECT run FROM (SELECT run, started_ns, task_count, hit_count FROM invocations ORDER BY started_ns DESC LIMIT ?1) "
        "WHERE task_count > hit_count ORDER BY started_ns DESC");
    if (!s) return {};
    s.integer(1, static_cast<std::int64_t>(invocations));
    while (s.step() == step::row) read_run_id(s, 0, runs.emplace_back());
  }
  std::unordered_map<std::string, std::vector<std::int64_t>> samples;
  std::size_t rows = 0;
  std::string id;
  for (const run_id& run : runs) {
    statement s = m.db.use("SELECT project, task, duration_ns FROM runs WHERE run = ?1 AND status = 'success'");
    if (!s) break;
    s.blob(1, run_view(run));
    while (s.step() == step::row) {
      id = s.text(0);
      id += '#';
      id += s.text(1);
      samples[id].push_back(s.integer(2));
      ++rows;
    }
    if (rows >= k_duration_rows) break;
  }
  std::vector<duration_stat> out;
  out.reserve(samples.size());
  for (auto& [task, values] : samples) out.push_back({task, median(values)});
  std::sort(out.begin(), out.end(), [](const duration_stat& a, const duration_stat& b) { return a.id < b.id; });
  return out;
}

std::vector<invocation_row> index::invocations(std::size_t newest, bool failed_only) {
  impl& m = *impl_;
  const auto lock = m.use();
  std::vector<invocation_row> out;
  statement s = m.db.use("SELECT " VX_CACHE_INVOCATION_COLUMNS
                         " FROM invocations WHERE exit_ok = 0 OR ?2 = 0 ORDER BY started_ns DESC LIMIT ?1");
  if (!s) return out;
  s.integer(1, static_cast<std::int64_t>(newest)).integer(2, failed_only ? 1 : 0);
  while (s.step() == step::row) out.push_back(read_invocation(s));
  return out;
}

std::vector<std::string> index::find_runs(std::string_view id_prefix) {
  run_id low{}, high{};
  std::vector<std::string> out;
  if (!prefix_range(id_prefix, low, high)) return out;
  impl& m = *impl_;
  const auto lock = m.use();
  statement s = m.db.use("SELECT run FROM invocations WHERE run BETWEEN ?1 AND ?2 ORDER BY run");
  if (!s) return out;
  s.blob(1, run_view(low)).blob(2, run_view(high));
  while (s.step() == step::row) {
    run_id id{};
    read_run_id(s, 0, id);
    out.push_back(format_run_id(id));
  }
  return out;
}

std::vector<run_row> index::runs_of(const run_id& run) {
  impl& m = *impl_;
  const auto lock = m.use();
  std::vector<run_row> out;
  statement s = m.db.use("SELECT " VX_CACHE_RUN_COLUMNS " FROM runs WHERE run = ?1 ORDER BY id");
  if (!s) return out;
  s.blob(1, run_view(run));
  while (s.step() == step::row) out.push_back(read_run(s));
  return out;
}

std::vector<run_row> index::recent_runs_of(const std::string& project, const std::string& task, std::size_t invocations) {
  impl& m = *impl_;
  const auto lock = m.use();
  std::vector<run_row> out;
  const auto first = first_id_of_newest(m.db, invocations);
  if (!first) return out;
  statement s =
      m.db.use("SELECT " VX_CACHE_RUN_COLUMNS " FROM runs WHERE id >= ?1 AND project = ?2 AND task = ?3 ORDER BY id DESC");
  if (!s) return out;
  s.integer(1, *first).text(2, project).text(3, task);
  while (s.step() == step::row) out.push_back(read_run(s));
  return out;
}

bool index::key_failed_before(const digest128& key) {
  impl& m = *impl_;
  const auto lock = m.use();
  statement s = m.db.use("SELECT 1 FROM runs WHERE key = ?1 AND status = 'failed' LIMIT 1");
  return s && s.blob(1, key.view()).step() == step::row;
}

}  // namespace vx::cache
