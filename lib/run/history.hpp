// The run's rows in the checkout's history, and the kept output of failures (cache.md 15, run.md 9.5, 22).
#pragma once

#include "run/context.hpp"
#include "run/records.hpp"
#include "run/state.hpp"

namespace vx::run {

/// One transaction, memos included. Trouble is one notice.
void record_history(run_state& s, const run_context& c, const totals& t, const run_end_info& end);
/// <root>/.vx/failures/<runId>.json, the newest 50 kept. Nothing failed: nothing is written.
void write_failures(run_state& s);

}  // namespace vx::run
