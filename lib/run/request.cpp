#include "run/request.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.hpp"

namespace vx::run {
namespace {

bool string_list(const json::value& v, std::vector<std::string>& out) {
  if (!v.is_array()) return false;
  for (const json::value& item : v.as_array()) {
    if (!item.is_string()) return false;
    out.push_back(item.as_string());
  }
  return true;
}

bool positive_ms(const json::value& v, std::uint32_t& out) {
  if (!v.is_int() || v.as_int() < 1 || v.as_int() > 2147483647) return false;
  out = static_cast<std::uint32_t>(v.as_int());
  return true;
}

bool read_affected(run_request& r, const json::value& v) {
  if (v.is_bool()) {
    r.select.affected = v.as_bool();
    return true;
  }
  if (!v.is_string()) return false;
  r.select.affected = true;
  r.select.affected_base = v.as_string();
  return true;
}

bool read_exclude(run_request& r, const json::value& v) {
  if (v.is_bool()) {
    r.exclude.all = v.as_bool();
    return true;
  }
  return string_list(v, r.exclude.names) && !r.exclude.names.empty();
}

bool read_concurrency(run_request& r, const json::value& v) {
  if (v.is_int()) {
    r.concurrency = std::to_string(v.as_int());
    return true;
  }
  if (!v.is_string()) return false;
  r.concurrency = v.as_string();
  return true;
}

bool read_continue(run_request& r, const json::value& v) {
  if (!v.is_string()) return false;
  const std::string& word = v.as_string();
  if (word == "never")
    r.mode = graph::continue_mode::never;
  else if (word == "deps-ok")
    r.mode = graph::continue_mode::deps_ok;
  else if (word == "always")
    r.mode = graph::continue_mode::always;
  else
    return false;
  return true;
}

bool read_summarize(run_request& r, const json::value& v) {
  if (v.is_bool()) {
    r.summarize = v.as_bool();
    return true;
  }
  if (!v.is_string() || v.as_string().empty()) return false;
  r.summarize = true;
  r.summarize_path = v.as_string();
  return true;
}

bool read_tags(run_request& r, const json::value& v) {
  if (!v.is_object()) return false;
  for (const json::member& m : v.as_object()) {
    if (m.name.empty() || !m.val.is_string()) return false;
    r.tags.emplace_back(m.name, m.val.as_string());
  }
  return true;
}

bool read_retry(run_request& r, const json::value& v) {
  if (!v.is_int() || v.as_int() < 0 || v.as_int() > 2147483647) return false;
  r.retry = static_cast<std::uint32_t>(v.as_int());
  return true;
}

bool read_timeout(run_request& r, const json::value& v) {
  std::uint32_t ms = 0;
  if (!positive_ms(v, ms)) return false;
  r.timeout_ms = ms;
  return true;
}

bool read_flag(bool& out, const json::value& v) {
  if (!v.is_bool()) return false;
  out = v.as_bool();
  return true;
}

bool read_text(std::string& out, const json::value& v) {
  if (!v.is_string()) return false;
  out = v.as_string();
  return true;
}

// Policy fields are applied in their fixed order after the table: --cache, then --no-cache, then --force.
struct policy_fields {
  std::string spec;
  bool has_spec = false, no_cache = false, force = false;
};

status apply_policy(const policy_fields& p, cache_policy& out) {
  if (p.has_spec) {
    VX_TRY_LET(out, parse_cache_spec(p.spec, out));
  }
  if (p.no_cache) out = cache_policy{false, false, false, false};
  if (p.force) out.local_read = out.remote_read = false;
  return {};
}

bool set_field(std::string_view name, const json::value& v, run_request& r, policy_fields& policy, const char*& form,
               bool& known) {
  known = true;
  struct row {
    std::string_view name;
    const char* form;
    std::function<bool()> set;
  };
  const row rows[] = {
      {"tasks", "an array of task names", [&] { return string_list(v, r.select.names); }},
      {"all", "a boolean", [&] { return read_flag(r.select.all, v); }},
      {"filter", "an array of filters", [&] { return string_list(v, r.select.filters); }},
      {"affected", "true or a git reference", [&] { return read_affected(r, v); }},
      {"excludeDependencies", "true or a list of task names", [&] { return read_exclude(r, v); }},
      {"args", "an array of strings", [&] { return string_list(v, r.args); }},
      {"concurrency", "a positive integer or a share of the cores", [&] { return read_concurrency(r, v); }},
      {"force", "a boolean", [&] { return read_flag(policy.force, v); }},
      {"noCache", "a boolean", [&] { return read_flag(policy.no_cache, v); }},
      {"cache", "a cache policy such as local:rw,remote:r",
       [&] {
         policy.has_spec = true;
         return read_text(policy.spec, v);
       }},
      {"cacheDir", "a path",
       [&] {
         r.cache_dir.emplace();
         return read_text(*r.cache_dir, v);
       }},
      {"retry", "an integer from 0", [&] { return read_retry(r, v); }},
      {"continue", "never, deps-ok or always", [&] { return read_continue(r, v); }},
      {"timeout", "a positive number of milliseconds up to 2147483647", [&] { return read_timeout(r, v); }},
      {"summarize", "true or a path", [&] { return read_summarize(r, v); }},
      {"tags", "an object of strings with no empty name", [&] { return read_tags(r, v); }},
      {"command", "a string", [&] { return read_text(r.command, v); }},
      {"flow", "focused or broad", [&] { return read_text(r.flow, v) && (r.flow == "focused" || r.flow == "broad"); }},
      {"hold", "a boolean", [&] { return read_flag(r.hold, v); }},
  };
  for (const row& f : rows) {
    if (f.name != name) continue;
    form = f.form;
    return f.set();
  }
  known = false;
  return false;
}

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names = {
      "affected", "all",  "args",  "cache", "cacheDir", "command", "concurrency", "continue", "excludeDependencies",
      "filter",   "flow", "force", "hold",  "noCache",  "retry",   "summarize",   "tags",     "tasks",
      "timeout"};
  return names;
}

}  // namespace

