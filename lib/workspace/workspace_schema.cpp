#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "workspace/project_schema.hpp"

namespace vx::workspace::schema {
namespace {

bool one_of(checker& c, const json::value& v, std::initializer_list<std::string_view> words) {
  if (v.is_string() && std::find(words.begin(), words.end(), v.as_string()) != words.end()) return true;
  std::string list;
  std::size_t left = words.size();
  for (const std::string_view w : words) {
    --left;
    list += (list.empty() ? "\"" : left == 0 ? " or \"" : ", \"") + std::string(w) + "\"";
  }
  return c.must(v, "must be " + list);
}

bool is_projects(checker& c, const json::value& v, const field& f) {
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a directory or a glob of directories");
    return !is_blank(e.as_string()) || c.refuse(e, "must not be empty: write `.` for the root");
  });
}

bool is_cache_dir(checker& c, const json::value& v, const field& f) {
  if (!v.is_string()) return c.must(v, f.must);
  const std::string& dir = v.as_string();
  if (is_blank(dir)) return c.must(v, "must be a directory of its own, because vx writes a `.gitignore` there");
  if (dir.find('\0') != std::string::npos) return c.refuse(v, "must not hold a NUL byte");
  return dir != "~" || c.must(v, "must be a directory of its own, such as \"~/.cache/vx\"");
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& ch : out) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return out;
}

/// "0" and false switch a bound off; any other bare number is a probable typo.
bool is_off(const json::value& v) {
  return (v.is_bool() && !v.as_bool()) || integral(v, 0, 0).has_value() || (v.is_string() && v.as_string() == "0");
}

bool is_age(checker& c, const json::value& v, const field& f) {
  if (is_off(v)) return true;
  return (v.is_string() && text::parse_duration_ms(lower(v.as_string())).has_value()) || c.must(v, f.must);
}

bool is_size(checker& c, const json::value& v, const field& f) {
  if (is_off(v)) return true;
  return (v.is_string() && text::parse_size(v.as_string()).has_value()) || c.must(v, f.must);
}

constexpr field k_retention_fields[] = {
    {"olderThan", is_age, "must be an integer with a unit s, m, h or d, such as \"30d\", or false"},
    {"maxSize", is_size, "must be an integer with a unit K, M, G or T, such as \"10G\", or false"},
};
constexpr level k_retention_level{"cacheRetention", "must be false or an object { olderThan, maxSize }", k_retention_fields};

bool is_retention(checker& c, const json::value& v, const field&) {
  if (v.is_bool() && !v.as_bool()) return true;
  if (v.is_object() && v.as_object().empty())
    return c.refuse(v, "must name a bound: write { olderThan } or { maxSize }, or leave it out");
  return c.object(v, k_retention_level);
}

bool is_git_ref(checker& c, const json::value& v, const field& f) {
  if (!v.is_string()) return c.must(v, f.must);
  const std::string& ref = v.as_string();
  const bool bad = ref.empty() || ref.front() == '-' ||
                   std::any_of(ref.begin(), ref.end(), [](unsigned char ch) { return ch == 0 || std::isspace(ch) != 0; });
  return !bad || c.must(v, "must be a git reference without white space, NUL or a leading `-`");
}

bool is_scope(checker& c, const json::value& v, const field& f) {
  if (!v.is_string()) return c.must(v, f.must);
  const std::string& s = v.as_string();
  const bool fine = !s.empty() && s.size() <= 128 && std::all_of(s.begin(), s.end(), [](unsigned char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           std::string_view("._@/-").find(static_cast<char>(ch)) != std::string_view::npos;
  });
  return fine || c.must(v, "must be \"trusted\", \"read-only\" or a name of at most 128 characters of [A-Za-z0-9._@/-]");
}

constexpr field k_rules_fields[] = {{"exclusiveOutputs", is_flag}, {"upfrontKeys", is_flag}};
constexpr level k_rules_level{"rules", "must be an object { exclusiveOutputs, upfrontKeys }", k_rules_fields};

