// Which recorded task or run a word means (cli.md 15, 16). Names are looked for among what was recorded: no config is read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cache/history_reader.hpp"
#include "run/host.hpp"

namespace vx::run {

using recorded_task = std::pair<std::string, std::string>;  ///< project, task

/// What the projects around the working directory may be called, nearest first: package.json's name, else the path below the
/// root. The last one is the root's.
std::vector<std::string> names_around(const host& h);

/// `task`, `pkg#task`, `//#task`, the unscoped half of one scoped name. NO_HISTORY when nothing fits, AMBIGUOUS (details:
/// candidates) when several projects ran a bare task and none of them is `around` the caller.
result<recorded_task> find_recorded(const std::vector<recorded_task>& all, const std::string& word,
                                    const std::vector<std::string>& around);

/// The same among what the history holds: a full name at once, else the newest runs first, then all of them.
result<recorded_task> find_recorded(cache::history_reader& history, const std::string& word,
                                    const std::vector<std::string>& around);

/// A run id or its unique prefix. NO_HISTORY, AMBIGUOUS.
result<run_id> find_run(cache::index& index, const std::string& prefix);

}  // namespace vx::run
