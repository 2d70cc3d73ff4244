#include "cli/run_output.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/rows.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_region_rows = 10;
constexpr std::string_view k_red = "\x1b[38;2;240;91;91m";
constexpr std::string_view k_reset = "\x1b[0m";

/// Whether the last colour sequence of the text is something else than a reset.
bool leaves_colour(std::string_view text) {
  const std::string_view tail = text.substr(std::min(text.rfind("\x1b["), text.size()));
  return !tail.starts_with("\x1b[0m") && !tail.starts_with("\x1b[m");
}

/// Reddens the lines of standard error that bring no colour of their own. `open` says whether earlier text left a colour on.
std::string redden(std::string_view text, bool& open) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool own = line.find('\x1b') != std::string_view::npos;
    if (line.empty() || own || open) {
      out += line;
    } else {
      out.append(k_red).append(line).append(k_reset);
    }
    if (own) open = leaves_colour(line);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool is_hit(const task_end& end) { return end.status == task_status::hit_local || end.status == task_status::hit_remote; }

}  // namespace

run_output::run_output(output_options options, text_sink& sink)
    : options_(std::move(options)), sink_(sink), colours_(options_.colour) {}

bool run_output::ignores_current_hits(const output_options& options) {
  if (options.verbosity > 0) return false;
  switch (options.logs) {
    case log_mode::automatic: return options.broad && !options.ci;
    case log_mode::errors_only:
    case log_mode::none: return true;
    case log_mode::full:
    case log_mode::hash_only: return false;
  }
  return false;
}

void run_output::event(std::string_view json) {
  const event_kind kind = kind_of(json);
  if (!reader_.parse(json)) return;
  switch (kind == event_kind::other ? reader_.kind() : kind) {
    case event_kind::run_start:
      start_ = reader_.run_start();
      started_ = true;
      counts_.total = start_.total;
      rows_.resize(std::min<std::size_t>(start_.concurrency, k_region_rows));
      full_ = options_.logs == log_mode::full || (options_.logs == log_mode::automatic && options_.ci);
      focused_ = options_.logs == log_mode::automatic && !options_.ci && !options_.broad;
      live_allowed_ = focused_ && start_.requested == 1;
      break;
    case event_kind::task_start: on_task_start(reader_.task_start()); break;
    case event_kind::task_end: on_task_end(reader_.task_end()); break;
    case event_kind::task_ready: on_task_ready(reader_.task_ready()); break;
    case event_kind::task_exit: on_task_exit(reader_.task_exit()); break;
    case event_kind::status: on_status(reader_.status()); break;
    case event_kind::summary: summary_ = reader_.summary(); break;
    case event_kind::run_end: on_run_end(reader_.run_end()); break;
    case event_kind::other: return;
  }
  sink_.flush();
}

void run_output::output(std::uint32_t index, int stream_number, std::string_view bytes, bool replayed) {
  if (index >= tasks_.size() || bytes.empty()) return;
  task& t = tasks_[index];
  std::string plain;
  if (!colours_.on()) {
    t.strip[stream_number == 2 ? 1 : 0].feed(bytes, plain);
    bytes = plain;
    if (bytes.empty()) return;
  }
  if (t.ended) {
    write_held(t, stream_number, bytes);
  } else if (!keeps_output(t, replayed)) {
    return;
  } else if (live_allowed_ && shown(t) && !replayed && open_frame_ == k_none) {
    open_live(t);
    put("\n");
    stream(stream_number, bytes);
  } else if (t.live) {
    stream(stream_number, bytes);
  } else {
    if (!t.block) t.block = std::make_unique<output_block>();
    t.block->append(stream_number, bytes);
    return;  // nothing visible happened
  }
  sink_.flush();
}

void run_output::on_task_start(task_start start) {
  const std::uint32_t index = start.index;
  if (index > 10'000'000) return;
  if (index >= tasks_.size()) tasks_.resize(index + 1);
  by_id_.emplace(start.id, index);
  if (!start.group) take_row(index);
  tasks_[index].start = std::move(start);
}

void run_output::take_row(std::uint32_t index) {
  const auto now = std::chrono::steady_clock::now();
  for (running& row : rows_) {
    if (row.index == index) return;
  }
  for (running& row : rows_) {
    if (row.index != k_none) continue;
    row = {index, now};
    return;
  }
  rowless_.push_back(index);
}

void run_output::leave_row(std::uint32_t index) {
  std::erase(rowless_, index);
  for (running& row : rows_) {
    if (row.index == index) row.index = k_none;
  }
}