bool is_lockfile(checker& c, const json::value& v, const field&) { return one_of(c, v, {"whole", "closure"}); }
bool is_schedule(checker& c, const json::value& v, const field&) {
  return one_of(c, v, {"critical-path", "most-work", "direct-dependents", "ready-order"});
}
bool is_admission(checker& c, const json::value& v, const field&) { return one_of(c, v, {"memory"}); }
bool is_require(checker& c, const json::value& v, const field&) { return one_of(c, v, {"namespaces", "any"}); }
constexpr field k_wall_fields[] = {{"require", is_require}};
constexpr level k_wall_level{"sandbox", "must be an object { require }: what a task may touch is `exec.sandbox` of the task",
                             k_wall_fields};

// --- remoteCache
// -----------------------------------------------------------------------------------------------------------------

bool is_absolute_url(std::string_view s) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (s.starts_with(scheme)) return s.size() > scheme.size() && s[scheme.size()] != '/';
  }
  return s.starts_with("grpc://") || s.starts_with("grpcs://");
}
bool has_credentials(std::string_view url) noexcept {
  const std::size_t at = url.find("://");
  if (at == std::string_view::npos) return false;
  const std::string_view authority = url.substr(at + 3, url.find_first_of("/?#", at + 3) - at - 3);
  return authority.find('@') != std::string_view::npos;
}
bool is_url(checker& c, const json::value& v, const field&) {
  if (!v.is_string() || !is_absolute_url(v.as_string())) return c.must(v, "must be an absolute URL");
  return !has_credentials(v.as_string()) || c.refuse(v, "must hold no user or password: name a variable in `tokenEnv`");
}
bool is_url_with_user(checker& c, const json::value& v, const field&) {
  return (v.is_string() && is_absolute_url(v.as_string())) || c.must(v, "must be an absolute URL");
}
bool is_env_name(checker& c, const json::value& v, const field&) {
  if (!v.is_string()) return c.must(v, "must be the NAME of a variable");
  return check_env_name(c, v, v.as_string(), false);
}
bool is_kind(checker&, const json::value&, const field&) { return true; }  // decided before the level is chosen
bool no_signature(checker& c, const json::value& v, const field&) {
  return c.refuse(v, "is not available for the type \"nx\": its protocol has no signatures");
}

// Fields that every type has, then the type's own.
#define VX_REMOTE_COMMON(url_rule, signature_rule)                                                              \
  {"type", is_kind}, {"url", url_rule}, {"tokenEnv", is_env_name}, {"signatureKeyEnv", is_env_name},            \
      {"signature", signature_rule}, {"connectTimeoutMs", is_positive_int}, {"idleTimeoutMs", is_positive_int}, \
      {"budgetMs", is_positive_int}, {                                                                          \
    "uploadWaitMs", is_positive_int                                                                             \
  }

constexpr field k_turbo_fields[] = {VX_REMOTE_COMMON(is_url, is_flag), {"team", is_text}};
constexpr field k_http_fields[] = {VX_REMOTE_COMMON(is_url_with_user, is_flag)};
constexpr field k_s3_fields[] = {VX_REMOTE_COMMON(is_url, is_flag),
                                 {"bucket", is_text},
                                 {"prefix", is_text},
                                 {"region", is_text},
                                 {"endpoint", is_url},
                                 {"pathStyle", is_flag}};
constexpr field k_nx_fields[] = {VX_REMOTE_COMMON(is_url, no_signature)};
constexpr field k_reapi_fields[] = {VX_REMOTE_COMMON(is_url, is_flag), {"instance", is_text}};
#undef VX_REMOTE_COMMON

constexpr std::string_view k_remote_shape = "must be an object with a `type`, or an array of them";
constexpr level k_remote_levels[] = {
    {"turbo", k_remote_shape, k_turbo_fields}, {"http", k_remote_shape, k_http_fields},   {"s3", k_remote_shape, k_s3_fields},
    {"nx", k_remote_shape, k_nx_fields},       {"reapi", k_remote_shape, k_reapi_fields},
};

