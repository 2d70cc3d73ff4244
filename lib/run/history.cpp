#include "run/history.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "run/json_line.hpp"

namespace vx::run {
namespace {

constexpr std::size_t k_failures_kept = 50;

std::string forward_digest(const run_state& s, std::uint32_t node) {
  if (!s.p.graph.nodes[node].requested || s.p.request.args.empty() || !s.p.tasks[node].config->has_exec) return {};
  std::string salted(s.p.store->salt().view());
  for (const std::string& a : s.p.request.args) salted.append(a).push_back('\0');
  return key::xxh3_128(salted).hex();
}

cache::run_row row_of(const run_state& s, std::uint32_t node) {
  const task_outcome& o = s.outcomes[node];
  cache::run_row r;
  r.run = s.id;
  r.key = o.key;
  r.project = s.p.tasks[node].project->name;
  r.task = s.p.tasks[node].config->name;
  r.status = status_word(o.status);
  r.exit_code = o.exit_code;
  r.duration_ns = o.duration_ns;
  r.cpu_ns = o.cpu_ns;
  r.rss_bytes = o.rss_bytes;
  r.started_ns = o.wall_start_ns != 0 ? o.wall_start_ns : s.wall0;
  r.ended_ns = o.wall_end_ns != 0 ? o.wall_end_ns : r.started_ns;
  r.mono_start_ns = o.mono_start_ns;
  r.mono_end_ns = o.mono_end_ns;
  r.attempts = o.attempts;
  r.cached = s.p.tasks[node].config->cacheable();
  if (is_hit(o.status)) r.restored = o.restored;
  r.saved = o.saved;
  r.withheld = o.withheld;
  r.blocked_by = o.blocked_by;
  r.timed_out = o.timed_out;
  r.not_ready = o.not_ready;
  r.forward = forward_digest(s, node);
  return r;
}

std::string list_text(const std::vector<std::string>& items) {
  json_list list;
  for (const std::string& i : items) list.text(i);
  return list.finish();
}

cache::invocation_row invocation_of(const run_state& s, const run_context& c, const totals& t, const run_end_info& end) {
  cache::invocation_row inv;
  inv.run = s.id;
  inv.command = s.p.mask.empty() ? s.p.request.command : s.p.mask.apply(s.p.request.command);
  inv.requested = list_text(s.p.request.select.names);
  inv.policy = s.p.request.policy.letters();
  inv.concurrency = s.p.concurrency;
  inv.flow = s.p.request.flow;
  inv.started_ns = s.wall0;
  inv.ended_ns = end.ended_wall_ns;
  inv.duration_ns = end.duration_ns;
  inv.task_count = t.total;
  inv.failed_count = t.failed;
  inv.hit_count = t.hits;
  inv.hit_local = t.hit_local;
  inv.hit_remote = t.hit_remote;
  inv.up_to_date = t.up_to_date;
  inv.restored_local = t.restored_local;
  inv.restored_remote = t.restored_remote;
  inv.exit_ok = end.ok;
  inv.commit_sha = c.commit;
  inv.branch = c.branch;
  inv.dirty = c.dirty;
  inv.ci = c.ci;
  inv.ci_provider = c.ci_provider;
  inv.host = c.host_name;
  inv.os = c.os;
  inv.arch = c.arch;
  inv.vx_version = k_vx_version;
  json_line tags;
  for (const auto& [k, v] : s.p.request.tags) tags.named_text(k, s.p.mask.empty() ? v : s.p.mask.apply(v));
  inv.tags = tags.finish();
  return inv;
}

void trim_failures(const std::string& dir) {
  result<std::vector<fs::dir_entry>> all = fs::list_dir_at(fs::k_cwd, dir);
  if (!all || all->size() <= k_failures_kept) return;
  // Run ids begin with their time, so the order of names is the order of runs.
  std::sort(all->begin(), all->end(), [](const fs::dir_entry& a, const fs::dir_entry& b) { return a.name < b.name; });
  for (std::size_t i = 0; i + k_failures_kept < all->size(); ++i)
    (void)fs::unlink_at(fs::k_cwd, dir + "/" + (*all)[i].name).has_value();
}

}  // namespace

void record_history(run_state& s, const run_context& c, const totals& t, const run_end_info& end) {
  std::vector<cache::run_row> rows;
  rows.reserve(s.outcomes.size());
  std::sort(s.unsaved_inputs.begin(), s.unsaved_inputs.end());
  auto unsaved = s.unsaved_inputs.begin();
  for (std::uint32_t i = 0; i < s.outcomes.size(); ++i) {
    if (s.p.is_group(i) || !s.p.schedule.scheduled[i] || s.outcomes[i].status == task_status::aborted) continue;
    rows.push_back(row_of(s, i));
    while (unsaved != s.unsaved_inputs.end() && unsaved->first < i) ++unsaved;
    if (unsaved != s.unsaved_inputs.end() && unsaved->first == i) rows.back().inputs = std::move(unsaved->second);
  }
  const status done = s.p.index->record(invocation_of(s, c, t, end), rows);
  if (!done) s.p.notices.say(level::warning, "this run is not in the history: " + done.error().message);
}

void write_failures(run_state& s) {
  if (s.failures.empty()) return;
  // A task that could not be started again after a failed attempt has two pieces.
  std::map<std::uint32_t, std::string> outputs;
  for (const kept_failure& f : s.failures) outputs[f.node] += f.output;
  json_line tasks;
  for (const auto& [node, output] : outputs) {
    json_line one;
    // Escapes go first: one inside a value would hide it from the mask.
    const std::string plain = text::strip_escapes(output);
    one.text("dir", s.p.tasks[node].project->dir).text("output", s.p.mask.empty() ? plain : s.p.mask.apply(plain));
    tasks.named(s.p.graph.nodes[node].id, one.finish());
  }
  json_line doc;
  doc.text("runId", format_run_id(s.id)).raw("tasks", tasks.finish());
  const std::string dir = s.p.h->root + "/.vx/failures";
  if (!fs::make_dirs_at(fs::k_cwd, dir)) return;  // history is advice: the run stands
  if (fs::write_file_atomic_at(fs::k_cwd, dir + "/" + format_run_id(s.id) + ".json", doc.finish())) trim_failures(dir);
}

}  // namespace vx::run
