// `vx cache stats` and `vx cache prune` (cli.md 12, cache.md 12).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "cache/store.hpp"
#include "run/host.hpp"

namespace vx::run {

/// {"result": the document of cli.md 12, "notices": [...]}. Reads only.
result<json::value> cache_stats(std::shared_ptr<const host> h, const std::optional<std::string>& cache_dir,
                                const cancel_token* cancel);

struct prune_request {
  std::optional<std::string> older_than;  ///< "30d"
  std::optional<std::string> max_size;    ///< "10G", "5MB", "100B"
  bool dry_run = false;
  std::optional<std::uint32_t> wait_ms;  ///< how long to wait for a run; absent: until it has ended
  std::optional<std::string> cache_dir;
};
/// Removes entries under the run lock; a dry run takes no lock and only counts. A store that was never used stays uncreated.
/// USAGE for bounds, REFUSED (details: {"busy":true}) when a run outlasts the wait, CONFIG, FS.
result<json::value> prune_cache(std::shared_ptr<const host> h, const prune_request& request, const cancel_token* cancel);

/// What was, or would be, removed: the document of cli.md 12.
json::object prune_object(bool dry_run, const cache::store::prune_report& report);

/// What a store holds: the part of the stats document that needs no workspace.
json::object stats_object(const std::string& dir, const cache::store::statistics& stats);

/// Not less than one of each; the failure says what is wrong.
result<cache::store::retention> parse_bounds(const prune_request& request);

/// The largest unit that keeps the value exact: "30d", "90m"; "10GB", "100B".
std::string duration_words(std::uint64_t ms);
std::string size_words(std::uint64_t bytes);

/// "flag", "config", "env", "shared", "workspace"
std::string_view source_word(cache::store_source s) noexcept;

}  // namespace vx::run