std::string cache_policy::letters() const {
  std::string out;
  const auto add = [&](bool on, const char* word) {
    if (!on) return;
    if (!out.empty()) out += ',';
    out += word;
  };
  add(local_read, "lR");
  add(local_write, "lW");
  add(remote_read, "rR");
  add(remote_write, "rW");
  return out;
}

result<cache_policy> parse_cache_spec(std::string_view spec, cache_policy out) {
  if (text::trim(spec).empty()) return fail(errc::USAGE, "cache policy is empty: use --no-cache to switch the cache off");
  for (std::string_view part : text::split(spec, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos)
      return fail(errc::USAGE, "cache policy " + text::escape(part) + " needs the form <layer>:<flags>, such as local:r");
    const std::string_view layer = part.substr(0, colon), flags = part.substr(colon + 1);
    if (layer != "local" && layer != "remote")
      return fail(errc::USAGE, "cache policy names the layer " + text::escape(layer) + ": it is local or remote");
    const std::size_t bad = flags.find_first_not_of("rw");
    if (bad != std::string_view::npos)
      return fail(errc::USAGE, "cache policy " + text::escape(part) + " has the flag " + text::escape(flags.substr(bad, 1)) +
                                   ": flags are r and w");
    const bool read = flags.find('r') != std::string_view::npos, write = flags.find('w') != std::string_view::npos;
    (layer == "local" ? out.local_read : out.remote_read) = read;
    (layer == "local" ? out.local_write : out.remote_write) = write;
  }
  return out;
}

result<run_request> parse_run_request(const json::value& document, const std::vector<std::string>& extra) {
  if (!document.is_object()) return fail(errc::USAGE, "request must be a JSON object");
  run_request r;
  policy_fields policy;
  for (const json::member& m : document.as_object()) {
    if (std::find(extra.begin(), extra.end(), m.name) != extra.end()) continue;
    const char* form = "";
    bool known = false;
    if (set_field(m.name, m.val, r, policy, form, known)) continue;
    if (!known)
      return fail(errc::USAGE, "request has no field " + text::escape(m.name) + text::did_you_mean(m.name, field_names()));
    return fail(errc::USAGE, "request field " + m.name + " must be " + form);
  }
  VX_TRY(apply_policy(policy, r.policy));
  return r;
}

result<unsigned> resolve_concurrency(std::string_view word, unsigned cpus) {
  const auto refuse = [&] {
    return fail(errc::USAGE,
                "concurrency " + text::escape(word) + " must be a positive integer or a share of the cores such as 50%");
  };
  const bool share = !word.empty() && word.back() == '%';
  const auto n = text::parse_uint(share ? word.substr(0, word.size() - 1) : word);
  if (!n || *n == 0 || *n > 100000) return refuse();
  if (!share) return static_cast<unsigned>(*n);
  const double scaled = std::round(static_cast<double>(cpus) * static_cast<double>(*n) / 100.0);
  return std::max(1u, static_cast<unsigned>(scaled));
}

}  // namespace vx::run
