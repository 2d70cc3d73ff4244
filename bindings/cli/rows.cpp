#include "cli/rows.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/text.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_rule_columns = 60;

bool is_hit(const task_end& end) { return end.status == task_status::hit_local || end.status == task_status::hit_remote; }

/// The signals a task is likely to die of; others go by number.
std::string signal_name(int number) {
  static constexpr std::array<std::pair<int, std::string_view>, 14> names{{{1, "SIGHUP"},
                                                                           {2, "SIGINT"},
                                                                           {3, "SIGQUIT"},
                                                                           {4, "SIGILL"},
                                                                           {6, "SIGABRT"},
                                                                           {8, "SIGFPE"},
                                                                           {9, "SIGKILL"},
                                                                           {11, "SIGSEGV"},
                                                                           {13, "SIGPIPE"},
                                                                           {14, "SIGALRM"},
                                                                           {15, "SIGTERM"},
                                                                           {24, "SIGXCPU"},
                                                                           {25, "SIGXFSZ"},
                                                                           {31, "SIGSYS"}}};
  for (const auto& [n, name] : names) {
    if (n == number) return std::string(name);
  }
  if (number == 7 || number == 10) return "SIGBUS";
  return fmt::format("signal {}", number);
}

std::string paint_outcome(const task_end& end, bool persistent, std::string_view text, const palette& colours) {
  switch (end.status) {
    case task_status::failed: return colours.red(text);
    case task_status::skipped:
    case task_status::aborted: return colours.yellow(text);
    default: return persistent ? colours.cyan(text) : colours.green(text);
  }
}

std::string flaky_suffix(const task_end& end, const palette& colours) {
  std::string text;
  if (end.flaky && end.status == task_status::failed && end.flaky->passes > 0) {
    text = fmt::format("flaky - passed {}× before", end.flaky->passes);
  } else if (end.flaky && end.status == task_status::success && end.flaky->failures > 0) {
    text = fmt::format("flaky - failed {}× before", end.flaky->failures);
  }
  if (end.attempts > 1 && end.status == task_status::success) {
    text += text.empty() ? fmt::format("{} attempts", end.attempts) : fmt::format(" · {} attempts", end.attempts);
  }
  return text.empty() ? text : "  " + colours.dim(text);
}

struct row_words {
  std::string_view glyph, status, cache;
};

row_words words_of(const task_start& start, const task_end& end) {
  switch (end.status) {
    case task_status::hit_local:
      return end.restored ? row_words{"⇢", "success", "local"} : row_words{"►", "success", "up-to-date"};
    case task_status::hit_remote:
      return end.restored ? row_words{"⇣", "success", "remote"} : row_words{"►", "success", "up-to-date"};
    case task_status::success:
      if (start.persistent) return {"▸", "running", ""};
      return {"⏺\uFE0E", "success", end.no_cache ? "no-cache" : "miss"};
    case task_status::skipped: return {"⊘", "skipped", ""};
    case task_status::aborted: return end.started ? row_words{"✗", "aborted", ""} : row_words{"◌", "not run", ""};
    case task_status::failed:
    case task_status::unknown: break;
  }
  return {"◼\uFE0E", "failed", start.persistent ? "" : end.no_cache ? "no-cache" : "miss"};
}

}  // namespace

std::string_view outcome_word(const task_end& end, bool persistent) {
  switch (end.status) {
    case task_status::success: return persistent ? "running" : "success";
    case task_status::hit_local: return end.restored ? "restored-local" : "up-to-date";
    case task_status::hit_remote: return end.restored ? "restored-remote" : "up-to-date";
    case task_status::skipped: return "skipped";
    case task_status::aborted: return "aborted";
    case task_status::failed:
    case task_status::unknown: break;
  }
  return "failed";
}

std::string failure_label(const task_end& end) {
  std::string reason;
  if (!end.not_ready.empty()) {
    reason = "never ready: " + (end.not_ready == "timeout" ? std::string("timed out") : end.not_ready) + ", ";
  } else if (end.timed_out) {
    reason = "timed out, ";
  }
  std::string label = fmt::format("failed ({}exit {}", reason, end.exit_code);
  if (reason.empty() && end.exit_code > 128) label += fmt::format(", 128 + {}", signal_name(end.exit_code - 128));
  if (end.violations > 0) label += ", " + count_text(end.violations, "sandbox violation");
  return label + ")";
}

std::string frame_outcome(const task_end& end, bool persistent) {
  switch (end.status) {
    case task_status::failed:
    case task_status::unknown: return failure_label(end);
    case task_status::skipped:
      return end.blocked_by.empty() ? "skipped" : fmt::format("skipped (blocked by {})", printable(end.blocked_by));
    default: break;
  }
  std::string text(outcome_word(end, persistent));
  if (is_hit(end) && !end.hash.empty()) text += fmt::format(" • {}", key8(end.hash));
  return text;
}

std::string task_row(const task_start& start, const task_end& end, const palette& colours) {
  const row_words words = words_of(start, end);
  const bool not_run = end.status == task_status::aborted && !end.started;
  std::string row = " " + paint_outcome(end, start.persistent, words.glyph, colours) + " ";
  row += colours.dim(pad_left(not_run ? std::string() : duration_text(end.duration_ms), 7)) + " ";
  row += paint_outcome(end, start.persistent, pad_right(words.status, 7), colours) + " ";
  row += colours.dim(pad_right(words.cache, 8)) + " ";
  row += colours.id(printable(start.id));
  if (end.status == task_status::skipped && !end.blocked_by.empty()) {
    row += colours.dim(fmt::format(" • blocked by {}", printable(end.blocked_by)));
  }
  return row + flaky_suffix(end, colours);
}

std::string hash_line(const task_start& start, const task_end& end) {
  return fmt::format("{} {} {}", outcome_word(end, start.persistent), printable(start.id), end.hash.empty() ? "-" : end.hash);
}

std::string frame_header(const task_start& start, const task_end& end, const palette& colours) {
  const std::string mark = start.persistent ? colours.cyan("▸") + " " : std::string();
  return fmt::format("{}{}{} > {}", colours.dim("┌─ "), mark, colours.id(printable(start.id)),
                     paint_outcome(end, start.persistent, frame_outcome(end, start.persistent), colours));
}

std::string live_header(const task_start& start, const palette& colours) {
  const std::string mark = start.persistent ? colours.cyan("▸") + " " : std::string();
  return fmt::format("{}{}{} > $ {}", colours.dim("┌─ "), mark, colours.id(printable(start.id)), start.command);
}

std::string frame_footer(const task_start& start, const task_end& end, const palette& colours) {
  return fmt::format("{}{}{}{} {}{}", colours.dim("└─ "), colours.id(printable(start.id)), colours.dim(" ── "),
                     colours.dim(fmt::format("({})", duration_text(end.duration_ms))),
                     paint_outcome(end, start.persistent, frame_outcome(end, start.persistent), colours),
                     flaky_suffix(end, colours));
}

std::string section_rule(std::string_view title, const palette& colours) {
  std::string rule = fmt::format("├─ {} ", title);
  for (std::size_t width = display_width(rule); width < k_rule_columns; ++width) rule += "─";
  return colours.dim(rule);
}

}  // namespace vx::cli
