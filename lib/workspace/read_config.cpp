// From validated JSON to task_config, project_config and workspace_config. Nothing here refuses: the schema has looked at
// everything.
#include <algorithm>
#include <cctype>

#include "base/path.hpp"
#include "base/text.hpp"
#include "key/digest.hpp"
#include "workspace/config_loader.hpp"
#include "workspace/project_schema.hpp"

namespace vx::workspace {
namespace {

void read_list(const json::value* v, std::vector<std::string>& out) {
  if (v == nullptr) return;
  out.reserve(v->as_array().size());
  for (const json::value& e : v->as_array()) out.push_back(e.as_string());
}

void read_text(const json::value* v, std::optional<std::string>& out) {
  if (v != nullptr) out = v->as_string();
}

void read_count(const json::value* v, std::optional<std::uint32_t>& out) {
  if (v == nullptr) return;
  if (const auto n = schema::integral(*v, 0, 2147483647)) out = static_cast<std::uint32_t>(*n);
}

bool read_flag(const json::value* v, bool otherwise) { return v == nullptr ? otherwise : v->as_bool(); }

void read_stability(const json::value* v, std::optional<stability_strategy>& strategy,
                    std::optional<stability_severity>& severity) {
  if (v == nullptr) return;
  if (const json::value* s = v->get("strategy")) {
    const std::string& word = s->as_string();
    strategy = word == "mutable"     ? stability_strategy::mutable_
               : word == "unchecked" ? stability_strategy::unchecked
                                     : stability_strategy::immutable;
  }
  if (const json::value* s = v->get("severity"))
    severity = s->as_string() == "error" ? stability_severity::error : stability_severity::warn;
}

void read_exec(const json::value& exec, task_config& t) {
  t.has_exec = true;
  t.command = exec.get("command")->as_string();
  read_count(exec.get("timeout"), t.timeout_ms);
  read_count(exec.get("retries"), t.retries);
  if (const json::value* p = exec.get("persistent")) {
    t.persistent = true;
    if (const json::value* w = p->get("readyWhen")) t.ready_when = w->as_string();
  }
  t.interactive = read_flag(exec.get("interactive"), false);
  t.has_sandbox = exec.get("sandbox") != nullptr;
  const json::value* env = exec.get("env");
  if (env == nullptr) return;
  read_list(env->get("passThrough"), t.env_pass_through);
  read_list(env->get("secret"), t.env_secret);
  if (const json::value* define = env->get("define")) {
    for (const json::member& m : define->as_object()) t.env_define.emplace_back(m.name, m.val.as_string());
    std::sort(t.env_define.begin(), t.env_define.end());
  }
}

void read_cache(const json::value& cache, task_config& t) {
  t.has_cache = true;
  const json::value& in = *cache.get("inputs");
  read_list(in.get("files"), t.input_files);
  read_list(in.get("workspaceFiles"), t.input_workspace_files);
  read_list(in.get("env"), t.input_env);
  read_list(in.get("runtime"), t.input_runtime);
  read_list(in.get("workspaceRuntime"), t.input_workspace_runtime);
  if (const json::value* tasks = in.get("tasks")) read_list(tasks, t.input_tasks.emplace());
  const json::value& out = *cache.get("outputs");
  read_list(out.get("files"), t.output_files);
  read_list(out.get("workspaceFiles"), t.output_workspace_files);
  t.portable = read_flag(cache.get("portable"), false);
  read_stability(cache.get("inputStability"), t.strategy, t.severity);
}

task_config read_task(const std::string& name, const json::value& v) {
  task_config t;
  t.name = name;
  read_text(v.get("description"), t.description);
  if (const json::value* exec = v.get("exec")) read_exec(*exec, t);
  read_list(v.get("dependsOn"), t.depends_on);
  if (const json::value* cache = v.get("cache")) read_cache(*cache, t);
  t.digest = key::xxh3_128(canonical_task(v));
  return t;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& ch : out) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return out;
}

void read_retention(const json::value& v, workspace_config::retention& r) {
  if (v.is_bool()) {
    r.older_than_ms.reset();
    r.max_bytes.reset();
    return;
  }
  const auto off = [](const json::value& b) { return b.is_bool() || b.is_number() || b.as_string() == "0"; };
  if (const json::value* age = v.get("olderThan")) {
    r.older_than_ms = off(*age) ? std::nullopt : text::parse_duration_ms(lower(age->as_string()));
    if (r.older_than_ms == std::uint64_t{0}) r.older_than_ms.reset();
  }
  if (const json::value* size = v.get("maxSize")) {
    r.max_bytes = off(*size) ? std::nullopt : text::parse_size(size->as_string());
    if (r.max_bytes == std::uint64_t{0}) r.max_bytes.reset();
  }
}

}  // namespace

