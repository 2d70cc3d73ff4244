#include "exec/task_env.hpp"

#include <array>
#include <string_view>

#include "base/mutation.hpp"
#include "base/path.hpp"

namespace vx::exec {
namespace {

constexpr std::array<std::string_view, 19> k_allowlist = {
    "PATH",     "HOME", "SHELL",     "USER",        "LOGNAME",  "TMPDIR", "TEMP",         "TMP",           "LANG",     "LC_ALL",
    "LC_CTYPE", "TERM", "COLORTERM", "FORCE_COLOR", "NO_COLOR", "CI",     "NODE_OPTIONS", "COREPACK_HOME", "PNPM_HOME"};

/// What a shell without PATH would search; setting PATH to the bin directories alone would take it away.
constexpr std::string_view k_system_path = "/usr/local/bin:/usr/bin:/bin";

/// The bin directories of a project and of the root, in PATH order; those that PATH cannot hold go to `left_out`.
std::vector<std::string> bin_directories(const std::string& root, const std::string& project_dir, bool project,
                                         std::vector<std::string>* left_out) {
  constexpr std::string_view k_bin = "node_modules/.bin";
  std::vector<std::string> candidates;
  if (project && !project_dir.empty()) candidates.push_back(path::join(path::join(root, project_dir), k_bin));
  candidates.push_back(path::join(root, k_bin));
  std::vector<std::string> out;
  for (std::string& dir : candidates) {
    if (dir.find(':') == std::string::npos) {
      out.push_back(std::move(dir));
    } else if (left_out != nullptr) {
      left_out->push_back(std::move(dir));
    }
  }
  return out;
}

std::string prefixed_path(const std::vector<std::string>& dirs, const std::string* path) {
  std::string out;
  for (const std::string& dir : dirs) {
    if (!out.empty()) out += ':';
    out += dir;
  }
  const std::string_view rest = path != nullptr ? std::string_view(*path) : k_system_path;
  if (!rest.empty()) {
    if (!out.empty()) out += ':';
    out += rest;
  }
  return out;
}

}  // namespace

task_environment build_task_environment(const environment& host, const env_request& request) {
  environment env;
  if (mutated("leaky-env")) env = host;
  for (const std::string_view name : k_allowlist) {
    if (const std::string* value = host.find(name)) env.set(std::string(name), *value);
  }
  for (const std::string& name : request.pass_through) {
    if (const std::string* value = host.find(name)) env.set(name, *value);
  }
  for (const auto& [name, value] : request.define) env.set(name, value);

  if (env.find("FORCE_COLOR") == nullptr && env.get("NO_COLOR").empty()) env.set("FORCE_COLOR", "1");
  if (!request.npm_execpath.empty() && env.find("npm_execpath") == nullptr) env.set("npm_execpath", request.npm_execpath);
  env.set("VX_RUN_WORKSPACE", request.root);
  env.set("VX_RUN_TASK", request.task_id);

  task_environment out;
  const std::vector<std::string> dirs = bin_directories(request.root, request.project_dir, true, &out.left_out);
  out.path = prefixed_path(dirs, env.find("PATH"));
  env.set("PATH", out.path);
  out.block = env.to_block();
  return out;
}

std::vector<std::string> build_probe_environment(const environment& host, const std::string& root,
                                                 const std::string& project_dir, bool project) {
  environment env = host;
  if (mutated("probe-path")) return env.to_block();
  env.set("PATH", prefixed_path(bin_directories(root, project_dir, project, nullptr), host.find("PATH")));
  return env.to_block();
}

}  // namespace vx::exec
