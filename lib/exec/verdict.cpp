#include "exec/verdict.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "exec/shell_text.hpp"

namespace vx::exec {
namespace {

struct signal_fact {
  int number;
  std::string_view name;
  std::string_view cause;  // "" = the name says it
};

constexpr std::string_view k_crash = "a crash in native code";
constexpr std::string_view k_limit = "a resource limit (ulimit)";

constexpr signal_fact k_signals[] = {
    {SIGHUP, "SIGHUP", ""},
    {SIGINT, "SIGINT", ""},
    {SIGQUIT, "SIGQUIT", ""},
    {SIGILL, "SIGILL", k_crash},
    {SIGTRAP, "SIGTRAP", "a debugger trap or a failed native check"},
    {SIGABRT, "SIGABRT", "a failed assertion or an exhausted heap limit"},
    {SIGBUS, "SIGBUS", k_crash},
    {SIGFPE, "SIGFPE", k_crash},
    {SIGKILL, "SIGKILL", "out of memory, or somebody killed it"},
    {SIGUSR1, "SIGUSR1", ""},
    {SIGSEGV, "SIGSEGV", k_crash},
    {SIGUSR2, "SIGUSR2", ""},
    {SIGPIPE, "SIGPIPE", "the reader of its output went away"},
    {SIGALRM, "SIGALRM", ""},
    {SIGTERM, "SIGTERM", "somebody asked it to end"},
    {SIGXCPU, "SIGXCPU", k_limit},
    {SIGXFSZ, "SIGXFSZ", k_limit},
    {SIGSYS, "SIGSYS", "a system call forbidden by seccomp"},
};

std::string signal_verdict(int number, bool seen) {
  for (const signal_fact& fact : k_signals) {
    if (fact.number != number) continue;
    std::string out =
        seen ? fmt::format("killed by {}", fact.name) : fmt::format("exit {} is 128 + {}", 128 + number, fact.name);
    if (!fact.cause.empty()) out += fmt::format(": {}", fact.cause);
    return out;
  }
  return {};
}

std::string_view variable(const spawn_spec& spec, std::string_view name) {
  for (const std::string& entry : spec.env) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

std::string shown(std::string_view raw) { return text::escape(raw, true); }

class inspector {
 public:
  inspector(const spawn_spec& spec, int exit_code) : spec_(spec), path_(variable(spec, "PATH")), exit_code_(exit_code) {}

  /// What is wrong with a command word; "" when it could be run.
  std::string word(const std::string& word) const {
    if (word.find('/') != std::string::npos) return file(word, absolute(word));
    std::string not_executable;
    for (const std::string_view dir : text::split(path_, ':')) {
      const std::string candidate = path::join(absolute(std::string(dir)), word);
      const fs::stat_info info = fs::stat_at(fs::k_cwd, candidate).value_or(fs::stat_info{});
      if (info.kind != fs::kind::file) continue;
      if (::access(candidate.c_str(), X_OK) == 0) return file(candidate, candidate);
      if (not_executable.empty()) not_executable = candidate;
    }
    if (!not_executable.empty()) return file(not_executable, not_executable);
    return missing(word);
  }

 private:
  std::string absolute(const std::string& path) const {
    return path.starts_with('/') ? path : path::normalize(path::join(spec_.cwd, path));
  }

  bool on_path(std::string_view name) const {
    for (const std::string_view dir : text::split(path_, ':')) {
      const std::string candidate = path::join(absolute(std::string(dir)), name);
      const fs::stat_info info = fs::stat_at(fs::k_cwd, candidate).value_or(fs::stat_info{});
      if (info.kind == fs::kind::file && ::access(candidate.c_str(), X_OK) == 0) return true;
    }
    return false;
  }

  std::string missing(const std::string& word) const {
    const std::string project = path::join(spec_.cwd, "node_modules/.bin");
    const std::string root = path::join(variable(spec_, "VX_RUN_WORKSPACE"), "node_modules/.bin");
    std::string out = fmt::format("\"{}\" is not on the task's PATH; {}", shown(word), shown(project));
    if (root != project && root.starts_with('/')) out += fmt::format(" and {}", shown(root));
    out += root != project && root.starts_with('/') ? " were searched first" : " was searched first";
    for (const std::string& dir : {project, root}) {
      if (dir.find(':') == std::string::npos) continue;
      out += fmt::format(", but {} is left out because its path holds ':'", shown(dir));
      break;
    }
    return out;
  }

  std::string file(const std::string& name, const std::string& at) const {
    const result<fs::stat_info> info = fs::stat_at(fs::k_cwd, at);
    if (!info) return {};
    if (info->kind == fs::kind::none) return fmt::format("{} does not exist", shown(name));
    if (info->kind == fs::kind::dir) return fmt::format("{} is a directory", shown(name));
    if (::access(at.c_str(), X_OK) != 0)
      return fmt::format("{} is not executable (chmod +x {})", shown(name), shown(text::shell_quote(at)));
    return interpreter(name, at);
  }

  std::string interpreter(const std::string& name, const std::string& at) const {
    const result<unique_fd> fd = fs::open_at(fs::k_cwd, at, O_RDONLY | O_NONBLOCK);
    if (!fd) return {};
    char buffer[256];
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    if (n <= 0) return {};
    std::string_view head(buffer, static_cast<std::size_t>(n));
    if (!head.starts_with("#!")) {
      // A binary says nothing: it may well have run and answered this code itself.
      const bool text = head.find('\0') == std::string_view::npos;
      return text && exit_code_ == 126 ? fmt::format("{} has no #! line", shown(name)) : std::string();
    }
    head = head.substr(2, std::min(head.find('\n'), head.size()) - 2);
    if (head.ends_with('\r')) return fmt::format("the #! line of {} ends in CRLF; store the file with LF", shown(name));
    head = text::trim(head);
    const std::size_t blank = std::min(head.find_first_of(" \t"), head.size());
    const std::string program(head.substr(0, blank));
    std::string_view argument = text::trim(head.substr(blank));
    if (::access(program.c_str(), F_OK) != 0)
      return fmt::format("the interpreter {} of {} does not exist", shown(program), shown(name));
    if (path::base_name(program) != "env") return {};
    if (argument.starts_with("-S ")) argument = text::trim(argument.substr(3));
    argument = argument.substr(0, argument.find_first_of(" \t"));
    if (argument.empty() || argument.starts_with('-') || argument.find_first_of("=/") != std::string_view::npos ||
        on_path(argument)) {
      return {};
    }
    return fmt::format("{} needs \"{}\", which is not on the task's PATH", shown(name), shown(argument));
  }

  const spawn_spec& spec_;
  std::string_view path_;
  int exit_code_;
};

/// The words the command names as programs; none when its structure is beyond a scan.
std::vector<std::string> programs(std::string_view command) {
  std::vector<std::string> out;
  for (const command_word& word : scan_shell(command).commands) {
    if (is_shell_reserved(word.text)) return {};
    if (word.assignment || !word.literal || word.text.empty()) continue;
    if (!is_shell_builtin(word.text)) out.push_back(word.text);
  }
  return out;
}

}  // namespace

std::string_view signal_name(int signal) noexcept {
  for (const signal_fact& fact : k_signals) {
    if (fact.number == signal) return fact.name;
  }
  return {};
}

std::string verdict_line(const spawn_spec& spec, int exit_code, int signal) {
  if (signal != 0) return signal_verdict(signal, true);
  if (exit_code > 128) return signal_verdict(exit_code - 128, false);
  if (exit_code != 126 && exit_code != 127) return {};
  const inspector look(spec, exit_code);
  for (const std::string& word : programs(spec.command)) {
    if (std::string line = look.word(word); !line.empty()) return line;
  }
  return {};
}

}  // namespace vx::exec
