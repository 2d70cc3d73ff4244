#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/answer.hpp"
#include "cli/answer_text.hpp"
#include "cli/events.hpp"
#include "cli/rows.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_hits_shown = 16;

/// A task's row as the outcome that live rows are made of.
task_end outcome_of(const json_value& task) {
  task_end out;
  out.id = read_text(task, "project") + "#" + read_text(task, "task");
  const std::string status = read_text(task, "status");
  out.status = status == "success"            ? task_status::success
               : status == "cache-hit"        ? task_status::hit_local
               : status == "cache-hit-remote" ? task_status::hit_remote
               : status == "skipped"          ? task_status::skipped
                                              : task_status::failed;
  out.exit_code = read_integer(task, "exitCode");
  out.duration_ms = read_number(task, "durationMs");
  out.restored = read_flag(task, "restored");
  out.timed_out = read_flag(task, "timedOut");
  out.not_ready = read_text(task, "notReady");
  out.blocked_by = read_text(task, "blockedBy");
  out.violations = read_count(task, "sandboxViolations");
  out.hash = read_text(task, "hash");
  return out;
}

struct line {
  std::string word, id, duration, key, usage;
  int rank = 0;  ///< failures, executed and skipped, hits
  bool restored = false;
  double ms = 0;
};

std::string word_of(const task_end& end) {
  if (end.status == task_status::failed) return failure_label(end);
  if (end.status == task_status::skipped)
    return end.blocked_by.empty() ? "skipped" : fmt::format("skipped (after {} failed)", printable(end.blocked_by));
  return std::string(outcome_word(end, false));
}

/// `312 MB · 1.4× cpu`, of executed tasks.
std::string usage_of(const json_value& task, double ms) {
  std::string out;
  const double rss = read_number(task, "peakRssBytes"), cpu = read_number(task, "cpuMs");
  if (rss > 0) out = bytes_text(static_cast<std::uint64_t>(rss));
  if (cpu > 0 && ms > 0) out += fmt::format("{}{:.1f}× cpu", out.empty() ? "" : " · ", cpu / ms);
  return out;
}

line line_of(const json_value& task) {
  const task_end end = outcome_of(task);
  line out;
  out.word = word_of(end);
  out.id = printable(end.id);
  out.duration = duration_text(end.duration_ms);
  out.key = key8(end.hash);
  out.ms = end.duration_ms;
  const bool hit = end.status == task_status::hit_local || end.status == task_status::hit_remote;
  out.rank = end.status == task_status::failed ? 0 : hit ? 2 : 1;
  out.restored = hit && end.restored;
  if (end.status == task_status::failed || end.status == task_status::success) out.usage = usage_of(task, end.duration_ms);
  return out;
}

/// Failures, executed and skipped, hits; of many hits the slowest restores.
std::vector<line> ordered(const json_value* tasks, std::size_t& hidden) {
  std::vector<line> lines;
  if (tasks != nullptr && tasks->IsArray())
    for (const auto& task : tasks->GetArray()) lines.push_back(line_of(task));
  std::stable_sort(lines.begin(), lines.end(), [](const line& a, const line& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.rank < 2) return false;
    return a.restored != b.restored ? a.restored : a.ms > b.ms;
  });
  const auto first_hit = std::find_if(lines.begin(), lines.end(), [](const line& l) { return l.rank == 2; });
  const auto hits = static_cast<std::size_t>(lines.end() - first_hit);
  hidden = hits > k_hits_shown ? hits - k_hits_shown : 0;
  lines.resize(lines.size() - hidden);
  return lines;
}

std::string paint(const line& l, std::string_view text, const palette& colours) {
  return l.rank == 0 ? colours.red(text) : l.word.starts_with("skipped") ? colours.yellow(text) : colours.green(text);
}

