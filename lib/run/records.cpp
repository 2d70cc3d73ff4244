#include "run/records.hpp"

#include <set>

#include "run/json_line.hpp"

namespace vx::run {
namespace {

json_line header(const run_state& s, std::string_view kind) {
  json_line line;
  line.number("v", 1).text("kind", kind).text("runId", format_run_id(s.id)).number("ts", wall_ns() / 1'000'000);
  return line;
}

void task_names(json_line& line, const run_state& s, std::uint32_t node) {
  const graph::task_node& n = s.p.graph.nodes[node];
  line.text("taskId", n.id).text("project", s.p.tasks[node].project->name).text("task", s.p.tasks[node].config->name);
}

std::string_view source_word(const task_outcome& o) {
  switch (o.status) {
    case task_status::success:
    case task_status::failed: return "miss";
    case task_status::cache_hit: return "local";
    case task_status::cache_hit_remote: return "remote";
    default: return "none";
  }
}

void failed_attempts(json_line& line, const task_outcome& o) {
  if (o.failed_attempts.empty()) return;
  json_list list;
  for (const failed_attempt& a : o.failed_attempts) {
    json_line one;
    one.number("endedAt", a.ended_ns / 1'000'000).number("exitCode", a.exit_code);
    if (a.timed_out) one.boolean("timedOut", true);
    list.raw(one.finish());
  }
  line.raw("failedAttempts", list.finish());
}

// The optional members that records and summary rows share.
void measured(json_line& line, const task_outcome& o) {
  if (o.restored) line.boolean("restored", *o.restored);
  if (o.no_cache) line.boolean("noCache", true);
  if (o.cpu_ns) line.ms("cpuMs", *o.cpu_ns);
  if (o.rss_bytes) line.number("peakRssBytes", *o.rss_bytes);
  if (o.stored) {
    line.ms("storedDurationMs", o.stored->duration_ns);
    if (o.stored->cpu_ns) line.ms("storedCpuMs", *o.stored->cpu_ns);
    if (o.stored->rss_bytes) line.number("storedPeakRssBytes", *o.stored->rss_bytes);
  }
  if (!o.blocked_by.empty()) line.text("blockedBy", o.blocked_by);
  if (o.timed_out) line.boolean("timedOut", true);
  if (!o.not_ready.empty()) line.text("notReady", o.not_ready);
}

void span(json_line& line, const task_outcome& o) {
  if (o.mono_start_ns) line.text("wallclockStartNs", std::to_string(*o.mono_start_ns));
  if (o.mono_end_ns) line.text("wallclockEndNs", std::to_string(*o.mono_end_ns));
}

std::string task_result(const run_state& s, std::uint32_t node, json_line line) {
  const task_outcome& o = s.outcomes[node];
  task_names(line, s, node);
  line.text("status", status_word(o.status))
      .text("cacheSource", source_word(o))
      .number("exitCode", o.exit_code)
      .ms("durationMs", o.duration_ns);
  if (s.p.is_group(node)) line.boolean("isGroup", true);
  if (o.key) line.text("hash", o.key->hex());
  measured(line, o);
  if (o.attempts > 1) line.number("attempts", o.attempts);
  failed_attempts(line, o);
  if (o.replayed_log) line.boolean("log", true);
  span(line, o);
  return line.finish();
}

std::string summary_row(const run_state& s, std::uint32_t node) {
  const task_outcome& o = s.outcomes[node];
  json_line row;
  row.text("id", s.p.graph.nodes[node].id)
      .text("project", s.p.tasks[node].project->name)
      .text("task", s.p.tasks[node].config->name);
  row.text("status", status_word(o.status)).number("exitCode", o.exit_code).ms("durationMs", o.duration_ns);
  if (o.key)
    row.text("hash", o.key->hex());
  else
    row.null("hash");
  measured(row, o);
  span(row, o);
  return row.finish();
}

void optional_text(json_line& line, std::string_view name, const std::optional<std::string>& v) {
  if (v)
    line.text(name, *v);
  else
    line.null(name);
}

std::string text_list(const std::vector<std::string>& items) {
  json_list list;
  for (const std::string& item : items) list.text(item);
  return list.finish();
}

std::string context_object(const run_state& s, const run_context& c) {
  json_line o;
  o.text("runId", format_run_id(s.id)).text("vxVersion", k_vx_version).text("command", s.p.request.command);
  o.raw("requestedTasks", text_list(s.p.request.select.names)).text("cachePolicy", s.p.request.policy.letters());
  o.number("concurrency", s.p.concurrency);
  if (s.p.request.flow.empty())
    o.null("flow");
  else
    o.text("flow", s.p.request.flow);
  optional_text(o, "commitSha", c.commit);
  optional_text(o, "branch", c.branch);
  if (c.dirty)
    o.boolean("dirty", *c.dirty);
  else
    o.null("dirty");
  o.boolean("ci", c.ci);
  optional_text(o, "ciProvider", c.ci_provider);
  optional_text(o, "host", c.host_name);
  o.text("os", c.os).text("arch", c.arch);
  json_line tags;
  for (const auto& [k, v] : s.p.request.tags) tags.named_text(k, v);
  return o.raw("tags", tags.finish()).finish();
}

std::uint32_t projects_in_run(const run_state& s) {
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < s.p.tasks.size(); ++i)
    if (!s.p.is_group(i) && s.p.schedule.scheduled[i]) seen.insert(s.p.graph.nodes[i].project);
  return static_cast<std::uint32_t>(seen.size());
}

}  // namespace

