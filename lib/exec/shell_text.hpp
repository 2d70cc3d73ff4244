// A small scanner of POSIX shell text: enough to know where the code ends, whether it is one simple command, and which words
// stand where a command name stands. It decides nothing about expansions; the shell does that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vx::exec {

/// A word at command position.
struct command_word {
  std::size_t at = 0;       ///< offset of its first byte
  std::string text;         ///< without its quotes
  bool literal = true;      ///< no expansion, glob or tilde
  bool assignment = false;  ///< NAME=value before a command
};

struct shell_scan {
  std::size_t code_end = 0;  ///< after the last byte that is no blank, comment, here-document or line continuation
  bool compound = false;     ///< an unquoted ; & | ( ) < > or a newline between code
  bool unfinished = false;   ///< a quote or substitution is still open at the end
  std::vector<command_word> commands;
};

shell_scan scan_shell(std::string_view command);

bool is_shell_reserved(std::string_view word) noexcept;
/// Of any common sh: POSIX, dash, bash, ksh, zsh.
bool is_shell_builtin(std::string_view word) noexcept;

}  // namespace vx::exec