bool run_output::region(region_state& out) const {
  if (!started_ || after_footer_ || streamed_) return false;
  out = counts_;
  for (const std::uint32_t server : servers_) out.servers.push_back(tasks_[server].start.id);
  const auto now = std::chrono::steady_clock::now();
  for (const running& row : rows_) {
    if (row.index == k_none) {
      out.workers.emplace_back();
    } else {
      out.workers.push_back({tasks_[row.index].start.id, std::chrono::duration<double>(now - row.since).count()});
    }
  }
  out.more = rowless_.size();
  return true;
}

bool run_output::shown(const task& t) const { return t.start.requested || t.start.surfaced; }

bool run_output::keeps_output(const task& t, bool replayed) const {
  if (t.start.group || options_.logs == log_mode::none || options_.logs == log_mode::hash_only) return false;
  // A hit's stored output never belongs to a failure.
  return !replayed || full_ || (focused_ && shown(t));
}

run_output::view run_output::view_of(const task& t, const task_end& end) const {
  if (t.start.group || end.group || options_.logs == log_mode::none) return view::silent;
  const bool not_run = end.status == task_status::aborted && !end.started;
  if (options_.logs == log_mode::hash_only) return not_run ? view::silent : view::hash;
  const bool failed = end.status == task_status::failed || end.status == task_status::unknown;
  if (options_.logs == log_mode::errors_only) return failed ? view::frame : view::silent;
  if (end.status == task_status::skipped) return view::row;
  if (not_run) return focused_ && shown(t) ? view::row : view::silent;
  if (end.status == task_status::aborted) return view::row;
  if (full_) return is_hit(end) && !end.log ? view::row : view::frame;
  if (focused_) return shown(t) ? view::frame : failed ? view::row : view::silent;
  return is_hit(end) ? view::silent : view::row;
}

void run_output::on_task_end(const task_end& end) {
  const auto found = by_id_.find(end.id);
  if (found == by_id_.end()) return;
  task& t = tasks_[found->second];
  if (t.serving) return;
  t.ended = true;
  if (t.start.group || end.group) return;
  leave_row(found->second);
  switch (end.status) {
    case task_status::failed:
    case task_status::unknown: ++counts_.failed; break;
    case task_status::skipped: ++counts_.skipped; break;
    case task_status::aborted: break;
    default: ++counts_.success;
  }
  if (t.start.persistent && end.status == task_status::success) servers_.push_back(found->second);
  if (options_.verbosity > 0) table_.emplace_back(found->second, end);
  if (t.live) {
    close_live(t, end);
    return;
  }
  switch (view_of(t, end)) {
    case view::silent: break;
    case view::hash: put(hash_line(t.start, end) + "\n"); break;
    case view::frame: write_frame(t, end); break;
    case view::row:
      put(task_row(t.start, end, colours_) + "\n");
      if (end.status == task_status::failed || end.status == task_status::unknown) {
        held_.emplace_back(found->second, end);
        return;  // keeps its output
      }
      break;
  }
  t.block.reset();
}

void run_output::on_task_ready(const task_ready& ready) {
  const auto found = by_id_.find(ready.id);
  if (found == by_id_.end()) return;
  task_end end;
  end.id = ready.id;
  end.status = task_status::success;
  end.duration_ms = ready.duration_ms;
  end.no_cache = true;
  end.started = true;
  on_task_end(end);
  tasks_[found->second].serving = true;
}

void run_output::on_task_exit(const task_exit& exit) {
  // Why it ended is a status line of the run.
  if (const auto found = by_id_.find(exit.id); found != by_id_.end()) std::erase(servers_, found->second);
}

void run_output::on_status(const status_line& line) {
  const std::string text = line.line.starts_with("[vx]") ? line.line : "[vx] " + line.line;
  if (open_frame_ != k_none && !at_line_start_) put("\n");
  sink_.note(line.warning && colours_.on() ? colours_.yellow(text) : text);
}

void run_output::on_run_end(const run_end& end) {
  for (const auto& [index, result] : held_) {
    separate();
    write_frame(tasks_[index], result);
    tasks_[index].block.reset();
  }
  held_.clear();
  if (options_.verbosity > 0) write_table();
  if (!started_) return;
  if (options_.timing) {
    for (const std::string& row : timing_rows(summary_)) sink_.note(row);
  }
  separate();
  put(footer_text(start_, summary_, options_.version, colours_));
  after_footer_ = true;
  for (const std::string& id : end.holding) {
    if (const auto found = by_id_.find(id); found != by_id_.end()) tasks_[found->second].ended = true;
  }
}

