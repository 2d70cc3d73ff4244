#include "run/last.hpp"

#include <algorithm>
#include <utility>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "run/locations.hpp"
#include "run/recorded_names.hpp"
#include "run/store_access.hpp"
#include "run/why_verdict.hpp"

namespace vx::run {
namespace {

constexpr std::size_t k_failures_max = std::size_t{64} << 20;
constexpr std::size_t k_short_id = 13;
constexpr std::size_t k_all = std::size_t{1} << 30;

template <class T>
json::value or_null(const std::optional<T>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}
json::value text_or_null(const std::string& v) { return v.empty() ? json::value(nullptr) : json::value(v); }

/// Milliseconds with three decimals at the most.
json::value ms(std::int64_t ns) {
  const std::int64_t micros = (ns < 0 ? 0 : ns + 500) / 1000;
  return micros % 1000 == 0 ? json::value(micros / 1000) : json::value(static_cast<double>(micros) / 1000.0);
}

json::value parsed_or(const std::string& text, json::value otherwise) {
  auto parsed = json::parse(text);
  return parsed && parsed->type() == otherwise.type() ? std::move(*parsed) : std::move(otherwise);
}

json::value invocation_object(const cache::invocation_row& v) {
  json::object o;
  o.add("runId", format_run_id(v.run));
  o.add("command", v.command);
  o.add("requestedTasks", parsed_or(v.requested, json::array{}));
  o.add("cachePolicy", v.policy);
  o.add("concurrency", v.concurrency);
  o.add("flow", text_or_null(v.flow));
  o.add("startedAt", v.started_ns / 1'000'000);
  o.add("endedAt", v.ended_ns / 1'000'000);
  o.add("totalDurationMs", ms(v.duration_ns));
  o.add("taskCount", v.task_count);
  o.add("failedCount", v.failed_count);
  o.add("hitCount", v.hit_count);
  o.add("hitLocalCount", v.hit_local);
  o.add("hitRemoteCount", v.hit_remote);
  o.add("upToDateCount", v.up_to_date);
  o.add("restoredLocalCount", v.restored_local);
  o.add("restoredRemoteCount", v.restored_remote);
  o.add("exitOk", v.exit_ok);
  o.add("commitSha", or_null(v.commit_sha));
  o.add("branch", or_null(v.branch));
  o.add("dirty", or_null(v.dirty));
  o.add("ci", v.ci);
  o.add("ciProvider", or_null(v.ci_provider));
  o.add("host", or_null(v.host));
  o.add("os", text_or_null(v.os));
  o.add("arch", text_or_null(v.arch));
  o.add("vxVersion", v.vx_version);
  o.add("tags", parsed_or(v.tags, json::object{}));
  return json::value(std::move(o));
}

/// The outputs a failed run kept, by task id (cache.md 2.3).
class kept_failures {
 public:
  kept_failures(const std::string& root, const std::string& run) {
    const auto raw = fs::read_file_at(fs::k_cwd, root + "/.vx/failures/" + run + ".json", k_failures_max);
    if (!raw) return;
    auto parsed = json::parse(*raw);
    if (parsed) doc_ = std::move(*parsed);
  }
  const std::string* output_of(const std::string& id) const {
    const json::value* tasks = doc_.get("tasks");
    const json::value* one = tasks == nullptr ? nullptr : tasks->get(text::escape(id));
    const json::value* output = one == nullptr ? nullptr : one->get("output");
    return output != nullptr && output->is_string() ? &output->as_string() : nullptr;
  }
  /// The project's directory when the run knew it.
  std::string dir_of(const std::string& id) const {
    const json::value* tasks = doc_.get("tasks");
    const json::value* one = tasks == nullptr ? nullptr : tasks->get(text::escape(id));
    const json::value* dir = one == nullptr ? nullptr : one->get("dir");
    return dir != nullptr && dir->is_string() ? dir->as_string() : std::string();
  }

