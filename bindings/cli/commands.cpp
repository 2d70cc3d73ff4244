#include "cli/commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "cli/help.hpp"
#include "cli/library.hpp"
#include "cli/suggest.hpp"
#include "cli/terminal.hpp"

namespace vx::cli {
namespace {

/// The workspace's tasks for a hint. A workspace that does not load gives no hint: the refusal stands by itself.
known_tasks tasks_for_hint() {
  const auto cwd = working_directory();
  if (!std::holds_alternative<std::string>(cwd)) return {};
  auto opened = open_workspace(std::get<std::string>(cwd));
  auto* workspace = std::get_if<workspace_handle>(&opened);
  if (workspace == nullptr) return {};
  buffer answer;
  if (vx_workspace_query(workspace->get(), "{\"query\":\"list-tasks\"}", nullptr, answer.out(), nullptr) != VX_OK) return {};
  return read_known_tasks(answer.text()).value_or(known_tasks{});
}

}  // namespace

int refuse(const invocation& call, std::string_view verb, const refusal& why) {
  const auto cwd = working_directory();
  const auto* here = std::get_if<std::string>(&cwd);
  write_all(STDERR_FILENO, refusal_text(why, verb, here == nullptr ? std::string_view() : *here));
  if (call.json) write_all(STDOUT_FILENO, refusal_json(why));
  return 1;
}

int version_command() {
  write_all(STDOUT_FILENO, fmt::format("vx {}\n", vx_version()));
  return 0;
}

int help_command(const invocation& call, const command_line& line) {
  if (line.operands.empty()) {
    write_all(STDOUT_FILENO, general_help());
    return 0;
  }
  if (const verb_spec* verb = find_verb(line.operands.front())) {
    write_all(STDOUT_FILENO, verb_help(*verb));
    return 0;
  }
  return unknown_verb({{line.operands.front()}, call.json});
}

int unknown_verb(const invocation& call) {
  const std::string& word = call.words.front();
  if (const std::string_view pointer = pointer_for(word); !pointer.empty()) {
    return refuse(call, "", {"VX_E_UNKNOWN_COMMAND", fmt::format("{} is not a vx verb: {}", word, pointer), "", ""});
  }
  return refuse(call, "", {"VX_E_UNKNOWN_COMMAND", unknown_verb_text(call.words, tasks_for_hint()), "", ""});
}

}  // namespace vx::cli
