// The one table of verbs and flags. It drives parsing, help, hints and refusals; nothing else knows a flag's name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

/// What follows a flag.
enum class takes : std::uint8_t {
  nothing,
  value,     ///< `--f v` or `--f=v`
  optional,  ///< only `--f=v`; a following word is an operand
};

/// What a flag's value must look like. The library judges meaning (patterns, references, cache specs).
enum class form : std::uint8_t { text, count, positive, milliseconds, share, label, path, word, list };

struct flag_spec {
  std::string_view name;   ///< with its dashes
  std::string_view alias;  ///< a second spelling, or empty
  takes arity = takes::nothing;
  form value = form::text;
  std::string_view placeholder;  ///< how help shows the value
  std::string_view words;        ///< form::word: the accepted ones, `a|b|c`
  bool repeatable = false;
  bool empty_is_bare = false;  ///< `--f=` means `--f`
  std::string_view help;
};

struct verb_spec {
  std::string_view name;
  std::string_view usage;    ///< after `vx `
  std::string_view summary;  ///< one line of `vx help`
  std::span<const flag_spec> flags;
  std::size_t max_operands = 0;
  bool forwards = false;     ///< takes arguments after `--`
  std::string_view details;  ///< the reference below the flags, whole lines
};

std::span<const verb_spec> verbs();
const verb_spec* find_verb(std::string_view name);
/// By name or alias.
const flag_spec* find_flag(const verb_spec& verb, std::string_view name);
std::vector<std::string> verb_names();
/// Every spelling a verb takes, `--help` included: the candidates of a hint.
std::vector<std::string> flag_names(const verb_spec& verb);

/// A word that is no verb but that people type: what to say. Empty: nothing is known.
std::string_view pointer_for(std::string_view word);

}  // namespace vx::cli