totals count(const run_state& s, const std::vector<bool>& scheduled) {
  totals t;
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i) {
    if (s.p.is_group(i) || !scheduled[i]) continue;
    const task_outcome& o = s.outcomes[i];
    if (o.status == task_status::aborted) {
      ++(o.mono_start_ns ? t.aborted : t.not_run);
      continue;
    }
    ++t.total;
    if (passes(o.status)) ++t.success;
    if (o.status == task_status::failed) ++t.failed;
    if (o.status == task_status::skipped) ++t.skipped;
    if (is_hit(o.status)) {
      ++t.hits;
      const bool remote = o.status == task_status::cache_hit_remote;
      ++(remote ? t.hit_remote : t.hit_local);
      if (!o.restored.value_or(true))
        ++t.up_to_date;
      else
        ++(remote ? t.restored_remote : t.restored_local);
      if (o.stored) t.saved_ns += o.stored->duration_ns;
      continue;
    }
    if (o.status == task_status::skipped) continue;
    ++(o.no_cache ? t.no_cache : t.miss);
    t.min_ns = t.executed == 0 ? o.duration_ns : std::min(t.min_ns, o.duration_ns);
    t.max_ns = std::max(t.max_ns, o.duration_ns);
    t.sum_ns += o.duration_ns;
    ++t.executed;
  }
  return t;
}

std::string run_start_record(const run_state& s, const run_context& c, std::uint32_t real_tasks, std::uint32_t requested) {
  json_line line = header(s, "run.start");
  json_line projects;
  projects.number("inRun", projects_in_run(s)).number("total", static_cast<std::int64_t>(s.p.ws().projects.size()));
  line.raw("run", context_object(s, c))
      .number("total", real_tasks)
      .number("concurrency", s.p.concurrency)
      .number("requestedCount", requested);
  line.number("startedAt", s.wall0 / 1'000'000).raw("projects", projects.finish());
  if (!s.p.request.flow.empty()) line.text("flow", s.p.request.flow);
  return line.finish();
}

std::string task_start_record(const run_state& s, std::uint32_t node) {
  const graph::task_node& n = s.p.graph.nodes[node];
  const workspace::task_config& config = *s.p.tasks[node].config;
  json_line line = header(s, "task.start");
  line.number("index", node);
  task_names(line, s, node);
  line.boolean("isGroup", config.is_group())
      .boolean("requested", n.requested)
      .boolean("surfaced", n.surfaced)
      .boolean("persistent", config.persistent);
  line.boolean("cached", config.cacheable());
  if (config.has_exec)
    line.text("command", s.p.mask.empty() ? s.p.tasks[node].command : s.p.mask.apply(s.p.tasks[node].command));
  return line.finish();
}

std::string task_end_record(const run_state& s, std::uint32_t node) {
  json_line line = header(s, "task.end");
  line.number("index", node);
  return task_result(s, node, std::move(line));
}

