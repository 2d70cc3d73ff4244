// How a command line becomes what the shell is given: which shell, whether it is replaced, where forwarded arguments go.
#include "base/text.hpp"
#include "exec/process.hpp"
#include "exec/shell_text.hpp"

namespace vx::exec {
namespace {

/// Package managers put node_modules/.bin on the PATH of what they start, and relative entries depend on where vx stands:
/// neither may supply the interpreter.
bool may_hold_shell(std::string_view dir) {
  while (dir.size() > 1 && dir.back() == '/') dir.remove_suffix(1);
  return dir.starts_with('/') && !dir.ends_with("/node_modules/.bin");
}

}  // namespace

result<std::string> find_shell(const environment& env) {
  std::string trusted;
  const std::string* path = env.find("PATH");
  for (const std::string_view dir : text::split(path != nullptr ? std::string_view(*path) : "/bin:/usr/bin", ':')) {
    if (!may_hold_shell(dir)) continue;
    if (!trusted.empty()) trusted += ':';
    trusted += dir;
  }
  if (!trusted.empty()) {
    environment search;
    search.set("PATH", trusted);
#ifdef __APPLE__
    // The dialect of Linux's usual sh, where the system offers it.
    if (std::string dash = find_program(search, "dash"); !dash.empty()) return dash;
#endif
    if (std::string shell = find_program(search, "sh"); !shell.empty()) return shell;
  }
  return fail(errc::NOT_FOUND, "no sh on PATH (" + text::escape(trusted.empty() ? "nothing absolute on it" : trusted, true) +
                                   "), and commands run through it");
}

std::string prepare_command(std::string_view command) {
  const shell_scan scan = scan_shell(command);
  if (scan.compound || scan.unfinished || scan.commands.empty()) return std::string(command);
  const command_word& first = scan.commands.front();
  if (first.assignment || !first.literal || first.text.empty() || first.text.starts_with('-') ||
      is_shell_reserved(first.text) || is_shell_builtin(first.text)) {
    return std::string(command);
  }
  std::string out(command.substr(0, first.at));
  out += "exec ";
  out += command.substr(first.at);
  return out;
}

std::string append_arguments(std::string_view command, const std::vector<std::string>& args) {
  if (args.empty()) return std::string(command);
  std::size_t at = scan_shell(command).code_end;
  if (at == 0) at = command.size();
  std::string out(command.substr(0, at));
  for (const std::string& arg : args) {
    out += ' ';
    out += text::shell_quote(arg);
  }
  out += command.substr(at);
  return out;
}

}  // namespace vx::exec
