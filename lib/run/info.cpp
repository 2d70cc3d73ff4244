#include "run/info.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "exec/process.hpp"
#include "git/git.hpp"
#include "run/cache_report.hpp"
#include "run/store_access.hpp"
#include "workspace/runtime.hpp"
#include "workspace/workspace.hpp"

namespace vx::run {
namespace {

constexpr std::int64_t k_day_ns = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::uint32_t k_program_ms = 5000;  ///< a program that does not say its version by then is named without one
constexpr int k_index_schema = 1;

template <class T>
json::value or_null(const std::optional<T>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

std::string first_line(const std::string& out) {
  return std::string(text::trim(std::string_view(out).substr(0, out.find('\n'))));
}

// --- programs --------------------------------------------------------------------------------------------------------------

json::value evaluator(const host& h, const cancel_token* cancel) {
  const result<std::string> path = workspace::find_runtime(h.env, "");
  if (!path) return nullptr;
  subprocess_options o;
  o.program = *path;
  o.args = {"--version"};
  environment env = h.env;
  for (const char* name : {"NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"}) env.unset(name);  // neither says anything about a version
  o.env = env.to_block();
  const auto asked = run_subprocess(o, {}, cancel, k_program_ms);
  std::string version = asked && asked->ok() ? first_line(asked->out) : std::string();
  const std::string_view name = path::base_name(*path);
  const char* kind = name.starts_with("bun")                                    ? "bun"
                     : name.starts_with("deno") || version.starts_with("deno ") ? "deno"
                                                                                : "node";
  if (version.starts_with("deno ")) version = version.substr(5, version.find(' ', 5) - 5);
  if (version.starts_with('v')) version.erase(0, 1);
  json::object out;
  out.add("kind", kind);
  out.add("path", *path);
  out.add("version", version);
  return json::value(std::move(out));
}

struct git_facts {
  json::value version, status_cache;
};

bool is_on(std::string_view v) { return v.empty() || v == "true" || v == "yes" || v == "on" || v == "1"; }

/// What git does to answer `git status` faster. vx's own calls set some of it on their command line: not this.
json::value status_cache(const git::program& git, const host& h, const cancel_token* cancel) {
  const auto asked = git.run(
      h.root,
      {"config", "--show-scope", "-z", "--get-regexp", "^(core\\.fsmonitor|core\\.untrackedcache|feature\\.manyfiles)$"}, {},
      cancel);
  if (!asked) return nullptr;
  bool fsmonitor = false, untracked = false;
  const std::vector<std::string_view> parts = text::split(asked->out, '\0');
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (parts[i] == "command") continue;
    const std::size_t line = parts[i + 1].find('\n');
    const std::string_view name = parts[i + 1].substr(0, line);
    const std::string_view value = line == std::string_view::npos ? std::string_view() : parts[i + 1].substr(line + 1);
    const bool off = value == "false" || value == "no" || value == "off" || value == "0" ||
                     (line != std::string_view::npos && value.empty());
    if (name == "core.fsmonitor")
      fsmonitor = !off;  // a hook's path switches it on as well
    else if (name == "core.untrackedcache")
      untracked = is_on(value);
    else if (is_on(value))
      untracked = true;
  }
  json::object o;
  o.add("fsmonitor", fsmonitor);
  o.add("untrackedCache", untracked);
  return json::value(std::move(o));
}

git_facts ask_git(const host& h, const cancel_token* cancel) {
  git_facts out;
  const std::optional<git::program> git = git::program::find(h.env);
  if (!git) return out;
  const auto asked = git->run(h.root, {"--version"}, {}, cancel);
  if (!asked || asked->exit_code != 0) return out;
  constexpr std::string_view k_head = "git version ";
  std::string version = first_line(asked->out);
  if (version.starts_with(k_head)) version.erase(0, k_head.size());
  out.version = std::move(version);
  const auto repository = git::find_repository(*git, h.root);
  if (repository && *repository) out.status_cache = status_cache(*git, h, cancel);
  return out;
}

// --- configs ---------------------------------------------------------------------------------------------------------------

struct config_facts {
  std::uint64_t projects = 0, tasks = 0, json = 0, cached = 0;
  bool needs_runtime = false, sandbox = false;
  json::array errors, every_run;