bool run_output::has_command_line(const task& t, const task_end& end) const {
  if (t.start.command.empty()) return false;
  return !is_hit(end) || (focused_ && shown(t));
}

void run_output::open_live(task& t) {
  t.live = true;
  streamed_ = true;
  open_frame_ = t.start.index;
  put(live_header(t.start, colours_) + "\n");
  fence(true);
}

void run_output::close_live(task& t, const task_end& end) {
  if (escapes_open_) put(k_reset);
  escapes_open_ = false;
  if (!at_line_start_) put("\n");
  fence(false);
  put("\n" + frame_footer(t.start, end, colours_) + "\n\n");
  t.live = false;
  open_frame_ = k_none;
}

void run_output::fence(bool open) {
  if (!options_.fence.empty())
    put(open ? fmt::format("::stop-commands::{}\n", options_.fence) : fmt::format("::{}::\n", options_.fence));
}

void run_output::write_frame(const task& t, const task_end& end) {
  const bool failed = end.status == task_status::failed || end.status == task_status::unknown;
  const bool folded = full_ && !options_.fence.empty() && !failed;
  if (folded) {
    put(fmt::format("::group::{} ({} {})\n", printable(t.start.id), outcome_word(end, t.start.persistent),
                    duration_text(end.duration_ms)));
  }
  put(frame_header(t.start, end, colours_) + "\n\n");
  if (has_command_line(t, end)) put("$ " + t.start.command + "\n\n");
  if (end.violations > 0) {
    put(section_rule(fmt::format("SANDBOX VIOLATIONS ({})", end.violations), colours_) + "\n\n");
    for (const std::string& line : end.violation_lines) put(printable(line) + "\n");
    put("\n");
  }
  if (t.block && !t.block->empty()) {
    put(section_rule("OUTPUT", colours_) + "\n\n");
    write_block(*t.block);
    put("\n");
  }
  put(frame_footer(t.start, end, colours_) + "\n");
  if (folded) put("::endgroup::\n");
  if (full_ && !options_.fence.empty() && failed) {
    put(fmt::format("::error title={}::{}\n", printable(t.start.id), failure_label(end)));
  }
  put("\n");
}

void run_output::write_block(const output_block& block) {
  fence(true);
  block.each([&](int stream_number, std::string_view bytes) { stream(stream_number, bytes); });
  if (escapes_open_) put(k_reset);
  escapes_open_ = false;
  if (!at_line_start_) put("\n");
  fence(false);
}

void run_output::stream(int stream_number, std::string_view bytes) {
  if (stream_number == 2 && colours_.on()) {
    const bool ends_line = bytes.back() == '\n';
    sink_.out(redden(bytes, escapes_open_));
    at_line_start_ = ends_line;
    blank_before_ = false;
    return;
  }
  if (colours_.on() && bytes.find('\x1b') != std::string_view::npos) escapes_open_ = leaves_colour(bytes);
  put(bytes);
}

void run_output::write_held(task& t, int stream_number, std::string_view bytes) {
  if (!after_footer_ || (options_.logs != log_mode::automatic && options_.logs != log_mode::full)) return;
  if (live_allowed_ && shown(t) && options_.fence.empty()) {
    stream(stream_number, bytes);
    return;
  }
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    if (!t.held_line_open) put(colours_.id(printable(t.start.id)) + " │ ");
    put(bytes.substr(0, end));
    t.held_line_open = end == bytes.size();
    if (!t.held_line_open) put("\n");
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void run_output::write_table() {
  separate();
  std::size_t width = 4;
  for (const auto& [index, end] : table_) width = std::max(width, display_width(printable(tasks_[index].start.id)));
  put(colours_.dim(fmt::format("{}  {}  DURATION", pad_right("TASK", width), pad_right("STATUS", 15))) + "\n");
  for (const auto& [index, end] : table_) {
    const task_start& start = tasks_[index].start;
    put(fmt::format("{}  {}  {}\n", pad_right(colours_.id(printable(start.id)), width),
                    pad_right(outcome_word(end, start.persistent), 15), duration_text(end.duration_ms)));
  }
}

void run_output::put(std::string_view text) {
  if (text.empty()) return;
  sink_.out(text);
  const bool was_line_start = at_line_start_;
  at_line_start_ = text.back() == '\n';
  blank_before_ = at_line_start_ && (text == "\n" ? was_line_start : text[text.size() - 2] == '\n');
}

void run_output::separate() {
  if (!blank_before_) put("\n");
}

}  // namespace vx::cli
