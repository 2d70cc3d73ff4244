// The run request: the JSON of vx_run_start and of the plan query, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "graph/scheduler.hpp"
#include "graph/task_graph.hpp"
#include "workspace/selection.hpp"

namespace vx::run {

/// The four switches of the cache policy (cache.md 19).
struct cache_policy {
  bool local_read = true, local_write = true, remote_read = true, remote_write = true;
  bool may_read() const noexcept { return local_read || remote_read; }
  bool may_write() const noexcept { return local_write || remote_write; }
  std::string letters() const;  ///< "lR,lW,rR,rW", only the axes that are on
};

/// "local:rw,remote:r" on top of `base`. The message names the bad layer or flag.
result<cache_policy> parse_cache_spec(std::string_view spec, cache_policy base);

struct run_request {
  workspace::selection_request select;  ///< cwd is filled in by the workspace handle
  graph::exclude_option exclude;
  std::vector<std::string> args;  ///< forwarded
  std::string concurrency;        ///< "", "4" or "50%"
  cache_policy policy;
  std::optional<std::string> cache_dir;
  std::optional<std::uint32_t> retry;
  graph::continue_mode mode = graph::continue_mode::deps_ok;
  std::optional<std::uint32_t> timeout_ms;
  bool summarize = false;
  std::string summarize_path;  ///< "" = the default place
  std::vector<std::pair<std::string, std::string>> tags;
  std::string command;  ///< for the record
  std::string flow;     ///< "focused", "broad" or ""
  bool hold = false;
};

/// Refuses unknown fields with a hint, wrong types and values by name. `extra` lists fields of the query itself ("query").
result<run_request> parse_run_request(const json::value& document, const std::vector<std::string>& extra = {});

/// "4" -> 4; "50%" -> half of `cpus`, rounded, at least 1. Failure echoes the value.
result<unsigned> resolve_concurrency(std::string_view text, unsigned cpus);

}  // namespace vx::run