bool remote_layer(checker& c, const json::value& v) {
  if (!v.is_object()) return c.must(v, k_remote_shape);
  const json::value* type = v.get("type");
  constexpr std::string_view k_types = "\"turbo\", \"http\", \"s3\", \"nx\" or \"reapi\"";
  if (type == nullptr) return c.missing("type", "is required: one of " + std::string(k_types));
  for (const level& l : k_remote_levels) {
    if (type->is_string() && type->as_string() == l.label) return c.object(v, l);
  }
  return c.inside("type", [&] { return c.must(*type, "must be " + std::string(k_types)); });
}

bool is_remote_cache(checker& c, const json::value& v, const field& f) {
  if (v.is_object()) return remote_layer(c, v);
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) { return remote_layer(c, e); });
}

// --- telemetry
// -------------------------------------------------------------------------------------------------------------------

bool is_endpoint(checker& c, const json::value& v, const field&) {
  const bool http = v.is_string() && (v.as_string().starts_with("http://") || v.as_string().starts_with("https://"));
  if (!http || !is_absolute_url(v.as_string())) return c.must(v, "must be an absolute http or https URL");
  return !has_credentials(v.as_string()) || c.refuse(v, "must hold no user or password");
}
constexpr field k_otlp_fields[] = {{"endpoint", is_endpoint}};
constexpr level k_otlp_level{"otlp", "must be true or an object { endpoint }", k_otlp_fields};
bool is_otlp(checker& c, const json::value& v, const field&) {
  if (v.is_bool() && v.as_bool()) return true;
  if (!c.object(v, k_otlp_level)) return false;
  return v.get("endpoint") != nullptr || c.missing("endpoint", "is required: write `otlp: true` for the usual variables");
}
constexpr field k_telemetry_fields[] = {{"otlp", is_otlp}};
constexpr level k_telemetry_level{"telemetry", "must be an object { otlp }", k_telemetry_fields};

constexpr field k_workspace_fields[] = {
    {"projects", is_projects, "must be an array of directories or globs"},
    {"concurrency", is_positive_int},
    {"timeout", is_milliseconds},
    {"cacheDir", is_cache_dir, "must be a string with a directory"},
    {"cacheRetention", is_retention},
    {"affectedBase", is_git_ref, "must be a string with a git reference"},
    {"cacheScope", is_scope, "must be a string: \"trusted\", \"read-only\" or a name"},
    {"rules", is_nested, {}, &k_rules_level},
    {"lockfile", is_lockfile},
    {"schedule", is_schedule},
    {"admission", is_admission},
    {"remoteCache", is_remote_cache, k_remote_shape},
    {"inputStability", is_nested, {}, &k_stability_level},
    {"sandbox", is_nested, {}, &k_wall_level},
    {"telemetry", is_nested, {}, &k_telemetry_level},
    {"$schema", is_schema_link},
};
constexpr pointer k_workspace_pointers[] = {
    {"pipeline", "tasks are declared in each project's vx.config"},
    {"tasks", "tasks are declared in each project's vx.config"},
    {"parallel", "write it as `concurrency`"},
    {"cacheDirectory", "write it as `cacheDir`"},
    {"defaultBase", "write it as `affectedBase`"},
    {"tasksRunnerOptions", "the remote cache is `remoteCache`, the number of tasks at a time `concurrency`"},
    {"globalPassThroughEnv", "a task names the variables it sees in `exec.env.passThrough`"},
    {"globalEnv", "a task names the variables that decide its result in `cache.inputs.env`"},
    {"globalDependencies", "a task names shared files in `cache.inputs.workspaceFiles`"},
    {"packages", "members come from the package manager; further directories are `projects`"},
    {"workspaces", "members come from the package manager; further directories are `projects`"},
    {"catalog", "catalogs are read from the package manager's own file"},
    {"npmClient", "the package manager is found by its files"},
    {"ignore", "write a `!` entry in `projects`"},
    {"cache", "the store is `cacheDir`, its bounds `cacheRetention`, the shared one `remoteCache`"},
    {"remote", "write it as `remoteCache`"},
    {"env", "variables are declared per task, in `exec.env` and `cache.inputs.env`"},
};

}  // namespace

constinit const level k_workspace_level{"the workspace config", "must be an object", k_workspace_fields, k_workspace_pointers};

}  // namespace vx::workspace::schema