  void failed(const failure& f, const std::string& path) {
    json::object o;
    o.add("path", f.path.empty() ? path : f.path);
    o.add("message", f.message);
    errors.emplace_back(std::move(o));
  }
};

void count_project(config_facts& out, const workspace::project& p) {
  if (p.config_failure) return out.failed(*p.config_failure, p.config_path);
  if (p.config == nullptr || p.config_path.empty()) return;
  out.tasks += p.config->tasks.size();
  for (const workspace::task_config& t : p.config->tasks) out.sandbox = out.sandbox || t.has_sandbox;
  if (workspace::is_native_config(p.config_path)) {
    ++out.json;
  } else if (p.config->volatile_reasons.empty()) {
    ++out.cached;
  } else {
    json::array reasons;
    for (const std::string& r : p.config->volatile_reasons) reasons.emplace_back(r);
    json::object o;
    o.add("path", p.config_path);
    o.add("reasons", std::move(reasons));
    out.every_run.emplace_back(std::move(o));
  }
}

config_facts read_configs(recorded& r, const cancel_token* cancel) {
  config_facts out;
  const auto root_file = workspace::config_loader::find(r.h->root, "", "vx.workspace");
  out.needs_runtime = root_file && !workspace::is_native_config(*root_file);
  if (r.settings_failure) out.failed(*r.settings_failure, root_file.value_or("vx.workspace.json"));
  workspace::open_request open;
  open.cwd = r.h->cwd;
  open.env = &r.h->env;
  open.memo = r.memo.get();
  open.cancel = cancel;
  auto loader = workspace::loader::open(r.h->root, open);
  if (!loader) {
    if (!r.settings_failure) out.failed(loader.error(), "package.json");
    return out;
  }
  (*loader)->load_all_tolerant();
  for (const workspace::project& p : (*loader)->ws().projects) {
    out.needs_runtime = out.needs_runtime || (!p.config_path.empty() && !workspace::is_native_config(p.config_path));
    count_project(out, p);
  }
  out.projects = (*loader)->ws().projects.size();
  for (const std::string& line : (*loader)->ws().notices) r.notices.push_back(line);
  (*loader)->finish();
  return out;
}

// --- the machine and the store ---------------------------------------------------------------------------------------------

json::object workers(const workspace::workspace_config& settings) {
  const exec::cpu_info cpus = exec::usable_cpu_info();
  json::object o;
  o.add("count", settings.concurrency.value_or(cpus.count));
  o.add("source", settings.concurrency ? "workspace" : cpus.count < cpus.cores ? "cgroup" : "cores");
  o.add("cores", cpus.cores);
  o.add("cpuQuota", or_null(cpus.quota));
  return o;
}

json::object memory() {
  const exec::memory_info m = exec::usable_memory_info();
  json::object o;
  o.add("usableBytes", m.usable);
  o.add("totalBytes", m.total);
  o.add("cgroupLimitBytes", or_null(m.cgroup_limit));
  return o;
}

/// What a run could do there. Nothing is tried: the answer comes from permissions.
const char* cache_mode(const std::string& dir) {
  std::string at = dir;
  while (at.size() > 1 && !fs::exists_at(fs::k_cwd, at)) at = at.rfind('/') == 0 ? "/" : std::string(path::parent(at));
  const auto allowed = [](const std::string& p, int how) { return ::faccessat(AT_FDCWD, p.c_str(), how, AT_EACCESS) == 0; };
  if (at != dir) return allowed(at, W_OK | X_OK) ? "read-write" : "none";
  const std::string db = path::join(dir, "store-1.db");
  if (!allowed(dir, R_OK | X_OK)) return "none";
  const bool database = !fs::exists_at(fs::k_cwd, db) || allowed(db, W_OK);
  return allowed(dir, W_OK) && database ? "read-write" : "read-only";
}

json::object retention(const workspace::workspace_config& settings) {
  const auto& limits = settings.cache_retention;
  json::object o;
  o.add("olderThan", limits.older_than_ms ? json::value(duration_words(*limits.older_than_ms)) : json::value(nullptr));
  o.add("maxSize", limits.max_bytes ? json::value(size_words(*limits.max_bytes)) : json::value(nullptr));
  o.add("maxBytes", or_null(limits.max_bytes));
  return o;
}

json::object sandbox(bool declared) {
  json::object o;
  o.add("available", false);
  o.add("backend", nullptr);
  o.add("require", "namespaces");
  o.add("reports", false);
  o.add("network", nullptr);
  o.add("reason", "this version of vx can't enforce exec.sandbox");
  o.add("declared", declared);
  o.add("steps", json::array{});
  return o;
}

json::array flaky(cache::history_reader& history) {
  json::array out;
  for (const cache::flaky_task& t : history.flaky_tasks(wall_ns() - 30 * k_day_ns)) {
    json::object o;
    o.add("taskId", t.project + "#" + t.task);
    o.add("project", t.project);
    o.add("task", t.task);
    o.add("keys", t.keys);
    o.add("passes", t.passes);
    o.add("failures", t.failures);
    out.emplace_back(std::move(o));
  }
  return out;
}

/// Databases that were set aside, in the store and in the checkout.
json::array bad_files(const recorded& r, const cache::store::statistics& stats) {
  json::array out;
  for (const std::string& name : stats.bad_files) out.emplace_back(path::join(r.location.dir, name));
  const std::string state = r.h->root + "/.vx";
  std::vector<std::string> names;
  if (const auto listing = fs::list_dir_at(fs::k_cwd, state))
    for (const fs::dir_entry& e : *listing)
      if (e.name.find(".bad-") != std::string::npos) names.push_back(path::join(state, e.name));
  std::sort(names.begin(), names.end());
  for (std::string& name : names) out.emplace_back(std::move(name));
  return out;
}

void add_surroundings(json::object& o, recorded& r, config_facts& configs, const cancel_token* cancel) {
  const host& h = *r.h;
  o.add("vx", k_vx_version);
  o.add("platform", h.platform);
  o.add("evaluator", configs.needs_runtime ? evaluator(h, cancel) : json::value(nullptr));
  git_facts git = ask_git(h, cancel);
  o.add("git", std::move(git.version));
  o.add("gitStatusCache", std::move(git.status_cache));
  o.add("workspaceRoot", h.root);
  o.add("projects", configs.projects);
  o.add("tasks", configs.tasks);
  o.add("configErrors", std::move(configs.errors));
  json::object kinds;
  kinds.add("json", configs.json);
  kinds.add("cached", configs.cached);
  kinds.add("everyRun", std::move(configs.every_run));
  o.add("configs", std::move(kinds));
  o.add("remoteCache", nullptr);
  o.add("schedule", r.settings.schedule);
  o.add("admission", nullptr);
  o.add("telemetry", nullptr);
  o.add("workers", workers(r.settings));
  o.add("memory", memory());
}

void add_cache(json::object& o, recorded& r, const cache::store::statistics& stats) {
  o.add("cacheDir", r.location.dir);
  o.add("cacheSource", source_word(r.location.source));
  o.add("cacheMode", cache_mode(r.location.dir));
  o.add("stateDir", r.h->root + "/.vx");
  o.add("cacheVersion", key::k_schema);
  o.add("schemaVersion", k_index_schema);
  o.add("cacheEntries", stats.entries);
  o.add("cacheBytes", stats.bytes);
  o.add("cacheRetention", retention(r.settings));
  json::object orphans;
  orphans.add("artifacts", stats.orphan_artifacts);
  orphans.add("bytes", stats.orphan_bytes);
  o.add("orphans", std::move(orphans));
  o.add("badFiles", bad_files(r, stats));
}

}  // namespace

result<json::value> info(std::shared_ptr<const host> h, const std::optional<std::string>& cache_dir,
                         const cancel_token* cancel) {
  VX_TRY_LET(const std::unique_ptr<recorded> r, open_recorded(std::move(h), {cache_dir, true}, cancel));
  config_facts configs = read_configs(*r, cancel);
  if (cancel != nullptr && cancel->requested()) return fail(errc::CANCELLED, "stopped before an answer");
  const result<cache::store::statistics> asked = r->store->stats();
  const cache::store::statistics stats = asked ? *asked : cache::store::statistics();
  const cache::run_counts day = r->history->counts_since(wall_ns() - k_day_ns);
  const bool declared = configs.sandbox;
  json::object o;
  add_surroundings(o, *r, configs, cancel);
  add_cache(o, *r, stats);
  o.add("runs24h", day.tasks);
  o.add("hits24h", day.hits);
  o.add("restored24h", day.restored);
  o.add("flakyTasks", flaky(*r->history));
  o.add("lockfile", fs::exists_at(fs::k_cwd, r->h->root + "/vx-lock.json"));
  o.add("guard", false);
  o.add("sandbox", sandbox(declared));
  json::object doc;
  doc.add("result", std::move(o));
  json::array notices;
  for (const std::string& line : r->notices) notices.emplace_back(line);
  doc.add("notices", std::move(notices));
  return json::value(std::move(doc));
}

}  // namespace vx::run
