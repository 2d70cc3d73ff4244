#include "cli/show_text.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <utility>

#include "cli/json_read.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

std::string compact(const json_value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

/// A string bare, a list of strings joined by commas, anything else as JSON.
std::string plain(const json_value& value) {
  if (value.IsString()) return printable({value.GetString(), value.GetStringLength()});
  if (!value.IsArray()) return compact(value);
  std::vector<std::string> parts;
  for (const auto& item : value.GetArray()) parts.push_back(plain(item));
  return parts.empty() ? "[]" : join(parts, ", ");
}

/// The lines of a block: only what is set, in a fixed order.
class block {
 public:
  void add(std::string_view key, const json_value* value) {
    if (value != nullptr && !value->IsNull()) rows_.emplace_back(key, plain(*value));
  }
  void add(std::string_view key, std::string text) { rows_.emplace_back(key, std::move(text)); }
  std::string text(std::string_view indent) const {
    std::size_t width = 0;
    for (const auto& [key, value] : rows_) width = std::max(width, key.size());
    std::string out;
    for (const auto& [key, value] : rows_) out += fmt::format("{}{}  {}\n", indent, pad_right(key, width), value);
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

void add_cache(block& rows, const json_value& cache) {
  static constexpr std::pair<const char*, const char*> inputs[] = {
      {"inputs.files", "files"},     {"inputs.workspaceFiles", "workspaceFiles"},
      {"inputs.env", "env"},         {"inputs.tasks", "tasks"},
      {"inputs.runtime", "runtime"}, {"inputs.workspaceRuntime", "workspaceRuntime"}};
  static constexpr std::pair<const char*, const char*> outputs[] = {{"outputs.files", "files"},
                                                                    {"outputs.workspaceFiles", "workspaceFiles"}};
  if (const json_value* group = read_member(cache, "inputs")) {
    for (const auto& [label, field] : inputs) rows.add(label, read_member(*group, field));
  }
  if (const json_value* group = read_member(cache, "outputs")) {
    for (const auto& [label, field] : outputs) rows.add(label, read_member(*group, field));
  }
  rows.add("portable", read_member(cache, "portable"));
  rows.add("inputStability", read_member(cache, "inputStability"));
}

std::string task_block(const json_value& config, std::string_view indent) {
  block rows;
  rows.add("description", read_member(config, "description"));
  const json_value* exec = read_member(config, "exec");
  if (exec == nullptr) {
    rows.add("command", std::string("(group)"));
  } else {
    rows.add("command", read_member(*exec, "command"));
  }
  rows.add("dependsOn", read_member(config, "dependsOn"));
  if (exec != nullptr) {
    rows.add("timeout", read_member(*exec, "timeout"));
    rows.add("retries", read_member(*exec, "retries"));
    if (const json_value* env = read_member(*exec, "env")) {
      rows.add("env.passThrough", read_member(*env, "passThrough"));
      rows.add("env.define", read_member(*env, "define"));
      rows.add("env.secret", read_member(*env, "secret"));
    }
    rows.add("remote", read_member(*exec, "remote"));
    rows.add("sandbox", read_member(*exec, "sandbox"));
    rows.add("persistent", read_member(*exec, "persistent"));
    rows.add("interactive", read_member(*exec, "interactive"));
  }
  if (const json_value* cache = read_member(config, "cache")) add_cache(rows, *cache);
  return rows.text(indent);
}

std::string tags_text(const json_value& project) {
  std::vector<std::string> tags;
  for (const std::string& tag : read_texts(project, "tags")) tags.push_back(printable(tag));
  return tags.empty() ? std::string() : fmt::format("[{}]", join(tags, ", "));
}

/// A project without a config of its own carries "config": false; its one task is the implicit build.
std::string tasks_text(const json_value& project) {
  const json_value* tasks = read_member(project, "tasks");
  const std::uint64_t n = tasks != nullptr && tasks->IsArray() ? tasks->Size() : 0;
  const json_value* config = read_member(project, "config");
  const bool none = config != nullptr && (config->IsNull() || config->IsFalse());
  if (!none) return count_text(n, "task");
  return n == 0 ? "(no vx config)" : fmt::format("{} (no vx config; default build)", count_text(n, "task"));
}

std::string list_text(const json_value& list) {
  std::size_t name_width = 0;
  std::size_t dir_width = 0;
  std::size_t tasks_width = 0;
  for (const auto& project : list.GetArray()) {
    name_width = std::max(name_width, display_width(printable(read_text(project, "name"))));
    dir_width = std::max(dir_width, display_width(printable(read_text(project, "dir"))));
    tasks_width = std::max(tasks_width, display_width(tasks_text(project)));
  }
  std::string out;
  for (const auto& project : list.GetArray()) {
    std::string line = fmt::format("{}  {}  {}  {}", pad_right(printable(read_text(project, "name")), name_width),
                                   pad_right(printable(read_text(project, "dir")), dir_width),
                                   pad_right(tasks_text(project), tasks_width), tags_text(project));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out.empty() ? "no projects\n" : out;
}

std::string title(const json_value& project) {
  return fmt::format("{} — {}", printable(read_text(project, "name")), printable(read_text(project, "dir")));
}

std::string task_text(const json_value& task) {
  const json_value* config = read_member(task, "config");
  std::string out = fmt::format("{}#{} — {}\n", printable(read_text(task, "name")), printable(read_text(task, "task")),
                                printable(read_text(task, "dir")));
  return config != nullptr && config->IsObject() ? out + task_block(*config, "  ") : out;
}

std::string project_text(const json_value& project) {
  std::string out = title(project) + "\n";
  const json_value* config = read_member(project, "config");
  if (config == nullptr || !config->IsObject()) return out + "  (no vx config)\n";
  if (const std::string tags = tags_text(*config); !tags.empty()) out += fmt::format("  tags  {}\n", tags);
  const json_value* tasks = read_member(*config, "tasks");
  if (tasks == nullptr || !tasks->IsObject()) return out;
  for (const auto& task : tasks->GetObject()) {
    out += fmt::format("\n  {}\n", printable({task.name.GetString(), task.name.GetStringLength()}));
    if (task.value.IsObject()) out += task_block(task.value, "    ");
  }
  return out;
}

std::string result_text(const json_value& result) {
  if (result.IsArray()) {
    if (result.Empty() || read_member(result[0], "task") == nullptr) return list_text(result);
    std::string out;
    for (const auto& task : result.GetArray()) out += (out.empty() ? "" : "\n") + task_text(task);
    return out;
  }
  return read_member(result, "task") != nullptr ? task_text(result) : project_text(result);
}

}  // namespace

std::optional<show_view> read_show(std::string_view json) {
  rapidjson::Document root;
  root.Parse(json.data(), json.size());
  if (root.HasParseError() || !root.IsObject()) return std::nullopt;
  const json_value* result = read_member(root, "result");
  if (result == nullptr) return std::nullopt;
  return show_view{result_text(*result), compact(*result), read_texts(root, "notices")};
}

}  // namespace vx::cli
