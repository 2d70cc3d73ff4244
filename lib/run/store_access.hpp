// Where a workspace's results and history are, and opening both for verbs that change nothing (cache.md 2).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/threads.hpp"
#include "cache/history_reader.hpp"
#include "cache/index.hpp"
#include "cache/store.hpp"
#include "run/host.hpp"
#include "run/memo.hpp"
#include "workspace/task_config.hpp"

namespace vx::run {

/// --cache-dir, then the workspace's cacheDir, then VX_CACHE_DIR, then the shared store of the repository. `memo` may be null.
result<cache::store_location> find_store(const host& h, const std::optional<std::string>& flag,
                                         const workspace::workspace_config& settings, cache::index* memo);

/// What a reading verb works with. Absent databases read as empty.
struct recorded {
  std::shared_ptr<const host> h;
  std::unique_ptr<cache::index> index;  ///< null only when tolerant and of another version
  std::unique_ptr<cache::history_reader> history;
  std::unique_ptr<index_memo> memo;
  workspace::workspace_config settings;
  std::optional<failure> settings_failure;  ///< the root config does not load: `settings` are the defaults
  cache::store_location location;
  std::unique_ptr<cache::store> store;
  std::vector<std::string> notices;
};

struct reading_options {
  std::optional<std::string> cache_dir;  ///< a directory that does not exist is refused by name
  /// Databases of other versions are a notice and no refusal (`info`).
  bool tolerant = false;
};
/// CACHE_VERSION when only databases of other versions are there.
result<std::unique_ptr<recorded>> open_recorded(std::shared_ptr<const host> h, const reading_options& options,
                                                const cancel_token* cancel);

}  // namespace vx::run
