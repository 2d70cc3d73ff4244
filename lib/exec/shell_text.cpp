#include "exec/shell_text.hpp"

#include <algorithm>
#include <array>

namespace vx::exec {
namespace {

constexpr std::array<std::string_view, 23> k_reserved = {
    "!",        "[[", "]]", "case",      "coproc", "do",   "done", "elif",  "else",  "esac", "fi", "for",
    "function", "if", "in", "namespace", "select", "then", "time", "until", "while", "{",    "}"};

constexpr auto k_builtins = std::to_array<std::string_view>(
    {".",       ":",       "[",         "alias",    "autoload", "bg",       "bind",    "break",    "builtin", "bye",
     "caller",  "cd",      "chdir",     "command",  "compgen",  "complete", "compopt", "continue", "declare", "dirs",
     "disown",  "echo",    "enable",    "eval",     "exec",     "exit",     "export",  "false",    "fc",      "fg",
     "float",   "getopts", "hash",      "help",     "hist",     "history",  "integer", "jobs",     "kill",    "let",
     "local",   "logout",  "mapfile",   "nameref",  "newgrp",   "noglob",   "popd",    "print",    "printf",  "pushd",
     "pwd",     "read",    "readarray", "readonly", "rehash",   "return",   "set",     "setopt",   "shift",   "shopt",
     "source",  "suspend", "test",      "times",    "trap",     "true",     "type",    "typeset",  "ulimit",  "umask",
     "unalias", "unset",   "unsetopt",  "wait",     "whence",   "where"});

static_assert(std::is_sorted(k_builtins.begin(), k_builtins.end()));

bool is_name(std::string_view word) {
  const auto fits = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !word.empty() && !(word[0] >= '0' && word[0] <= '9') && std::all_of(word.begin(), word.end(), fits);
}

/// What encloses the byte at hand, innermost last.
enum class within : char { subshell, substitution, backtick, double_quotes, braces, arithmetic, arithmetic_paren };

class scanner {
 public:
  explicit scanner(std::string_view text) : in_(text) {}

  shell_scan run() {
    while (at_ < in_.size()) {
      if (open_.empty()) {
        in_code();
        continue;
      }
      switch (open_.back()) {
        case within::double_quotes: in_double_quotes(); break;
        case within::braces: in_braces(); break;
        case within::arithmetic:
        case within::arithmetic_paren: in_arithmetic(); break;
        case within::subshell:
        case within::substitution:
        case within::backtick: in_code(); break;
      }
    }
    if (!open_.empty()) out_.unfinished = true;
    end_word();
    return std::move(out_);
  }

 private:
  struct heredoc {
    std::string delimiter;
    bool strip_tabs;
  };

  char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }

  /// Consumes `n` bytes of code.
  void code(std::size_t n) {
    if (newline_seen_ && out_.code_end != 0) compound();
    newline_seen_ = false;
    at_ = std::min(at_ + n, in_.size());
    out_.code_end = at_;
  }

  bool inside(within kind) const { return std::find(open_.begin(), open_.end(), kind) != open_.end(); }

  void compound() {
    if (!inside(within::double_quotes)) out_.compound = true;
  }

  void begin_word() {
    if (in_word_) return;
    in_word_ = true;
    if (nested_ == 0) {
      word_ = {};
      word_.at = at_;
    }
  }

  void literal(std::string_view bytes) {
    if (nested_ == 0) word_.text.append(bytes);
  }
  void expansion() {
    if (nested_ == 0) word_.literal = false;
  }

  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    if (nested_ != 0) return;
    if (target_next_) {
      target_next_ = false;
    } else if (command_next_) {
      command_next_ = word_.assignment || word_.text == "exec" || is_shell_reserved(word_.text);
      out_.commands.push_back(std::move(word_));
    }
  }

  void open_nested(within kind, std::size_t n) {
    expansion();
    code(n);
    open_.push_back(kind);
    ++nested_;
    in_word_ = false;
  }
  void close_nested() {
    code(1);
    open_.pop_back();
    --nested_;
    in_word_ = true;  // a substitution is part of the word that holds it
  }

  void dollar() {
    expansion();
    if (peek(1) == '(') compound();
    if (peek(1) == '(' && peek(2) == '(') {
      code(3);
      open_.push_back(within::arithmetic);
    } else if (peek(1) == '(') {
      open_nested(within::substitution, 2);
    } else if (peek(1) == '{') {
      code(2);
      open_.push_back(within::braces);
    } else {
      code(1);
    }
  }

  void single_quotes() {
    const std::size_t close = in_.find('\'', at_ + 1);
    if (close == std::string_view::npos) {
      out_.unfinished = true;
      code(in_.size() - at_);
      return;
    }
    literal(in_.substr(at_ + 1, close - at_ - 1));
    code(close + 1 - at_);
  }

  void in_double_quotes() {
    switch (peek()) {
      case '\\':
        literal(in_.substr(at_ + 1, 1));
        code(2);
        break;
      case '"':
        code(1);
        open_.pop_back();
        break;
      case '$': dollar(); break;
      case '`': open_nested(within::backtick, 1); break;
      default: literal(in_.substr(at_, 1)); code(1);
    }
  }

  void in_braces() {
    switch (peek()) {
      case '\\': code(2); break;
      case '\'':
        if (inside(within::double_quotes)) {
          code(1);  // a plain character inside double quotes
        } else {
          single_quotes();
        }
        break;
      case '"':
        code(1);
        open_.push_back(within::double_quotes);
        break;
      case '}':
        code(1);
        open_.pop_back();
        break;
      case '$': dollar(); break;
      case '`': open_nested(within::backtick, 1); break;
      default: code(1);
    }
  }