std::string task_ready_record(const run_state& s, std::uint32_t node, std::int64_t ready_ns) {
  json_line line = header(s, "task.ready");
  line.number("index", node).text("taskId", s.p.graph.nodes[node].id).ms("durationMs", ready_ns);
  return line.finish();
}

std::string task_exit_record(const run_state& s, std::uint32_t node, int exit_code, bool during_run) {
  json_line line = header(s, "task.exit");
  line.number("index", node)
      .text("taskId", s.p.graph.nodes[node].id)
      .number("exitCode", exit_code)
      .boolean("duringRun", during_run);
  return line.finish();
}

std::string status_record(const run_state& s, const notice_line& n) {
  json_line line = header(s, "run.status");
  line.text("level", n.level == level::warning ? "warning" : "notice").text("line", n.line);
  if (!n.task_id.empty()) line.text("taskId", n.task_id);
  return line.finish();
}

std::string run_summary_record(const run_state& s, const run_context& c, const totals& t, const run_end_info& end,
                               bool with_tasks) {
  json_line line = header(s, "run.summary");
  line.raw("run", context_object(s, c))
      .number("startedAt", s.wall0 / 1'000'000)
      .number("endedAt", end.ended_wall_ns / 1'000'000);
  line.ms("totalDurationMs", end.duration_ns).number("taskCount", t.total).number("failedCount", t.failed);
  line.number("abortedCount", t.aborted + t.not_run).number("notRunCount", t.not_run).number("skippedCount", t.skipped);
  line.number("hitCount", t.hits).number("hitLocalCount", t.hit_local).number("hitRemoteCount", t.hit_remote);
  line.number("upToDateCount", t.up_to_date)
      .number("restoredLocalCount", t.restored_local)
      .number("restoredRemoteCount", t.restored_remote);
  line.number("missCount", t.miss).number("noCacheCount", t.no_cache).ms("savedMs", t.saved_ns).boolean("exitOk", end.ok);
  if (t.executed > 0) {
    json_line e;
    e.number("count", t.executed).ms("maxMs", t.max_ns).ms("avgMs", t.sum_ns / t.executed).ms("minMs", t.min_ns);
    line.raw("executed", e.finish());
  }
  json_list stages;
  for (const auto& [name, ns] : s.p.timing.stages()) {
    json_line one;
    stages.raw(one.text("name", name).ms("ownMs", ns).ms("totalMs", ns).finish());
  }
  line.raw("stages", stages.finish());
  if (!with_tasks) return line.finish();
  json_list tasks;
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i) {
    if (s.p.is_group(i) || !s.p.schedule.scheduled[i] || s.outcomes[i].status == task_status::aborted) continue;
    tasks.raw(task_result(s, i, json_line()));
  }
  return line.raw("tasks", tasks.finish()).finish();
}

std::string run_end_record(const run_state& s, const run_end_info& end, const std::vector<std::string>& holding) {
  json_line line = header(s, "run.end");
  line.boolean("ok", end.ok).number("exitCode", end.exit_code);
  if (!holding.empty()) line.raw("holding", text_list(holding));
  return line.finish();
}

std::string summary_document(const run_state& s, const totals& t, const run_end_info& end) {
  json_line doc;
  doc.text("runId", format_run_id(s.id)).boolean("ok", end.ok).number("exitCode", end.exit_code);
  doc.text("startedAt", format_iso_ms(s.wall0))
      .text("endedAt", format_iso_ms(end.ended_wall_ns))
      .ms("totalMs", end.duration_ns)
      .ms("savedMs", t.saved_ns);
  json_list tasks, aborted;
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i) {
    if (s.p.is_group(i) || !s.p.schedule.scheduled[i]) continue;
    (s.outcomes[i].status == task_status::aborted ? aborted : tasks).raw(summary_row(s, i));
  }
  doc.raw("tasks", tasks.finish()).raw("aborted", aborted.finish());
  json_line sum;
  sum.number("successful", t.success)
      .number("failed", t.failed)
      .number("skipped", t.skipped)
      .number("cachedLocal", t.hit_local);
  sum.number("restoredLocal", t.restored_local).number("restoredRemote", t.restored_remote).number("upToDate", t.up_to_date);
  sum.number("cachedRemote", t.hit_remote).number("aborted", t.aborted + t.not_run).number("total", t.total);
  return doc.raw("summary", sum.finish()).finish();
}

}  // namespace vx::run
