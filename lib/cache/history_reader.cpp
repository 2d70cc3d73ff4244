#include "cache/history_reader.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/path.hpp"
#include "cache/database.hpp"

namespace vx::cache {
namespace {

/// One flaky candidate: a key of one task, in record order.
struct key_story {
  std::uint64_t passes = 0, failures = 0;
  bool flaky = false;  ///< it failed after a pass, or a pass needed another attempt
};

std::string_view run_view(const run_id& id) { return {reinterpret_cast<const char*>(id.data()), id.size()}; }

}  // namespace

struct history_reader::impl {
  database db;  ///< not open: everything is empty, no statement can be prepared
};

history_reader::history_reader(const std::string& root) : impl_(std::make_unique<impl>()) {
  database_request request;
  request.dir = path::join(root, ".vx");
  request.create = false;
  open_database(impl_->db, k_index_database, request);
}
history_reader::~history_reader() = default;

std::optional<std::string> history_reader::policy_of(const run_id& run) {
  statement s = impl_->db.use("SELECT policy FROM invocations WHERE run = ?1");
  if (!s || s.blob(1, run_view(run)).step() != step::row) return std::nullopt;
  return std::string(s.text(0));
}

std::string history_reader::unsaved_inputs(const run_id& run, const digest128& key) {
  // The column is there since the first row that needed it.
  statement s = impl_->db.use("SELECT inputs FROM runs WHERE run = ?1 AND key = ?2 AND inputs IS NOT NULL LIMIT 1");
  if (!s || s.blob(1, run_view(run)).blob(2, key.view()).step() != step::row) return {};
  return std::string(s.blob(0));
}

bool history_reader::has_run(const std::string& project, const std::string& task) {
  statement s = impl_->db.use("SELECT 1 FROM runs WHERE project = ?1 AND task = ?2 ORDER BY id DESC LIMIT 1");
  return s && s.text(1, project).text(2, task).step() == step::row;
}

std::vector<std::pair<std::string, std::string>> history_reader::recorded_tasks(std::size_t invocations) {
  statement s = impl_->db.use(
      "SELECT project, task FROM runs WHERE id >= (SELECT min(id) FROM runs WHERE run IN "
      "(SELECT run FROM invocations ORDER BY started_ns DESC LIMIT ?1))");
  if (!s) return {};
  s.integer(1, static_cast<std::int64_t>(invocations));
  std::unordered_set<std::string> seen;
  std::vector<std::pair<std::string, std::string>> out;
  std::string id;
  while (s.step() == step::row) {
    id.assign(s.text(0)).push_back('\0');
    id += s.text(1);
    if (seen.insert(id).second) out.emplace_back(s.text(0), s.text(1));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> history_reader::fixed_in(const run_row& failed) {
  statement s = impl_->db.use(
      "SELECT run FROM runs WHERE id > ?1 AND project = ?2 AND task = ?3 AND status IN ('success', 'cache-hit', "
      "'cache-hit-remote') "
      "ORDER BY id LIMIT 1");
  if (!s || s.integer(1, failed.id).text(2, failed.project).text(3, failed.task).step() != step::row) return std::nullopt;
  run_id id{};
  if (s.blob(0).size() == id.size()) std::memcpy(id.data(), s.blob(0).data(), id.size());
  return format_run_id(id);
}

run_counts history_reader::counts_since(std::int64_t from_ns) {
  run_counts out;
  statement s = impl_->db.use(
      "SELECT coalesce(sum(task_count), 0), coalesce(sum(hit_count), 0), coalesce(sum(restored_local + restored_remote), 0) "
      "FROM invocations WHERE started_ns >= ?1");
  if (!s || s.integer(1, from_ns).step() != step::row) return out;
  out.tasks = static_cast<std::uint64_t>(s.integer(0));
  out.hits = static_cast<std::uint64_t>(s.integer(1));
  out.restored = static_cast<std::uint64_t>(s.integer(2));
  return out;
}

std::vector<std::pair<digest128, std::uint64_t>> history_reader::hit_keys_since(std::int64_t from_ns) {
  statement s = impl_->db.use(
      "SELECT r.key FROM invocations i JOIN runs r ON r.run = i.run "
      "WHERE i.started_ns >= ?1 AND i.hit_count > 0 AND r.status IN ('cache-hit', 'cache-hit-remote') AND r.key IS NOT NULL");
  if (!s) return {};
  s.integer(1, from_ns);
  std::unordered_map<digest128, std::uint64_t, digest128_hash> counts;  // SQLite would sort what is only to be counted
  while (s.step() == step::row) {
    digest128 key;
    if (s.blob(0).size() == 16) std::memcpy(key.raw.data(), s.blob(0).data(), 16);
    ++counts[key];
  }
  std::vector<std::pair<digest128, std::uint64_t>> out(counts.begin(), counts.end());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<flaky_task> history_reader::flaky_tasks(std::int64_t from_ns) {
  // A run that executed nothing has nothing to say; with warm runs that is most of them.
  statement s = impl_->db.use(
      "SELECT r.key, r.project, r.task, r.status, r.attempts FROM invocations i JOIN runs r ON r.run = i.run "
      "WHERE i.started_ns >= ?1 AND i.task_count > i.hit_count AND r.status IN ('success', 'failed') AND r.key IS NOT NULL "
      "ORDER BY r.id");
  if (!s) return {};
  s.integer(1, from_ns);
  std::map<std::tuple<std::string, std::string, std::string>, key_story> stories;
  while (s.step() == step::row) {
    key_story& story = stories[{std::string(s.text(1)), std::string(s.text(2)), std::string(s.blob(0))}];
    const bool passed = s.text(3) == "success";
    const auto attempts = static_cast<std::uint64_t>(std::max<std::int64_t>(s.integer(4), 1));
    if (passed) {
      ++story.passes;
      story.failures += attempts - 1;
      story.flaky = story.flaky || attempts > 1;
    } else {
      ++story.failures;
      story.flaky = story.flaky || story.passes > 0;
    }
  }
  std::vector<flaky_task> out;
  for (const auto& [where, story] : stories) {
    if (!story.flaky) continue;
    const auto& [project, task, key] = where;
    if (out.empty() || out.back().project != project || out.back().task != task) out.push_back({project, task, 0, 0, 0});
    ++out.back().keys;
    out.back().passes += story.passes;
    out.back().failures += story.failures;
  }
  return out;
}

}  // namespace vx::cache