 private:
  json::value doc_;
};

void add_failure(json::object& o, recorded& r, const cache::run_row& row, const kept_failures& kept) {
  const std::string id = row.project + "#" + row.task;
  const std::string* output = kept.output_of(id);
  o.add("output", output == nullptr ? std::string() : *output);
  json::array places;
  if (output != nullptr) {
    for (const location& l : find_locations(*output, resolve_below(r.h->root, kept.dir_of(id)))) {
      json::object one;
      one.add("file", l.file);
      if (l.line) one.add("line", *l.line);
      if (l.column) one.add("col", *l.column);
      places.emplace_back(std::move(one));
    }
  }
  o.add("locations", std::move(places));
  if (auto fixed = r.history->fixed_in(row)) o.add("fixedIn", std::move(*fixed));
}

json::value task_object(recorded& r, const cache::run_row& row, const kept_failures& kept) {
  const auto number_text = [](const std::optional<std::int64_t>& v) {
    return v ? json::value(std::to_string(*v)) : json::value(nullptr);
  };
  json::object o;
  o.add("runId", format_run_id(row.run));
  o.add("project", row.project);
  o.add("task", row.task);
  o.add("status", row.status);
  o.add("exitCode", row.exit_code);
  o.add("durationMs", ms(row.duration_ns));
  o.add("startedAt", row.started_ns / 1'000'000);
  o.add("endedAt", row.ended_ns / 1'000'000);
  o.add("cacheHit", row.cached && row.status != "skipped" ? json::value(row_hit(row)) : json::value(nullptr));
  o.add("restored", or_null(row.restored));
  o.add("cached", row.cached);
  o.add("hash", row.key ? json::value(row.key->hex()) : json::value(nullptr));
  o.add("cpuMs", row.cpu_ns ? ms(*row.cpu_ns) : json::value(nullptr));
  o.add("peakRssBytes", or_null(row.rss_bytes));
  o.add("wallclockStartNs", number_text(row.mono_start_ns));
  o.add("wallclockEndNs", number_text(row.mono_end_ns));
  o.add("blockedBy", text_or_null(row.blocked_by));
  o.add("timedOut", row.timed_out ? json::value(true) : json::value(nullptr));
  o.add("sandboxViolations", nullptr);
  o.add("notReady", text_or_null(row.not_ready));
  o.add("forwarded", !row.forward.empty());
  if (row.status == "failed") add_failure(o, r, row, kept);
  return json::value(std::move(o));
}

/// Ids of one millisecond share 13 digits; then as many as it takes.
std::string short_id(cache::index& index, const std::string& id) {
  std::size_t n = k_short_id;
  while (n < id.size() && (id[n - 1] == '-' || index.find_runs(id.substr(0, n)).size() > 1)) ++n;
  return id.substr(0, n);
}

json::value wrap(const recorded& r, const char* kind, json::value result, std::optional<json::array> short_ids = std::nullopt) {
  json::object doc;
  doc.add("kind", kind);
  doc.add("result", std::move(result));
  if (short_ids) doc.add("shortIds", std::move(*short_ids));
  json::array notices;
  for (const std::string& line : r.notices) notices.emplace_back(line);
  doc.add("notices", std::move(notices));
  return json::value(std::move(doc));
}

tl::unexpected<failure> no_runs(bool failed) {
  return fail(errc::NO_HISTORY, failed ? "no failed run is recorded in this workspace"
                                       : "no run is recorded in this workspace: `vx run` records one");
}

json::value list(recorded& r, const last_request& request) {
  json::array rows, ids;
  for (const cache::invocation_row& v : r.index->invocations(static_cast<std::size_t>(*request.list), request.failed)) {
    rows.push_back(invocation_object(v));
    ids.emplace_back(short_id(*r.index, format_run_id(v.run)));
  }
  return wrap(r, "list", std::move(rows), std::move(ids));
}

result<json::value> one_run(recorded& r, const last_request& request) {
  std::optional<cache::invocation_row> inv;
  if (request.run) {
    VX_TRY_LET(const run_id id, find_run(*r.index, *request.run));
    for (cache::invocation_row& v : r.index->invocations(k_all))
      if (v.run == id) inv = std::move(v);
  } else {
    std::vector<cache::invocation_row> newest = r.index->invocations(1, request.failed);
    if (!newest.empty()) inv = std::move(newest.front());
  }
  if (!inv) return no_runs(request.failed);
  const kept_failures kept(r.h->root, format_run_id(inv->run));
  json::array tasks;
  for (const cache::run_row& row : r.index->runs_of(inv->run)) tasks.push_back(task_object(r, row, kept));
  json::object o;
  o.add("invocation", invocation_object(*inv));
  o.add("tasks", std::move(tasks));
  return wrap(r, "run", std::move(o));
}

/// The row that `--log` means: of the given run, else of the newest run that had the task.
result<cache::run_row> log_row(recorded& r, const last_request& request) {
  const std::vector<std::string> around = names_around(*r.h);
  if (!request.run) {
    VX_TRY_LET(const recorded_task task, find_recorded(*r.history, *request.log, around));
    for (const std::size_t window : {std::size_t{50}, k_all})
      for (cache::run_row& row : r.index->recent_runs_of(task.first, task.second, window)) return std::move(row);
    return no_runs(false);
  }
  VX_TRY_LET(const run_id id, find_run(*r.index, *request.run));
  std::vector<cache::run_row> rows = r.index->runs_of(id);
  std::vector<recorded_task> tasks;
  for (const cache::run_row& row : rows) tasks.emplace_back(row.project, row.task);
  std::sort(tasks.begin(), tasks.end());
  result<recorded_task> task = find_recorded(tasks, *request.log, around);
  if (!task && task.error().code == errc::NO_HISTORY)
    return fail(errc::NO_HISTORY,
                text::escape(*request.log, true) + " was not part of run " + format_run_id(id) + ": see `vx last --list`");
  if (!task) return fail(std::move(task).error());
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const cache::run_row& row) { return row.project == task->first && row.task == task->second; });
}