std::string canonical_task(const json::value& task) {
  const json::value* exec = task.get("exec");
  const json::value* cache = task.get("cache");
  const bool drop_remote = exec != nullptr && exec->get("remote") != nullptr;
  const bool drop_stability = cache != nullptr && cache->get("inputStability") != nullptr;
  if (!drop_remote && !drop_stability) return json::write_canonical(task);
  json::value kept = task;
  if (drop_remote) kept.as_object().find("exec")->as_object().erase("remote");
  if (drop_stability) kept.as_object().find("cache")->as_object().erase("inputStability");
  return json::write_canonical(kept);
}

task_config implicit_build() {
  // Written as a config would write it, so that its digest follows the same rule as every other.
  static constexpr std::string_view k_text =
      R"({"cache":{"inputs":{"files":["**"]},"outputs":{"files":[]}},"dependsOn":["^build"]})";
  task_config t;
  t.name = "build";
  t.depends_on = {"^build"};
  t.has_cache = true;
  t.input_files = {"**"};
  t.implicit = true;
  t.digest = key::xxh3_128(k_text);
  return t;
}

result<project_config> validate_project(const json::value& v, std::string_view file, std::string_view text,
                                        bool has_package_name) {
  schema::checker c({file, path::parent(file), has_package_name, {}});
  if (!c.object(v, schema::k_project_level)) return fail(schema::to_failure(*c.refused(), file, text));
  project_config p;
  p.path = file;
  read_text(v.get("name"), p.name);
  read_list(v.get("tags"), p.tags);
  read_list(v.get("dependencies"), p.dependencies);
  if (const json::value* tasks = v.get("tasks")) {
    p.tasks.reserve(tasks->as_object().size());
    for (const json::member& m : tasks->as_object()) p.tasks.push_back(read_task(m.name, m.val));
    std::sort(p.tasks.begin(), p.tasks.end(), [](const task_config& a, const task_config& b) { return a.name < b.name; });
  }
  p.json = json::write_canonical(v);
  return p;
}

result<workspace_config> validate_workspace(const json::value& v, std::string_view file, std::string_view text) {
  schema::checker c({file, path::parent(file), false, {}});
  if (!c.object(v, schema::k_workspace_level)) return fail(schema::to_failure(*c.refused(), file, text));
  workspace_config w;
  w.path = file;
  read_list(v.get("projects"), w.projects);
  read_count(v.get("concurrency"), w.concurrency);
  read_count(v.get("timeout"), w.timeout_ms);
  read_text(v.get("cacheDir"), w.cache_dir);
  if (const json::value* r = v.get("cacheRetention")) read_retention(*r, w.cache_retention);
  read_text(v.get("affectedBase"), w.affected_base);
  read_text(v.get("cacheScope"), w.cache_scope);
  if (const json::value* rules = v.get("rules")) {
    w.exclusive_outputs = read_flag(rules->get("exclusiveOutputs"), true);
    w.upfront_keys = read_flag(rules->get("upfrontKeys"), true);
  }
  if (const json::value* l = v.get("lockfile")) w.lockfile = l->as_string();
  if (const json::value* s = v.get("schedule")) w.schedule = s->as_string();
  w.has_remote_cache = v.get("remoteCache") != nullptr;
  read_stability(v.get("inputStability"), w.strategy, w.severity);
  w.json = json::write_canonical(v);
  return w;
}

}  // namespace vx::workspace
