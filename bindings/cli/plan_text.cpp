#include "cli/plan_text.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>

#include "cli/json_read.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

struct status_words {
  std::string_view status, glyph, text;
};

constexpr std::array<status_words, 6> k_statuses{{
    {"hit-local", "◉", "cache hit (local)"},
    {"hit-remote", "↓", "cache hit (remote)"},
    {"miss", "▶", "cache miss — would exec"},
    {"no-cache", "·", "no cache — would exec"},
    {"not-started", "−", "not started"},
    {"error", "✗", "would fail"},
}};

const status_words& words_for(std::string_view status) {
  for (const status_words& words : k_statuses) {
    if (words.status == status) return words;
  }
  return k_statuses.back();
}

std::string affected_text(const json_value& affected) {
  const std::string kind = read_text(affected, "kind");
  const std::string file = printable(read_text(affected, "file"));
  std::string text = kind;
  if (kind == "input") text = fmt::format("{} changed (an input)", file);
  if (kind == "project" || kind == "package") {
    const std::string project = printable(read_text(affected, "project"));
    text = file.empty() ? fmt::format("{} changed", project.empty() ? kind : project)
                        : fmt::format("{} changed (its {})", file, kind);
  }
  if (kind == "named") text = "named on the command line";
  if (kind == "selected") text = "selected by another filter";
  std::vector<std::string> via;
  for (const std::string& id : read_texts(affected, "via")) via.push_back(printable(id));
  return via.empty() ? text : fmt::format("{}, via {}", text, join(via, ", "));
}

struct counters {
  std::uint64_t planned = 0, local = 0, remote = 0, would_run = 0, not_started = 0, errors = 0;
};

void count_status(counters& n, std::string_view status) {
  ++n.planned;
  if (status == "hit-local") ++n.local;
  if (status == "hit-remote") ++n.remote;
  if (status == "miss" || status == "no-cache") ++n.would_run;
  if (status == "not-started") ++n.not_started;
  if (status == "error") ++n.errors;
}

std::string row_text(const json_value& task, std::size_t id_width) {
  const std::string status = read_text(task, "cacheStatus");
  const status_words& words = words_for(status);
  const std::string hash = read_text(task, "hash");
  std::string row = fmt::format("  {}  {}  ", words.glyph, pad_right(printable(read_text(task, "id")), id_width));
  if (status == "error") {
    row += fmt::format("{}: {}", words.text, printable(read_text(task, "message")));
  } else {
    row += fmt::format("{}  {}", pad_right(words.text, 24), key8(hash));
    if ((status == "miss" || status == "no-cache") && read_number(task, "p50Ms") > 0) {
      row += fmt::format("  ~{}", duration_text(read_number(task, "p50Ms")));
    }
  }
  row.erase(row.find_last_not_of(' ') + 1);
  row += '\n';
  const std::string indent(5 + id_width + 2, ' ');
  if (const std::string description = read_text(task, "description"); !description.empty()) {
    row += fmt::format("{}{}\n", indent, printable(description));
  }
  if (const json_value* affected = read_member(task, "affected"); affected != nullptr && affected->IsObject()) {
    row += fmt::format("{}affected: {}\n", indent, affected_text(*affected));
  }
  return row;
}

std::string counters_text(const counters& n) {
  std::vector<std::string> parts{fmt::format("{} task(s) planned", n.planned)};
  if (n.local + n.remote > 0) {
    std::vector<std::string> layers;
    if (n.local > 0) layers.push_back(fmt::format("{} local", n.local));
    if (n.remote > 0) layers.push_back(fmt::format("{} remote", n.remote));
    parts.push_back(fmt::format("{} cache hits ({})", n.local + n.remote, join(layers, ", ")));
  }
  if (n.would_run > 0) parts.push_back(fmt::format("{} would run", n.would_run));
  if (n.not_started > 0) parts.push_back(fmt::format("{} not started", n.not_started));
  if (n.errors > 0) parts.push_back(fmt::format("{} would fail", n.errors));
  return join(parts, ", ") + ".\n";
}

std::string prediction_text(const json_value& root, const counters& n) {
  const json_value* predicted = read_member(root, "predicted");
  if (predicted == nullptr || !predicted->IsObject() || n.would_run == 0) return {};
  const auto unknown = static_cast<std::uint64_t>(read_number(*predicted, "unknownCount"));
  if (unknown >= n.would_run) return {};
  std::string text = fmt::format("predicted: ~{} wall · ~{} total execution", duration_text(read_number(*predicted, "wallMs")),
                                 duration_text(read_number(*predicted, "workMs")));
  if (unknown > 0) text += fmt::format(" · {} without history (+?)", count_text(unknown, "task"));
  return text + "\n";
}

std::string plan_text(const json_value& root) {
  const json_value* tasks = read_member(root, "tasks");
  std::string rows;
  counters n;
  if (tasks != nullptr && tasks->IsArray()) {
    std::size_t width = 0;
    for (const auto& task : tasks->GetArray()) {
      if (read_text(task, "cacheStatus") != "group") width = std::max(width, display_width(printable(read_text(task, "id"))));
    }
    for (const auto& task : tasks->GetArray()) {
      const std::string status = read_text(task, "cacheStatus");
      if (status == "group") continue;
      count_status(n, status);
      rows += row_text(task, width);
    }
  }
  if (n.planned == 0) return "nothing would run.\n";
  return "would run:\n" + rows + "\n" + counters_text(n) + prediction_text(root, n);
}

}  // namespace

std::optional<plan_view> read_plan(std::string_view json) {
  rapidjson::Document root;
  root.Parse(json.data(), json.size());
  if (root.HasParseError() || !root.IsObject()) return std::nullopt;
  plan_view out;
  out.notices = read_texts(root, "notices");
  out.exit_code = read_integer(root, "exitCode");
  root.RemoveMember("notices");
  root.RemoveMember("exitCode");
  out.text = plan_text(root);
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  root.Accept(writer);
  out.document.assign(buffer.GetString(), buffer.GetSize());
  return out;
}

}  // namespace vx::cli