std::optional<std::string> entry_log(recorded& r, const cache::run_row& row) {
  if (!row.key || row.status == "skipped" || !row_kept(row)) return std::nullopt;
  const auto found = r.store->lookup_many({*row.key}, false);
  if (!found[0]) return std::nullopt;
  const result<std::string> raw = r.store->read_log(found[0]->entry);
  if (!raw) return std::nullopt;
  const auto records = cache::decode_log(*raw);
  if (!records) return std::nullopt;
  std::string out;
  for (const cache::log_record& one : *records)
    out += one.stream == 0 ? "\n[vx] " + text::format_bytes(one.dropped) + " of output were not kept\n" : one.bytes;
  return out;
}

result<json::value> log(recorded& r, const last_request& request) {
  VX_TRY_LET(const cache::run_row row, log_row(r, request));
  const std::string run = format_run_id(row.run), id = row.project + "#" + row.task;
  json::object o;
  o.add("runId", run);
  o.add("taskId", id);
  o.add("status", row.status);
  const kept_failures kept(r.h->root, run);
  const std::string* failure_output = row.status == "failed" ? kept.output_of(id) : nullptr;
  const std::optional<std::string> stored =
      failure_output == nullptr && row.status != "failed" ? entry_log(r, row) : std::nullopt;
  o.add("source", failure_output != nullptr ? json::value("failure") : stored ? json::value("cache") : json::value(nullptr));
  o.add("output", failure_output != nullptr ? *failure_output : stored.value_or(std::string()));
  return wrap(r, "log", std::move(o));
}

}  // namespace

result<json::value> last(std::shared_ptr<const host> h, const last_request& request, const cancel_token* cancel) {
  if (request.list && (request.run || request.log)) return fail(errc::USAGE, "a list can't go with a run id or a task's log");
  if (request.failed && (request.run || request.log)) return fail(errc::USAGE, "failed can't go with a run id or a task's log");
  VX_TRY_LET(const std::unique_ptr<recorded> r, open_recorded(std::move(h), {request.cache_dir, false}, cancel));
  if (request.log) return log(*r, request);
  if (request.list) return list(*r, request);
  return one_run(*r, request);
}

}  // namespace vx::run
