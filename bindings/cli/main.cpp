#include <signal.h>
#include <unistd.h>

#include <string>
#include <variant>
#include <vector>

#include "cli/args.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/library.hpp"
#include "cli/terminal.hpp"

namespace {

using namespace vx::cli;

int bare(const invocation& call) {
  const auto cwd = working_directory();
  if (const auto* why = std::get_if<refusal>(&cwd)) return refuse(call, "", *why);
  const auto opened = open_workspace(std::get<std::string>(cwd));
  if (const auto* why = std::get_if<refusal>(&opened)) return refuse(call, "", *why);
  write_all(STDOUT_FILENO, general_help());
  return 0;
}

int dispatch(const invocation& call, const command_line& line) {
  if (line.help) {
    write_all(STDOUT_FILENO, verb_help(*line.verb));
    return 0;
  }
  if (line.verb->name == "run") return run_command(call, line);
  if (line.verb->name == "show") return show_command(call, line);
  if (line.verb->name == "why") return why_command(call, line);
  if (line.verb->name == "last") return last_command(call, line);
  if (line.verb->name == "info") return info_command(call, line);
  if (line.verb->name == "cache") return cache_command(call, line);
  if (line.verb->name == "help") return help_command(call, line);
  return version_command();
}

int vx_main(std::vector<std::string> words) {
  if (words.empty()) return bare({});
  if (words[0] == "--version") words[0] = "version";
  if (words[0] == "--help" || words[0] == "-h") words[0] = "help";
  invocation call{std::move(words), false};
  call.json = asks_json(call.words);
  const verb_spec* verb = find_verb(call.words[0]);
  if (verb == nullptr) {
    if (!call.words[0].starts_with('-')) return unknown_verb(call);
    return refuse(call, "", {"VX_E_USAGE", "unknown flag: " + call.words[0], "", ""});
  }
  const auto parsed = parse_verb(*verb, std::vector<std::string>(call.words.begin() + 1, call.words.end()));
  if (const auto* error = std::get_if<usage_error>(&parsed)) {
    return refuse(call, verb->name, {error->code, error->message, "", ""});
  }
  return dispatch(call, std::get<command_line>(parsed));
}

}  // namespace

int main(int argc, char** argv) {
  // A closed reader is not an error; what vx starts gets the default back.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return vx_main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& defect) {
    write_all(STDERR_FILENO, std::string("vx: internal error: ") + defect.what() + "\n");
  }
  return 1;
}
