#include "run/task_runner.hpp"

#include <algorithm>
#include <utility>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/outputs.hpp"
#include "cache/row_blobs.hpp"
#include "exec/capture.hpp"
#include "exec/task_env.hpp"

namespace vx::run {
namespace {

constexpr std::size_t k_failure_head = std::size_t{8} << 10, k_failure_tail = std::size_t{56} << 10;

std::string joined(const std::vector<std::string>& globs) {
  std::string out;
  for (const std::string& g : globs) {
    if (!out.empty()) out += ", ";
    out += text::escape(g, true);
  }
  return out;
}

void fill_stored(task_outcome& out, const cache::entry& e) {
  out.stored = stored_stats{e.stats.duration_ns, e.stats.cpu_ns, e.stats.peak_rss_bytes};
  out.artifact_bytes = e.artifact_bytes;
}

}  // namespace

/// What one task's attempts leave behind: the log that would be stored, and the small copy kept for a failure.
struct task_runner::attempt_log {
  bool retain = false;
  std::int64_t last_ns = 0;  // the deciding attempt alone
  exec::capture full;
  exec::capture brief = make_failure_capture();
};

exec::capture make_failure_capture() { return exec::capture(k_failure_head, k_failure_tail); }

std::string failure_text(exec::capture& kept) {
  std::string out;
  for (const exec::captured& c : kept.take())
    out += c.stream == 0 ? "\n[vx] " + text::format_bytes(c.dropped) + " left out\n" : c.bytes;
  return out;
}

std::uint32_t timeout_of(const run_state& s, std::uint32_t node) {
  return s.p.tasks[node].config->timeout_ms.value_or(s.settings.default_timeout_ms);
}

exec::spawn_spec make_spawn(const run_state& s, std::uint32_t node) {
  const task_info& t = s.p.tasks[node];
  exec::env_request env;
  env.root = s.p.h->root;
  env.project_dir = t.project->dir;
  env.task_id = s.p.graph.nodes[node].id;
  env.pass_through = t.config->env_pass_through;
  env.define = t.config->env_define;
  exec::spawn_spec spec;
  spec.shell = s.settings.shell;
  spec.command = exec::prepare_command(t.command);
  spec.cwd = path::join(env.root, env.project_dir);
  spec.env = exec::build_task_environment(s.p.h->env, env).block;
  spec.timeout_ms = timeout_of(s, node);
  spec.kill_grace_ms = s.settings.kill_grace_ms;
  spec.secrets = &s.p.mask;
  return spec;
}

void task_runner::say(std::uint32_t node, level l, std::string line) {
  s_.p.notices.say(l, s_.p.mask.empty() ? std::move(line) : s_.p.mask.apply(line), s_.p.graph.nodes[node].id);
}

void task_runner::fail_unrun(std::uint32_t node, task_outcome& out, const std::string& why) {
  out.status = task_status::failed;
  out.exit_code = 1;
  const std::string line = s_.p.graph.nodes[node].id + ": " + why;
  say(node, level::warning, line);
  const std::lock_guard lock(s_.ends_mutex);
  s_.failures.push_back({node, "[vx] " + line + "\n"});
}

bool task_runner::ensure_key(std::uint32_t node, task_outcome& out) {
  const node_key& k = s_.keys.at(node).is == node_key::state::none ? s_.keys.derive(node) : s_.keys.at(node);
  if (k.is == node_key::state::known) out.key = k.key;
  if (k.is != node_key::state::error) return true;
  fail_unrun(node, out, k.why->message);
  return false;
}

ended_task task_runner::execute(std::uint32_t node, bool tainted) {
  ended_task end;
  end.outcome.mono_start_ns = s_.since_start_ns();
  end.outcome.wall_start_ns = wall_ns();
  if (ensure_key(node, end.outcome)) {
    if (std::optional<task_outcome> hit = try_hit(node)) {
      end.outcome = std::move(*hit);
    } else {
      end = miss(node, tainted);
    }
  }
  if (!s_.keys.known(node)) s_.unkeyed[node] = 1;
  return end;
}

std::optional<task_outcome> task_runner::try_hit(std::uint32_t node) {
  if (!s_.p.may_read(node) || !s_.p.request.policy.local_read || !s_.keys.known(node) || s_.fingerprint_moved ||
      s_.judged.shares_outputs[node])
    return std::nullopt;
  std::optional<cache::lookup_result> found;
  const digest128& key = s_.keys.at(node).key;
  if (s_.early.probed[node] == probe::hit) {
    found = std::move(s_.early.hits[node]);
    s_.early.hits[node].reset();
  } else if (s_.early.probed[node] == probe::none) {
    found = s_.p.store->lookup(key);
    const task_info& t = s_.p.tasks[node];
    if (!found && s_.p.store->artifact_present(key)) found = s_.p.store->adopt(key, t.project->name, t.config->name, *t.scope);
  }
  if (!found) return std::nullopt;
  bool current = !s_.p.tasks[node].scope->declares_any();
  if (!current) {
    const auto known = s_.p.index->current_many({key});
    const additive_task adds(s_, node);
    current = known[0] && (!adds.is() || adds.placed(key)) &&
              cache::is_current(*s_.p.tasks[node].scope, found->outputs, known[0]->stamps, known[0]->dirs);
  }
  return finish_restore(node, *found, current);
}

std::optional<task_outcome> task_runner::restore_hit(std::uint32_t node) {
  return finish_restore(node, *s_.early.hits[node], false);
}

task_outcome task_runner::current_hit(std::uint32_t node) { return *finish_restore(node, *s_.early.hits[node], true); }

std::optional<task_outcome> task_runner::finish_restore(std::uint32_t node, const cache::lookup_result& hit, bool current) {
  const task_info& t = s_.p.tasks[node];
  task_outcome out;
  out.mono_start_ns = s_.since_start_ns();
  out.wall_start_ns = wall_ns();
  out.key = hit.entry.key;
  out.status = task_status::cache_hit;
  out.restored = false;
  fill_stored(out, hit.entry);
  additive_task adds(s_, node);
  if (!current && adds.is()) {
    if (const status cleaned = adds.clean(hit.outputs); !cleaned) {
      fail_unrun(node, out, cleaned.error().message);
      return out;
    }
  }
  if (!current) {
    cache::restore_result r = s_.p.store->restore(hit, *t.scope, s_.p.h->root + "/.vx/stage");
    switch (r.how) {
      case cache::restore_result::outcome::missing:
        if (!r.reason.empty()) say(node, level::warning, s_.p.graph.nodes[node].id + ": " + r.reason);
        s_.early.probed[node] = probe::miss;
        return std::nullopt;
      case cache::restore_result::outcome::refused:
      case cache::restore_result::outcome::tree_error:
        out.restored.reset();
        out.stored.reset();
        s_.p.index->drop_stamps(hit.entry.key);
        s_.p.facts->forget_paths(r.touched);
        fail_unrun(node, out, r.reason);
        break;
      case cache::restore_result::outcome::restored:
        out.restored = true;
        s_.p.index->put_stamps(hit.entry.key, r.stamps);
        if (adds.is()) adds.record(hit.entry.key, hit.outputs, r.stamps);
        s_.p.facts->forget_paths(r.touched);
        break;
    }
  }
  out.duration_ns = s_.since_start_ns() - *out.mono_start_ns;
  out.mono_end_ns = *out.mono_start_ns + out.duration_ns;
  out.wall_end_ns = out.wall_start_ns + out.duration_ns;
  if (out.status == task_status::failed) return out;
  // Nearly every entry begins with a file: the question costs nothing then.
  if (!adds.is() && !mutated("mute-hit") && (hit.outputs.empty() || hit.outputs.front().kind == 'd') &&
      cache::matched_nothing(*t.scope, hit.outputs))
    warn_unmatched_outputs(node);
  if (s_.out.active() && !s_.out.skips_current()) replay(node, hit, out);
  const std::lock_guard lock(s_.ends_mutex);
  s_.used.push_back(hit.entry.key);
  // A restore has made directories anew: what was remembered of the old ones went with their stamps.
  if ((out.restored == true || s_.early.has_snapshot[node] == 0) && t.scope->declares_any()) s_.snapshot.push_back(node);
  return out;
}

void task_runner::replay(std::uint32_t node, const cache::lookup_result& hit, task_outcome& out) {
  if (hit.entry.log_bytes == 0) return;
  result<std::string> raw = s_.p.store->read_log(hit.entry);
  if (!raw) return;
  result<std::vector<cache::log_record>> log = cache::decode_log(*raw);
  if (!log) return;
  for (cache::log_record& r : *log) {
    if (r.stream == 0) {
      s_.out.output(node, 2, "\n[vx] " + text::format_bytes(r.dropped) + " of output were not kept\n", true);
      continue;
    }
    s_.out.output(node, r.stream, s_.p.mask.empty() ? std::move(r.bytes) : s_.p.mask.apply(r.bytes), true);
  }
  out.replayed_log = !log->empty();
}

void task_runner::warn_unmatched_outputs(std::uint32_t node) {
  const task_info& t = s_.p.tasks[node];
  std::vector<std::string> globs = t.scope->files;
  globs.insert(globs.end(), t.scope->workspace_files.begin(), t.scope->workspace_files.end());
  say(node, level::warning, s_.p.graph.nodes[node].id + ": cache.outputs matched no files (" + joined(globs) + ")");
}

bool task_runner::clean(std::uint32_t node, task_outcome& out) {
  result<std::vector<std::string>> removed = cache::clean_outputs(*s_.p.tasks[node].scope);
  if (removed) {
    if (!mutated("no-clean-marks")) s_.p.facts->forget_paths(*removed);
    const std::lock_guard lock(s_.ends_mutex);
    for (std::string& path : *removed)
      if (s_.p.facts->is_tracked(path)) s_.cleaned.emplace_back(node, std::move(path));
    return true;
  }
  fail_unrun(node, out, removed.error().message);
  return false;
}

ended_task task_runner::miss(std::uint32_t node, bool tainted) {
  ended_task end;
  task_outcome& out = end.outcome;
  const task_info& t = s_.p.tasks[node];
  out.mono_start_ns = s_.since_start_ns();
  out.wall_start_ns = wall_ns();
  if (s_.keys.known(node)) out.key = s_.keys.at(node).key;
  out.no_cache = !t.config->has_cache || (!s_.p.may_read(node) && !s_.p.may_write(node));
  const bool saves = s_.p.may_write(node) && s_.p.request.policy.local_write && !s_.judged.shares_outputs[node];
  additive_task adds(s_, node);
  const bool cleans = saves && t.scope->declares_any() && !adds.is();
  const auto finished = [&]() -> ended_task& {
    out.duration_ns = s_.since_start_ns() - *out.mono_start_ns;
    out.mono_end_ns = s_.since_start_ns();
    out.wall_end_ns = wall_ns();
    return end;
  };
  if (t.config->has_sandbox) {
    fail_unrun(node, out, "exec.sandbox can't be enforced by this version of vx, and the task is never run without it");
    return std::move(finished());
  }
  if (t.scope != nullptr) {
    if (const status roots = cache::check_owned_roots(*t.scope); !roots) {
      fail_unrun(node, out, roots.error().message);
      return std::move(finished());
    }
  }
  if (cleans && !clean(node, out)) return std::move(finished());
  std::optional<additive_task::found> found;
  if (saves && adds.is()) {
    // Of an earlier state of its own only what it recorded goes; what else its globs match is the dependency's.
    const status cleaned = adds.clean({});
    auto looked = cleaned ? adds.look() : result<additive_task::found>(fail(cleaned.error()));
    if (!looked) {
      fail_unrun(node, out, looked.error().message);
      return std::move(finished());
    }
    found = std::move(*looked);
  }
  if (s_.keys.at(node).matched_nothing)
    say(node, level::warning,
        s_.p.graph.nodes[node].id + ": cache.inputs matched no files (" + joined(t.config->input_files) + ")");

  std::optional<inputs::facts::description> described;
  if (t.config->has_cache) {
    if (result<inputs::facts::description> d = s_.p.facts->describe(*t.selector)) described = std::move(*d);
  }
  attempt_log log;
  log.retain = saves;
  // Without a clean, the command may remove what lies under its outputs: that is as unknown afterwards as what it makes.
  const bool may_remove = t.scope != nullptr && !cleans && t.scope->declares_any() && !mutated("no-marks");
  const auto lying = may_remove ? cache::list_outputs(*t.scope) : result<std::vector<cache::output_row>>();
  const exec::spawn_result last = attempts(node, cleans, log, out);
  finished();
  forget_outputs(node, lying);
  if (s_.cancel.requested() && !mutated("signalled-passes") && (last.cancelled || last.exit_code != 0))
    out.status = task_status::aborted;
  if (s_.cancel.requested() && out.status == task_status::success && !mutated("signalled-passes"))
    out.status = task_status::aborted;
  if (!t.config->has_cache) after_uncached(node);
  watch_fingerprint(node);
  if (out.status == task_status::success && t.config->has_cache)
    after_success(node, tainted, described, found ? &*found : nullptr, log, end);
  if (!end.save && out.status != task_status::aborted) keep_inputs(node, described);
  if (out.status != task_status::success) {
    s_.unkeyed[node] = 1;
    if (t.scope != nullptr) forget_outputs(node, cache::list_outputs(*t.scope));
  }
  if (out.status == task_status::failed) {
    std::string kept = failure_text(log.brief);
    const std::lock_guard lock(s_.ends_mutex);
    s_.failures.push_back({node, std::move(kept)});
  }
  return end;
}

exec::spawn_result task_runner::attempts(std::uint32_t node, bool cleans, attempt_log& log, task_outcome& out) {
  const task_info& t = s_.p.tasks[node];
  const std::uint32_t total = 1 + t.config->retries.value_or(s_.settings.default_retries);
  exec::spawn_spec spec = make_spawn(s_, node);
  exec::spawn_result r;
  for (std::uint32_t attempt = 1;; ++attempt) {
    log.full = exec::capture();
    const exec::output_fn sink = [&](int stream, std::string_view bytes) {
      if (log.retain) log.full.add(stream, bytes);
      log.brief.add(stream, bytes);
      s_.out.output(node, stream, std::string(bytes), false);
    };
    r = exec::run_task(spec, sink, s_.processes, s_.cancel);
    if (!r.note.empty()) s_.out.output(node, 2, "[vx] " + r.note + "\n", false);
    log.last_ns = r.end_ns - r.start_ns;
    out.attempts = attempt;
    out.exit_code = r.exit_code;
    out.timed_out = r.timed_out;
    out.cpu_ns = out.cpu_ns.value_or(0) + r.cpu_ns;
    if (r.peak_rss_bytes) out.rss_bytes = std::max(out.rss_bytes.value_or(0), *r.peak_rss_bytes);
    out.status = r.exit_code == 0 && !r.timed_out ? task_status::success : task_status::failed;
    if (out.status == task_status::success || r.cancelled || s_.cancel.requested() || attempt == total) return r;
    out.failed_attempts.push_back({wall_ns(), r.exit_code, r.timed_out});
    s_.out.output(node, 2,
                  "[vx] " + s_.p.graph.nodes[node].id + ": attempt " + std::to_string(attempt + 1) + "/" +
                      std::to_string(total) + " after " + (r.timed_out ? "a timeout" : "exit " + std::to_string(r.exit_code)) +
                      "\n",
                  false);
    if (cleans && !clean(node, out)) return r;
  }
}

std::string_view task_runner::reason_not_to_save(std::uint32_t node, bool tainted,
                                                 const std::optional<inputs::facts::description>& described) {
  if (!s_.p.may_write(node) || !s_.p.request.policy.local_write || s_.judged.shares_outputs[node]) return "policy";
  if (tainted && !mutated("no-taint")) return "tainted";
  if (!mutated("save-dropped") && !s_.p.schedule.folds_dropped.empty() && s_.p.schedule.folds_dropped[node])
    return "excluded-deps";
  if (!s_.keys.known(node)) return "unkeyed-upstream";
  for (const std::uint32_t dep : s_.p.graph.folded[node])
    if (s_.unkeyed[dep] != 0 && !mutated("no-unkeyed")) return "unkeyed-upstream";
  if (s_.fingerprint_moved) return "fingerprint-moved";
  if (!described || s_.keys.at(node).incomplete || described->files.incomplete) return "inputs-moved";
  const result<digest128> again = s_.keys.again(node, described->files);
  if (!again || *again != s_.keys.at(node).key) return "key-moved";
  return {};
}

void task_runner::after_success(std::uint32_t node, bool tainted, const std::optional<inputs::facts::description>& described,
                                const additive_task::found* found, attempt_log& log, ended_task& end) {
  const task_info& t = s_.p.tasks[node];
  const std::string& id = s_.p.graph.nodes[node].id;
  end.outcome.withheld = reason_not_to_save(node, tainted, described);
  const workspace::workspace_config& ws = s_.p.ws().settings;
  const auto strategy = t.config->strategy.value_or(ws.strategy.value_or(workspace::stability_strategy::immutable));
  const auto severity = t.config->severity.value_or(ws.severity.value_or(workspace::stability_severity::warn));
  std::optional<std::string> moved;
  if (described && strategy != workspace::stability_strategy::unchecked) {
    const auto how = strategy == workspace::stability_strategy::mutable_ ? inputs::facts::strictness::mutable_
                                                                         : inputs::facts::strictness::immutable;
    moved = s_.p.facts->moved(*t.selector, *described, how);
  }
  result<cache::stamped_outputs> left = cache::list_stamped(*t.scope);
  result<std::vector<cache::output_row>> rows = left ? left->rows : result<std::vector<cache::output_row>>(fail(left.error()));
  forget_outputs(node, rows);
  if (moved) {
    end.outcome.withheld = "inputs-moved";
    s_.p.facts->forget_project(t.project->dir, s_.p.ws().nested_of(s_.p.graph.nodes[node].project));
    const std::string line = id + ": not cached: " + text::escape(*moved, true) + " was written while the task ran";
    say(node, level::warning, line);
    if (severity == workspace::stability_severity::error) {
      log.brief.add(2, "[vx] " + line + "\n");
      end.outcome.status = task_status::failed;
      end.outcome.exit_code = 1;
    }
  } else if (end.outcome.withheld == "key-moved") {
    say(node, level::warning, id + ": not cached: its inputs changed before the command started");
  }
  if (!end.outcome.withheld.empty()) {
    if (end.outcome.withheld != "policy") s_.unkeyed[node] = 1;
    return;
  }
  if (!rows) {
    end.outcome.withheld = "store-error";
    say(node, level::warning, id + ": not cached: " + rows.error().message);
    return;
  }
  if (cache::matched_nothing(*t.scope, *rows)) warn_unmatched_outputs(node);
  if (found != nullptr && !owns_what_it_added(node, *found, *left, *rows, end.outcome)) return;
  save_job job;
  job.node = node;
  job.request.key = s_.keys.at(node).key;
  job.request.project = t.project->name;
  job.request.task = t.config->name;
  job.request.command = s_.p.mask.empty() ? t.command : s_.p.mask.apply(t.command);
  job.request.scope = t.scope.get();
  std::vector<cache::log_record> records;
  for (exec::captured& c : log.full.take())
    records.push_back({static_cast<std::uint8_t>(c.stream), std::move(c.bytes), c.dropped});
  job.request.log = records.empty() ? std::string() : cache::encode_log(records);
  job.request.stats = {log.last_ns, end.outcome.cpu_ns, end.outcome.rss_bytes};
  job.request.components = s_.keys.explain(node, described->files, s_.p.store->salt());
  job.listing = std::move(*rows);
  end.save = std::move(job);
}

/// Narrows the listing to what an additive task added or changed. False: it can't be said, or it took away what it found;
/// nothing is saved.
bool task_runner::owns_what_it_added(std::uint32_t node, const additive_task::found& found, const cache::stamped_outputs& left,
                                     std::vector<cache::output_row>& rows, task_outcome& out) {
  const std::string removed = cache::removed_output(*s_.p.tasks[node].scope, found.outputs, left);
  if (removed.empty() && found.certain) {
    rows = cache::added_outputs(found.outputs, left);
    return true;
  }
  out.withheld = removed.empty() ? "output-changing" : "removed-found-file";
  say(node, level::warning,
      s_.p.graph.nodes[node].id + ": not cached: " +
          (removed.empty() ? "what it adds to the outputs of a dependency can't be told from what was there: the clock of the "
                             "file system is too coarse"
                           : text::escape(removed, true) + " of a dependency was there when it started and is gone"));
  s_.unkeyed[node] = 1;
  return false;
}

/// A result that is not saved leaves what its key was made of in the history, so that `vx why` can tell what moved.
void task_runner::keep_inputs(std::uint32_t node, const std::optional<inputs::facts::description>& described) {
  if (described && s_.keys.known(node)) keep_inputs(node, s_.keys.explain(node, described->files, s_.p.store->salt()));
}

void task_runner::keep_inputs(std::uint32_t node, std::vector<key::component> components) {
  const digest128& salt = s_.p.store->salt();
  if (components.empty() || salt == digest128{}) return;  // without a store there is no salt, and values need one
  std::string blob = cache::encode_unsaved_inputs(salt, std::move(components));
  const std::lock_guard lock(s_.ends_mutex);
  s_.unsaved_inputs.emplace_back(node, std::move(blob));
}

/// Facts about the listed outputs die; where they could not be listed, everything they may be.
void task_runner::forget_outputs(std::uint32_t node, const result<std::vector<cache::output_row>>& rows) {
  if (!rows) {
    if (s_.p.tasks[node].scope->workspace_files.empty())
      s_.p.facts->forget_project(s_.p.tasks[node].project->dir, s_.p.ws().nested_of(s_.p.graph.nodes[node].project));
    else
      s_.p.facts->forget_workspace();
    return;
  }
  mark_outputs(node, *rows);
}

void task_runner::mark_outputs(std::uint32_t node, const std::vector<cache::output_row>& rows) {
  std::vector<std::string> paths;
  paths.reserve(rows.size());
  const std::string& dir = s_.p.tasks[node].project->dir;
  for (const cache::output_row& r : rows) paths.push_back(r.space == cache::space::project ? path::join(dir, r.path) : r.path);
  s_.p.facts->forget_paths(paths);
}

void task_runner::after_uncached(std::uint32_t node) {
  if (s_.p.graph.edges.dependents(node).empty()) return;  // nobody reads these facts behind it
  s_.p.facts->forget_project(s_.p.tasks[node].project->dir, s_.p.ws().nested_of(s_.p.graph.nodes[node].project));
}

void task_runner::watch_fingerprint(std::uint32_t node) {
  if (!s_.p.tasks[node].project->dir.empty() || s_.fingerprint_moved || mutated("no-fingerprint-watch")) return;
  const result<workspace::fingerprint> now = workspace::read_fingerprint(s_.p.h->root, s_.p.ws().settings.closure_keys());
  if (now && now->same_as(s_.p.fingerprint)) return;
  s_.fingerprint_moved = true;
  s_.p.notices.say(level::warning, "a lockfile or package-manager file at the root changed while " + s_.p.graph.nodes[node].id +
                                       " ran: nothing else of this run is taken from or put into the cache");
}

void task_runner::save(save_job job) {
  job.request.listing = &job.listing;
  cache::save_result saved = s_.p.store->save(job.request);
  task_outcome& out = s_.outcomes[job.node];
  using how = cache::save_result::outcome;
  if (saved.how == how::saved) {
    out.saved = true;
    out.artifact_bytes = saved.artifact_bytes;
    if (!saved.reason.empty()) say(job.node, level::notice, s_.p.graph.nodes[job.node].id + ": " + saved.reason);
    s_.p.index->put_stamps(job.request.key, saved.stamps);
    if (additive_task adds(s_, job.node); adds.is()) adds.record(job.request.key, saved.outputs, saved.stamps);
    const std::lock_guard lock(s_.ends_mutex);
    if (job.request.scope->declares_any()) {
      cache::lookup_result placed;
      placed.entry.key = job.request.key;
      placed.outputs = std::move(saved.outputs);
      s_.early.hits[job.node] = std::move(placed);
      s_.snapshot.push_back(job.node);
    }
    return;
  }
  out.withheld = saved.how == how::unstorable_output ? "unstorable-output"
                 : saved.how == how::output_changing ? "output-changing"
                 : saved.how == how::too_large       ? "too-large"
                                                     : "store-error";
  say(job.node, level::warning, s_.p.graph.nodes[job.node].id + ": " + saved.reason);
  keep_inputs(job.node, std::move(job.request.components));
}

}  // namespace vx::run
