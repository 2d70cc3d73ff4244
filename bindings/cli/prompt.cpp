#include "cli/prompt.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "cli/terminal.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

/// A line without its end; nullopt at the end of input. Byte by byte: what follows belongs to the task.
std::optional<std::string> read_line() {
  std::string line;
  for (;;) {
    char c = 0;
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
}

}  // namespace

std::variant<choice, refusal> pick(const std::vector<choice>& choices) {
  write_all(STDERR_FILENO, menu_text(choices));
  for (;;) {
    write_all(STDERR_FILENO, fmt::format("task (1-{}): ", choices.size()));
    const std::optional<std::string> line = read_line();
    if (!line) {
      write_all(STDERR_FILENO, "\n");
      return refusal{"VX_E_USAGE", "no task picked", "", ""};
    }
    if (const auto at = chosen(*line, choices.size())) return choices[*at];
    write_all(STDERR_FILENO, fmt::format("{} is not a number from 1 to {}\n", printable(*line), choices.size()));
  }
}

}  // namespace vx::cli