  void in_arithmetic() {
    switch (peek()) {
      case '(':
        code(1);
        open_.push_back(within::arithmetic_paren);
        break;
      case ')':
        code(open_.back() == within::arithmetic && peek(1) == ')' ? 2 : 1);
        open_.pop_back();
        break;
      case '$': dollar(); break;
      default: code(1);
    }
  }

  void in_code() {
    const char c = peek();
    switch (c) {
      case '\\': backslash(); return;
      case '\'':
        begin_word();
        single_quotes();
        return;
      case '"':
        begin_word();
        code(1);
        open_.push_back(within::double_quotes);
        return;
      case '`':
        if (!open_.empty() && open_.back() == within::backtick) {
          end_word();
          close_nested();
        } else {
          begin_word();
          open_nested(within::backtick, 1);
        }
        return;
      case '$':
        begin_word();
        dollar();
        return;
      case ' ':
      case '\t':
        end_word();
        ++at_;
        return;
      case '\n': newline(); return;
      case '#':
        if (in_word_) break;
        // A backtick ends a comment too when it ends the substitution around it.
        at_ = std::min(in_.find_first_of(inside(within::backtick) ? "\n`" : "\n", at_), in_.size());
        return;
      case ';':
      case '&':
      case '|':
      case '(':
      case ')':
      case '<':
      case '>': operation(c); return;
      default: break;
    }
    plain(c);
  }

  void plain(char c) {
    begin_word();
    if (c == '*' || c == '?' || c == '[' || (c == '~' && at_ == word_.at)) expansion();
    if (c == '=' && command_next_ && nested_ == 0 && !word_.assignment) {
      std::string_view name = word_.text;
      if (name.ends_with('+')) name.remove_suffix(1);
      // Only an unquoted name counts: its length is then the distance from the word's start.
      word_.assignment = is_name(name) && at_ - word_.at == word_.text.size();
    }
    literal(in_.substr(at_, 1));
    code(1);
  }

  void backslash() {
    if (peek(1) == '\n' || at_ + 1 == in_.size()) {  // a continuation: neither code nor the end of a word
      at_ = std::min(at_ + 2, in_.size());
      compound();
      return;
    }
    begin_word();
    literal(in_.substr(at_ + 1, 1));
    code(2);
  }

  void newline() {
    end_word();
    ++at_;
    newline_seen_ = true;
    command_next_ = true;
    for (const heredoc& doc : pending_) skip_heredoc(doc);
    pending_.clear();
  }

  void operation(char c) {
    const bool descriptor = (c == '<' || c == '>') && nested_ == 0 && in_word_ && !word_.text.empty() &&
                            word_.text.find_first_not_of("0123456789") == std::string::npos;
    if (descriptor) in_word_ = false;  // 2>file: the number belongs to the redirection
    end_word();
    compound();
    if (c == '<' || c == '>') {
      redirection(c);
      return;
    }
    if (c == ')' && !open_.empty() && open_.back() == within::substitution) {
      close_nested();
      return;
    }
    if (c == ')' && !open_.empty() && open_.back() == within::subshell) open_.pop_back();
    if (c == '(') open_.push_back(within::subshell);
    code(1);
    command_next_ = true;
  }

  void redirection(char c) {
    if (c == '<' && peek(1) == '<' && peek(2) != '<') {
      here_document();
      return;
    }
    std::size_t n = 1;
    while (n < 3 && (peek(n) == '<' || peek(n) == '>' || peek(n) == '&' || peek(n) == '|')) ++n;
    code(n);
    if (nested_ == 0) target_next_ = true;
  }

  void here_document() {
    heredoc doc{{}, peek(2) == '-'};
    code(doc.strip_tabs ? 3 : 2);
    while (peek() == ' ' || peek() == '\t') ++at_;
    while (at_ < in_.size() && std::string_view(" \t\n;&|()<>").find(peek()) == std::string_view::npos) {
      if (peek() == '\'' || peek() == '"') {
        const std::size_t close = std::min(in_.find(peek(), at_ + 1), in_.size());
        doc.delimiter.append(in_.substr(at_ + 1, close - at_ - 1));
        code(close + 1 - at_);
        continue;
      }
      if (peek() == '\\') code(1);
      doc.delimiter.append(in_.substr(std::min(at_, in_.size()), 1));
      code(1);
    }
    if (!doc.delimiter.empty()) pending_.push_back(std::move(doc));
  }

  void skip_heredoc(const heredoc& doc) {
    while (at_ < in_.size()) {
      const std::size_t end = std::min(in_.find('\n', at_), in_.size());
      std::string_view line = in_.substr(at_, end - at_);
      at_ = std::min(end + 1, in_.size());
      if (doc.strip_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == doc.delimiter) return;
    }
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::vector<within> open_;
  int nested_ = 0;  // substitutions among open_: their words are not ours
  bool in_word_ = false;
  bool command_next_ = true;  // the next word names a command
  bool target_next_ = false;  // the next word is a redirection's target
  bool newline_seen_ = false;
  command_word word_;
  std::vector<heredoc> pending_;
  shell_scan out_;
};

}  // namespace

shell_scan scan_shell(std::string_view command) { return scanner(command).run(); }

bool is_shell_reserved(std::string_view word) noexcept {
  return std::find(k_reserved.begin(), k_reserved.end(), word) != k_reserved.end();
}

bool is_shell_builtin(std::string_view word) noexcept { return std::binary_search(k_builtins.begin(), k_builtins.end(), word); }

}  // namespace vx::exec
