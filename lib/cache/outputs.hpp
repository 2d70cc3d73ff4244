// Outputs on the real tree: listing, cleaning, and the proof that the tree is already current (cache.md 5, 8).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/entry.hpp"
#include "cache/index.hpp"

namespace vx::cache {

/// Everything the declaration selects now, sorted by (space, path); links are never descended. A file that cannot be
/// stored (fifo, socket, device) is listed with kind 'x'. Failure: an unreadable directory.
result<std::vector<output_row>> list_outputs(const output_scope& scope);

/// The same with the stamps of this moment.
struct stamped_outputs {
  std::vector<output_row> rows;
  std::vector<output_stamp> stamps;
};
result<stamped_outputs> list_stamped(const output_scope& scope);
/// What a command that found `before` left of its own: what is new or has another stamp (directories: another mode).
std::vector<output_row> added_outputs(const stamped_outputs& before, const stamped_outputs& after);
/// The root-relative path of something found that is gone; "" = nothing.
std::string removed_output(const output_scope& scope, const stamped_outputs& before, const stamped_outputs& after);
/// The rows that still are what was placed.
std::vector<output_row> still_placed(const output_scope& scope, const stamped_outputs& placed);
/// Removes them and the directories they leave empty, but for what `keep` names (sorted as rows are). Returns root-relative
/// paths.
result<std::vector<std::string>> clean_rows(const output_scope& scope, const std::vector<output_row>& rows,
                                            const std::vector<output_row>& keep);

/// True when the declaration is not empty and `rows` holds nothing but directories a wildcard is rooted at (which a clean
/// keeps): the moment, at a save and at each hit, for "outputs matched no files".
bool matched_nothing(const output_scope& scope, const std::vector<output_row>& rows);

/// cache.md 5.2: links at or above owned roots. A failure refuses the task by name, before a miss and before a hit alike.
status check_owned_roots(const output_scope& scope);

/// Removes the owned area (cache.md 5.4). Returns the root-relative paths removed. Failure names path and errno.
result<std::vector<std::string>> clean_outputs(const output_scope& scope);

/// True when every recorded output is in place with its stamp and nothing else lies in the owned area. Opens no file.
/// `snapshot` is the directory snapshot of the index for this key, or empty (then the set is proved by a walk).
bool is_current(const output_scope& scope, const std::vector<output_row>& rows, const std::vector<output_stamp>& stamps,
                const std::string& snapshot);

/// Directory snapshot blob for `output_dirs` (cache.md 3.4, 8), taken at run end; "" when none may be recorded (inside the racy
/// window, names differ from the rows, shape not supported).
std::string snapshot_dirs(const output_scope& scope, const std::vector<output_row>& rows);

}  // namespace vx::cache
