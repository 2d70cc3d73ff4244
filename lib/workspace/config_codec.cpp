#include "workspace/config_codec.hpp"

namespace vx::workspace {
namespace {

// Bits of a task's flag word. Optional scalars have a presence bit; their value follows only when it is set.
enum flag : std::uint32_t {
  f_description = 1u << 0,
  f_exec = 1u << 1,
  f_timeout = 1u << 2,
  f_retries = 1u << 3,
  f_persistent = 1u << 4,
  f_interactive = 1u << 5,
  f_sandbox = 1u << 6,
  f_cache = 1u << 7,
  f_tasks = 1u << 8,
  f_portable = 1u << 9,
  f_strategy = 1u << 10,
  f_severity = 1u << 11,
};

void put_list(byte_writer& w, const std::vector<std::string>& list) {
  w.u32(static_cast<std::uint32_t>(list.size()));
  for (const std::string& s : list) w.text32(s);
}

void get_list(byte_reader& r, std::vector<std::string>& list) {
  const std::uint32_t n = r.u32();
  if (n > r.remaining() / 4) {  // every element takes at least its length: a torn count must not allocate
    (void)r.raw(r.remaining() + 1);
    return;
  }
  list.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) list.emplace_back(r.text32());
}

std::uint32_t flags_of(const task_config& t) {
  std::uint32_t f = 0;
  const auto set = [&](bool on, std::uint32_t bit) { f |= on ? bit : 0; };
  set(t.description.has_value(), f_description);
  set(t.has_exec, f_exec);
  set(t.timeout_ms.has_value(), f_timeout);
  set(t.retries.has_value(), f_retries);
  set(t.persistent, f_persistent);
  set(t.interactive, f_interactive);
  set(t.has_sandbox, f_sandbox);
  set(t.has_cache, f_cache);
  set(t.input_tasks.has_value(), f_tasks);
  set(t.portable, f_portable);
  set(t.strategy.has_value(), f_strategy);
  set(t.severity.has_value(), f_severity);
  return f;
}

void put_task(byte_writer& w, const task_config& t) {
  w.u32(flags_of(t));
  w.text32(t.name);
  w.raw(t.digest.view());
  if (t.description) w.text32(*t.description);
  put_list(w, t.depends_on);
  if (t.has_exec) {
    w.text32(t.command);
    if (t.timeout_ms) w.u32(*t.timeout_ms);
    if (t.retries) w.u32(*t.retries);
    w.text32(t.ready_when);
    put_list(w, t.env_pass_through);
    put_list(w, t.env_secret);
    w.u32(static_cast<std::uint32_t>(t.env_define.size()));
    for (const auto& [name, value] : t.env_define) {
      w.text32(name);
      w.text32(value);
    }
  }
  if (!t.has_cache) return;
  for (const auto* list :
       {&t.input_files, &t.input_workspace_files, &t.input_env, &t.input_runtime, &t.input_workspace_runtime})
    put_list(w, *list);
  if (t.input_tasks) put_list(w, *t.input_tasks);
  put_list(w, t.output_files);
  put_list(w, t.output_workspace_files);
  if (t.strategy) w.u8(static_cast<std::uint8_t>(*t.strategy));
  if (t.severity) w.u8(static_cast<std::uint8_t>(*t.severity));
}

void get_exec(byte_reader& r, std::uint32_t f, task_config& t) {
  t.has_exec = true;
  t.command = r.text32();
  if ((f & f_timeout) != 0) t.timeout_ms = r.u32();
  if ((f & f_retries) != 0) t.retries = r.u32();
  t.persistent = (f & f_persistent) != 0;
  t.interactive = (f & f_interactive) != 0;
  t.has_sandbox = (f & f_sandbox) != 0;
  t.ready_when = r.text32();
  get_list(r, t.env_pass_through);
  get_list(r, t.env_secret);
  const std::uint32_t n = r.u32();
  for (std::uint32_t i = 0; i < n && r.ok(); ++i) {
    const std::string_view name = r.text32();
    t.env_define.emplace_back(name, r.text32());
  }
}

void get_cache(byte_reader& r, std::uint32_t f, task_config& t) {
  t.has_cache = true;
  for (auto* list : {&t.input_files, &t.input_workspace_files, &t.input_env, &t.input_runtime, &t.input_workspace_runtime})
    get_list(r, *list);
  if ((f & f_tasks) != 0) get_list(r, t.input_tasks.emplace());
  get_list(r, t.output_files);
  get_list(r, t.output_workspace_files);
  t.portable = (f & f_portable) != 0;
  if ((f & f_strategy) != 0) t.strategy = static_cast<stability_strategy>(r.u8());
  if ((f & f_severity) != 0) t.severity = static_cast<stability_severity>(r.u8());
}

void get_task(byte_reader& r, task_config& t) {
  const std::uint32_t f = r.u32();
  t.name = r.text32();
  const std::string_view digest = r.raw(16);
  if (!r.ok()) return;
  std::memcpy(t.digest.raw.data(), digest.data(), 16);
  if ((f & f_description) != 0) t.description = r.text32();
  get_list(r, t.depends_on);
  if ((f & f_exec) != 0) get_exec(r, f, t);
  if ((f & f_cache) != 0) get_cache(r, f, t);
}

}  // namespace

std::string encode_project(const project_config& p) {
  byte_writer w;
  w.reserve(p.json.size() * 3 + 64);
  w.text32(p.path);
  w.u8(p.name ? 1 : 0);
  if (p.name) w.text32(*p.name);
  put_list(w, p.tags);
  put_list(w, p.dependencies);
  put_list(w, p.reads);
  w.text32(p.json);
  w.u32(static_cast<std::uint32_t>(p.tasks.size()));
  for (const task_config& t : p.tasks) put_task(w, t);
  return w.take();
}

bool decode_project(std::string_view raw, project_config& out) {
  byte_reader r(raw);
  out.path = r.text32();
  if (r.u8() != 0) out.name = r.text32();
  get_list(r, out.tags);
  get_list(r, out.dependencies);
  get_list(r, out.reads);
  out.json = r.text32();
  const std::uint32_t n = r.u32();
  if (!r.ok() || n > r.remaining()) return false;
  out.tasks.reserve(n);
  for (std::uint32_t i = 0; i < n && r.ok(); ++i) get_task(r, out.tasks.emplace_back());
  return r.ok() && r.at_end();
}

}  // namespace vx::workspace
