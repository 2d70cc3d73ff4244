// A validated task and project config as data (config.md 6). No defaults are filled in beyond "absent".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace vx::workspace {

enum class stability_strategy : std::uint8_t { immutable, mutable_, unchecked };
enum class stability_severity : std::uint8_t { warn, error };

struct task_config {
  std::string name;
  std::optional<std::string> description;

  bool has_exec = false;  ///< false: a group
  std::string command;
  std::optional<std::uint32_t> timeout_ms;
  std::optional<std::uint32_t> retries;
  bool persistent = false;
  std::string ready_when;
  bool interactive = false;
  bool has_sandbox = false;
  std::vector<std::string> env_pass_through, env_secret;
  std::vector<std::pair<std::string, std::string>> env_define;

  std::vector<std::string> depends_on;

  bool has_cache = false;
  std::vector<std::string> input_files, input_workspace_files, input_env, input_runtime, input_workspace_runtime;
  std::optional<std::vector<std::string>> input_tasks;  ///< nullopt: all
  std::vector<std::string> output_files, output_workspace_files;
  bool portable = false;
  std::optional<stability_strategy> strategy;
  std::optional<stability_severity> severity;

  bool implicit = false;  ///< the implicit `build` (graph.md 6)
  digest128 digest;       ///< XXH3-128 of the canonical task object minus exec.remote, cache.inputStability

  bool is_group() const noexcept { return !has_exec; }
  bool keyed_group() const noexcept { return !has_exec && has_cache; }
  bool cacheable() const noexcept { return has_exec && has_cache; }
};

struct project_config {
  std::string path;  ///< root-relative config file, "" = none
  std::optional<std::string> name;
  std::vector<std::string> tags, dependencies;
  std::vector<task_config> tasks;             ///< sorted by name, without the implicit build
  std::string json;                           ///< canonical text of the whole validated config
  std::vector<std::string> reads;             ///< root-relative files and absent paths the evaluation consulted (config reads)
  std::vector<std::string> volatile_reasons;  ///< why it is evaluated on every run; empty = cacheable
};

/// The implicit build of a project that declares none: keyed group, dependsOn ^build, inputs ["**"], no outputs.
task_config implicit_build();

struct workspace_config {
  std::string path;  ///< root-relative, "" = none
  std::vector<std::string> projects;
  std::optional<std::uint32_t> concurrency, timeout_ms;
  std::optional<std::string> cache_dir;
  struct retention {
    std::optional<std::uint64_t> older_than_ms = std::uint64_t{30} * 24 * 3600 * 1000;  ///< nullopt: off
    std::optional<std::uint64_t> max_bytes = std::uint64_t{10} << 30;
  } cache_retention;
  std::optional<std::string> affected_base, cache_scope;
  bool exclusive_outputs = true, upfront_keys = true;
  std::string lockfile = "whole", schedule = "critical-path";
  bool closure_keys() const noexcept { return lockfile == "closure"; }
  bool has_remote_cache = false;
  std::optional<stability_strategy> strategy;
  std::optional<stability_severity> severity;
  std::string json;
  std::vector<std::string> reads;
};

}  // namespace vx::workspace
