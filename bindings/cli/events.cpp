#include "cli/events.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "cli/json_read.hpp"

namespace vx::cli {
namespace {

constexpr std::array<std::pair<std::string_view, task_status>, 6> k_statuses{{
    {"success", task_status::success},
    {"cache-hit", task_status::hit_local},
    {"cache-hit-remote", task_status::hit_remote},
    {"failed", task_status::failed},
    {"skipped", task_status::skipped},
    {"aborted", task_status::aborted},
}};

task_status status_of(std::string_view word) {
  for (const auto& [name, status] : k_statuses) {
    if (name == word) return status;
  }
  return task_status::unknown;
}

constexpr std::array<std::pair<std::string_view, event_kind>, 8> k_kinds{{
    {"task.start", event_kind::task_start},
    {"task.end", event_kind::task_end},
    {"run.status", event_kind::status},
    {"run.start", event_kind::run_start},
    {"run.summary", event_kind::summary},
    {"run.end", event_kind::run_end},
    {"task.exit", event_kind::task_exit},
    {"task.ready", event_kind::task_ready},
}};

event_kind kind_named(std::string_view word) {
  for (const auto& [name, kind] : k_kinds) {
    if (name == word) return kind;
  }
  return event_kind::other;
}

}  // namespace

event_kind kind_of(std::string_view json) {
  // The library writes the header first and without spaces; anything else is merely slower, not wrong.
  constexpr std::string_view mark = "\"kind\":\"";
  const std::size_t at = json.substr(0, 64).find(mark);
  if (at == std::string_view::npos) return event_kind::other;
  const std::size_t from = at + mark.size();
  return kind_named(json.substr(from, json.find('"', from) - from));
}

struct event_reader::document {
  // One record's values fit in the block; a longer record takes more from the heap until the next one.
  alignas(std::max_align_t) std::array<char, 16 * 1024> block;
  rapidjson::MemoryPoolAllocator<> pool{block.data(), block.size()};
  rapidjson::Document root{&pool};
};

event_reader::event_reader() : document_(std::make_unique<document>()) {}
event_reader::~event_reader() = default;

bool event_reader::parse(std::string_view json) {
  document_->root.SetNull();
  document_->pool.Clear();
  document_->root.Parse(json.data(), json.size());
  return !document_->root.HasParseError() && document_->root.IsObject();
}

event_kind event_reader::kind() const {
  const json_value* v = read_member(document_->root, "kind");
  return v != nullptr && v->IsString() ? kind_named({v->GetString(), v->GetStringLength()}) : event_kind::other;
}

cli::run_start event_reader::run_start() const {
  const json_value& root = document_->root;
  cli::run_start out;
  out.concurrency = read_count(root, "concurrency");
  out.total = read_count(root, "total");
  out.requested = read_count(root, "requestedCount");
  if (const json_value* projects = read_member(root, "projects")) {
    out.projects_in_run = read_count(*projects, "inRun");
    out.projects_total = read_count(*projects, "total");
  }
  if (const json_value* run = read_member(root, "run")) {
    out.cache_policy = read_text(*run, "cachePolicy");
    if (out.concurrency == 0) out.concurrency = read_count(*run, "concurrency");
  }
  return out;
}

cli::task_start event_reader::task_start() const {
  const json_value& root = document_->root;
  cli::task_start out;
  out.id = read_text(root, "taskId");
  out.command = read_text(root, "command");
  out.index = read_count(root, "index");
  out.group = read_flag(root, "isGroup");
  out.requested = read_flag(root, "requested");
  out.surfaced = read_flag(root, "surfaced");
  out.persistent = read_flag(root, "persistent");
  return out;
}

cli::task_end event_reader::task_end() const {
  const json_value& root = document_->root;
  cli::task_end out;
  out.id = read_text(root, "taskId");
  out.status = status_of(read_text(root, "status"));
  out.exit_code = read_integer(root, "exitCode");
  out.duration_ms = read_number(root, "durationMs");
  out.group = read_flag(root, "isGroup");
  out.no_cache = read_flag(root, "noCache");
  out.restored = read_flag(root, "restored", true);
  out.timed_out = read_flag(root, "timedOut");
  out.log = read_flag(root, "log");
  out.started = read_member(root, "wallclockStartNs") != nullptr || out.duration_ms > 0;
  out.hash = read_text(root, "hash");
  out.not_ready = read_text(root, "notReady");
  out.blocked_by = read_text(root, "blockedBy");
  out.attempts = read_count(root, "attempts", 1);
  out.violations = read_count(root, "sandboxViolations");
  out.violation_lines = read_texts(root, "sandboxViolationLines");
  if (const json_value* flaky = read_member(root, "flaky"); flaky != nullptr && flaky->IsObject()) {
    out.flaky = cli::task_end::flaky_counts{read_count(*flaky, "passes"), read_count(*flaky, "failures")};
    if (out.attempts == 1) out.attempts = read_count(*flaky, "attempts", 1);
  }
  return out;
}

cli::task_ready event_reader::task_ready() const {
  return {read_text(document_->root, "taskId"), read_number(document_->root, "durationMs")};
}

cli::task_exit event_reader::task_exit() const {
  const json_value& root = document_->root;
  return {read_text(root, "taskId"), read_integer(root, "exitCode"), read_flag(root, "duringRun")};
}

cli::status_line event_reader::status() const {
  return {read_text(document_->root, "level") == "warning", read_text(document_->root, "line")};
}

cli::run_summary event_reader::summary() const {
  const json_value& root = document_->root;
  cli::run_summary out;
  out.total_ms = read_number(root, "totalDurationMs");
  out.saved_ms = read_number(root, "savedMs");
  out.total = read_count(root, "taskCount");
  out.failed = read_count(root, "failedCount");
  out.skipped = read_count(root, "skippedCount");
  out.miss = read_count(root, "missCount");
  out.no_cache = read_count(root, "noCacheCount");
  out.up_to_date = read_count(root, "upToDateCount");
  out.local = read_count(root, "restoredLocalCount");
  out.remote = read_count(root, "restoredRemoteCount");
  out.not_run = read_count(root, "notRunCount");
  out.aborted = read_count(root, "abortedCount") - out.not_run;
  if (const json_value* executed = read_member(root, "executed")) {
    out.executed = read_count(*executed, "count");
    out.max_ms = read_number(*executed, "maxMs");
    out.avg_ms = read_number(*executed, "avgMs");
    out.min_ms = read_number(*executed, "minMs");
  }
  if (const json_value* stages = read_member(root, "stages"); stages != nullptr && stages->IsArray()) {
    for (const json_value& stage : stages->GetArray())
      out.stages.emplace_back(read_text(stage, "name"), read_number(stage, "ownMs"));
  }
  return out;
}

cli::run_end event_reader::run_end() const {
  return {read_flag(document_->root, "ok"), read_integer(document_->root, "exitCode"), read_texts(document_->root, "holding")};
}

}  // namespace vx::cli
