#include "cli/request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.hpp"

namespace vx::cli {
namespace {

/// An object written member by member.
class object_writer {
 public:
  void raw(std::string_view name, std::string_view json) {
    text_ += text_.empty() ? '{' : ',';
    append_json_string(text_, name);
    text_ += ':';
    text_ += json;
  }
  void string(std::string_view name, std::string_view value) {
    std::string json;
    append_json_string(json, value);
    raw(name, json);
  }
  void strings(std::string_view name, const std::vector<std::string>& values) {
    std::string json = "[";
    for (const std::string& value : values) {
      if (json.size() > 1) json += ',';
      append_json_string(json, value);
    }
    raw(name, json + "]");
  }
  std::string done() { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

std::vector<std::string> comma_list(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    out.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

/// JSON takes no leading zeros.
std::string decimal(const std::string& digits) {
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? "0" : digits.substr(first);
}

void add_selection(object_writer& out, const command_line& line) {
  if (line.has("--all")) out.raw("all", "true");
  if (line.has("--filter")) out.strings("filter", line.values("--filter"));
  if (line.has("--affected")) {
    if (const auto base = line.value("--affected")) {
      out.string("affected", *base);
    } else {
      out.raw("affected", "true");
    }
  }
}

void add_run_fields(object_writer& out, const command_line& line) {
  out.strings("tasks", line.operands);
  add_selection(out, line);
  if (line.has("--exclude-dependencies")) {
    if (const auto names = line.value("--exclude-dependencies")) {
      out.strings("excludeDependencies", comma_list(*names));
    } else {
      out.raw("excludeDependencies", "true");
    }
  }
  if (!line.forwarded.empty()) out.strings("args", line.forwarded);
  if (line.has("--force")) out.raw("force", "true");
  if (line.has("--no-cache")) out.raw("noCache", "true");
  if (const auto spec = line.value("--cache")) out.string("cache", *spec);
  if (const auto dir = line.value("--cache-dir")) out.string("cacheDir", *dir);
}

void add_execution_fields(object_writer& out, const command_line& line) {
  if (const auto workers = line.value("--concurrency")) {
    if (workers->ends_with('%')) {
      out.string("concurrency", *workers);
    } else {
      out.raw("concurrency", decimal(*workers));
    }
  }
  if (const auto retries = line.value("--retry")) out.raw("retry", decimal(*retries));
  if (line.has("--continue")) out.string("continue", line.value("--continue").value_or("always"));
  if (const auto timeout = line.value("--timeout")) out.raw("timeout", decimal(*timeout));
}

void add_store(object_writer& out, const command_line& line) {
  if (const auto dir = line.value("--cache-dir")) out.string("cacheDir", *dir);
}

void add_tags(object_writer& out, const command_line& line) {
  object_writer tags;
  // The last value of a key wins, as for every flag given twice.
  std::vector<std::pair<std::string, std::string>> kept;
  for (const std::string& label : line.values("--tag")) {
    const std::size_t equals = label.find('=');
    std::string key = label.substr(0, equals);
    std::erase_if(kept, [&](const auto& pair) { return pair.first == key; });
    kept.emplace_back(std::move(key), label.substr(equals + 1));
  }
  for (const auto& [key, value] : kept) tags.string(key, value);
  if (!kept.empty()) out.raw("tags", tags.done());
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string run_request(const command_line& line, std::string_view command) {
  object_writer out;
  add_run_fields(out, line);
  add_execution_fields(out, line);
  if (line.has("--summarize")) {
    if (const auto path = line.value("--summarize")) {
      out.string("summarize", *path);
    } else {
      out.raw("summarize", "true");
    }
  }
  add_tags(out, line);
  out.string("command", command);
  out.string("flow", is_broad(line) ? "broad" : "focused");
  out.raw("hold", "true");
  return out.done();
}

std::string plan_request(const command_line& line) {
  object_writer out;
  out.string("query", "plan");
  add_run_fields(out, line);
  add_execution_fields(out, line);
  return out.done();
}

std::string show_request(const command_line& line) {
  object_writer out;
  out.string("query", "show");
  if (!line.operands.empty()) out.string("target", line.operands.front());
  add_selection(out, line);
  return out.done();
}

std::string why_request(const command_line& line) {
  object_writer out;
  out.string("query", "why");
  out.string("task", line.operands.front());
  if (const auto run = line.value("--run")) out.string("run", *run);
  add_store(out, line);
  return out.done();
}

std::string last_request(const command_line& line) {
  object_writer out;
  out.string("query", "last");
  if (!line.operands.empty()) out.string("run", line.operands.front());
  if (line.has("--list")) out.raw("list", decimal(line.value("--list").value_or("10")));
  if (line.has("--failed")) out.raw("failed", "true");
  if (const auto task = line.value("--log")) out.string("log", *task);
  add_store(out, line);
  return out.done();
}

std::string info_request(const command_line& line) {
  object_writer out;
  out.string("query", "info");
  add_store(out, line);
  return out.done();
}

std::string cache_stats_request(const command_line& line) {
  object_writer out;
  out.string("query", "cache-stats");
  add_store(out, line);
  return out.done();
}

std::string prune_cache_request(const command_line& line, std::optional<std::uint32_t> wait_ms) {
  object_writer out;
  out.string("query", "prune-cache");
  if (const auto age = line.value("--older-than")) out.string("olderThan", *age);
  if (const auto size = line.value("--max-size")) out.string("maxSize", *size);
  if (line.has("--dry-run")) out.raw("dryRun", "true");
  if (wait_ms) out.raw("waitMs", std::to_string(*wait_ms));
  add_store(out, line);
  return out.done();
}

bool is_broad(const command_line& line) { return line.has("--all") || line.has("--filter") || line.has("--affected"); }

std::string recorded_command(const std::vector<std::string>& words) {
  std::string out = "vx";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      const std::size_t rest = words.size() - i - 1;
      return rest == 0 ? out : out + fmt::format(" -- ({})", count_text(rest, "argument"));
    }
    const bool plain = !words[i].empty() && words[i].find_first_of(" \t\n'\"$`\\*?!|&;<>(){}[]#~") == std::string::npos;
    out += plain ? " " + words[i] : " '" + words[i] + "'";
  }
  return out;
}

}  // namespace vx::cli
