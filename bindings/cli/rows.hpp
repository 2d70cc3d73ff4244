// One task as text: the row, and the pieces of a frame. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/colour.hpp"
#include "cli/events.hpp"

namespace vx::cli {

/// `success`, `restored-local`, `restored-remote`, `up-to-date`, `failed`, `skipped`, `aborted`, `running`.
std::string_view outcome_word(const task_end& end, bool persistent);

/// "failed (exit 137, 128 + SIGKILL)", "failed (timed out, exit 143)", "failed (exit 1, 2 sandbox violations)".
std::string failure_label(const task_end& end);

/// What a frame says about its task: a failure label, `restored-local • 0a1b2c3d`, `skipped (blocked by a#b)`.
std::string frame_outcome(const task_end& end, bool persistent);

/// ` ⏺  1.37s success miss     shop#build`, without a line end.
std::string task_row(const task_start& start, const task_end& end, const palette& colours);

/// `<outcome word> <id> <key>`.
std::string hash_line(const task_start& start, const task_end& end);

/// `┌─ shop#check > failed (exit 2)`
std::string frame_header(const task_start& start, const task_end& end, const palette& colours);
/// `┌─ shop#check > $ node check.mjs`, the header of a frame that streams.
std::string live_header(const task_start& start, const palette& colours);
/// `└─ shop#check ── (1.37s) failed (exit 2)`
std::string frame_footer(const task_start& start, const task_end& end, const palette& colours);
/// `├─ OUTPUT ─────…`, 60 columns.
std::string section_rule(std::string_view title, const palette& colours);

}  // namespace vx::cli
