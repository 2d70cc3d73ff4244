// The JSON of a run: event records (run.md 19) and the summary document (run.md 20).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/context.hpp"
#include "run/state.hpp"

namespace vx::run {

/// Counts over real tasks; groups are in none.
struct totals {
  std::uint32_t total = 0;    ///< every real task but the aborted
  std::uint32_t success = 0;  ///< passes, hits included
  std::uint32_t failed = 0, skipped = 0, aborted = 0, not_run = 0;
  std::uint32_t hits = 0, hit_local = 0, hit_remote = 0, up_to_date = 0, restored_local = 0, restored_remote = 0;
  std::uint32_t miss = 0, no_cache = 0;
  std::int64_t saved_ns = 0;  ///< what the hits' producing runs took
  std::int64_t max_ns = 0, min_ns = 0, sum_ns = 0;
  std::uint32_t executed = 0;
};
totals count(const run_state& s, const std::vector<bool>& scheduled);

struct run_end_info {
  bool ok = false;
  int exit_code = 0;
  std::int64_t ended_wall_ns = 0;
  std::int64_t duration_ns = 0;
};

std::string run_start_record(const run_state& s, const run_context& c, std::uint32_t real_tasks, std::uint32_t requested);
std::string task_start_record(const run_state& s, std::uint32_t node);
std::string task_end_record(const run_state& s, std::uint32_t node);
std::string task_ready_record(const run_state& s, std::uint32_t node, std::int64_t ready_ns);
std::string task_exit_record(const run_state& s, std::uint32_t node, int exit_code, bool during_run);
std::string status_record(const run_state& s, const notice_line& line);
/// `with_tasks` false leaves the rows out, for observers that skip current hits.
std::string run_summary_record(const run_state& s, const run_context& c, const totals& t, const run_end_info& end,
                               bool with_tasks);
std::string run_end_record(const run_state& s, const run_end_info& end, const std::vector<std::string>& holding);

/// The document of --summarize and --format json.
std::string summary_document(const run_state& s, const totals& t, const run_end_info& end);

}  // namespace vx::run
