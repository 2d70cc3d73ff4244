#include "cli/commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "cli/help.hpp"
#include "cli/library.hpp"
#include "cli/request.hpp"
#include "cli/show_text.hpp"
#include "cli/signals.hpp"
#include "cli/suggest.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

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

int show_answer(const invocation& call, std::string_view json) {
  const auto view = read_show(json);
  if (!view) return refuse(call, "show", {"VX_E_INTERNAL", "the library's answer is not a show document", "", ""});
  for (const std::string& notice : view->notices) write_all(STDERR_FILENO, "[vx] " + printable(notice) + "\n");
  write_all(STDOUT_FILENO, call.json ? view->document + "\n" : view->text);
  return 0;
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

int show_command(const invocation& call, const command_line& line) {
  const auto cwd = working_directory();
  if (const auto* why = std::get_if<refusal>(&cwd)) return refuse(call, "show", *why);
  auto cancel = new_cancel();
  if (const auto* why = std::get_if<refusal>(&cancel)) return refuse(call, "show", *why);
  const signal_guard guard(std::get<cancel_handle>(cancel).get());
  auto opened = open_workspace(std::get<std::string>(cwd));
  if (const auto* why = std::get_if<refusal>(&opened)) return refuse(call, "show", *why);
  buffer answer;
  vx_error* error = nullptr;
  const vx_status status = vx_workspace_query(std::get<workspace_handle>(opened).get(), show_request(line).c_str(),
                                              std::get<cancel_handle>(cancel).get(), answer.out(), &error);
  const int code = status == VX_OK ? show_answer(call, answer.text()) : refuse(call, "show", to_refusal(error));
  if (const int signal = signal_guard::received(); signal != 0) end_by_signal(signal);
  return code;
}

}  // namespace vx::cli