std::string rows_text(const json_value* tasks, const palette& colours) {
  std::size_t hidden = 0, word = 0, id = 0, duration = 0;
  const std::vector<line> lines = ordered(tasks, hidden);
  for (const line& l : lines) {
    word = std::max(word, display_width(l.word));
    id = std::max(id, display_width(l.id));
    duration = std::max(duration, l.duration.size());
  }
  std::string out;
  for (const line& l : lines) {
    std::string row = fmt::format("  {}  {}{}  {}  {}", paint(l, pad_right(l.word, word), colours), colours.id(l.id),
                                  std::string(id - display_width(l.id), ' '), pad_left(l.duration, duration),
                                  pad_right(l.key, l.usage.empty() ? 0 : 8));
    if (!l.usage.empty()) row += "  " + colours.dim(l.usage);
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  if (hidden > 0) out += fmt::format("  … +{} more cache hits\n", hidden);
  return out;
}

std::string counts_text(const json_value& inv) {
  std::string out = fmt::format("{} tasks · {} hits ({} up-to-date, {} restored)", read_whole(inv, "taskCount"),
                                read_whole(inv, "hitCount"), read_whole(inv, "upToDateCount"),
                                read_whole(inv, "restoredLocalCount") + read_whole(inv, "restoredRemoteCount"));
  if (const auto failed = read_whole(inv, "failedCount"); failed > 0) out += fmt::format(" · {} failed", failed);
  return out;
}

/// `topic @ 1a2b3c4d+dirty`
std::string commit_text(const json_value& inv) {
  const std::string branch = printable(read_text(inv, "branch")), sha = read_text(inv, "commitSha");
  std::string out = branch;
  if (!sha.empty()) out += (out.empty() ? "" : " @ ") + sha.substr(0, 8) + (read_flag(inv, "dirty") ? "+dirty" : "");
  return out;
}

/// Arguments are known by their digest only; a failed dependency never had them and gets a line of its own.
std::string rerun_text(const json_value* tasks) {
  std::string with, without;
  if (tasks != nullptr && tasks->IsArray()) {
    for (const auto& task : tasks->GetArray()) {
      if (read_text(task, "status") != "failed") continue;
      (read_flag(task, "forwarded") ? with : without) +=
          " " + printable(read_text(task, "project") + "#" + read_text(task, "task"));
    }
  }
  std::string out;
  if (!without.empty()) out += fmt::format("\n  re-run what failed: vx run{}\n", without);
  if (!with.empty()) out += fmt::format("{}  re-run what failed: vx run{} -- …\n", out.empty() ? "\n" : "", with);
  return out;
}

std::string run_text(const json_value& doc, const palette& colours) {
  static const json_value none;
  const json_value* found = read_member(doc, "invocation");
  const json_value& inv = found == nullptr ? none : *found;
  const json_value* tasks = read_member(doc, "tasks");
  const bool ok = read_flag(inv, "exitOk");
  std::string out = fmt::format("run {} — {}\n", read_text(inv, "runId"), ok ? colours.green("ok") : colours.red("FAILED"));
  if (const std::string command = read_text(inv, "command"); !command.empty())
    out += fmt::format("  $ {}\n", printable(command));
  out +=
      fmt::format("  {} · {}", iso_text(read_whole(inv, "startedAt")), long_duration_text(read_number(inv, "totalDurationMs")));
  if (const std::string commit = commit_text(inv); !commit.empty()) out += " · " + commit;
  out += fmt::format("\n  {}\n", counts_text(inv));
  const std::string rows = rows_text(tasks, colours);
  if (!rows.empty()) out += "\n" + rows;
  return out + rerun_text(tasks);
}

std::string list_text(const json_value& list, const std::vector<std::string>& short_ids, const palette& colours) {
  if (!list.IsArray() || list.Empty()) return "no run is recorded\n";
  std::vector<std::vector<std::string>> rows;
  for (rapidjson::SizeType i = 0; i < list.Size(); ++i) {
    const json_value& inv = list[i];
    rows.push_back({read_flag(inv, "exitOk") ? "ok" : "FAILED", iso_text(read_whole(inv, "startedAt")),
                    i < short_ids.size() ? short_ids[i] : read_text(inv, "runId"), counts_text(inv),
                    long_duration_text(read_number(inv, "totalDurationMs")), "$ " + printable(read_text(inv, "command"))});
  }
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], display_width(row[c]));
  std::string out;
  for (const auto& row : rows) {
    const std::string verdict = pad_right(row[0], width[0]);
    out += row[0] == "ok" ? colours.green(verdict) : colours.red(verdict);
    for (std::size_t c = 1; c + 1 < row.size(); ++c)
      out += "  " + (c == 4 ? pad_left(row[c], width[c]) : pad_right(row[c], width[c]));
    out += "  " + row.back() + "\n";
  }
  return out;
}

std::string log_text(const json_value& doc, answer_view& view) {
  const json_value* source = read_member(doc, "source");
  if (source == nullptr || source->IsNull()) {
    view.notices.push_back(fmt::format("no output of {} in run {} was kept ({})", read_text(doc, "taskId"),
                                       read_text(doc, "runId"), read_text(doc, "status")));
    return {};
  }
  std::string out = read_text(doc, "output");
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out;
}

}  // namespace

std::optional<answer_view> read_last(std::string_view json, const palette& colours) {
  return read_answer(json, [&](const json_value& answer, const json_value& doc, answer_view& view) {
    const std::string kind = read_text(answer, "kind");
    if (kind == "list") return list_text(doc, read_texts(answer, "shortIds"), colours);
    return kind == "log" ? log_text(doc, view) : run_text(doc, colours);
  });
}

}  // namespace vx::cli
