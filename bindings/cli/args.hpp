// argv -> a request, by the table of verbs. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/foreign.hpp"
#include "cli/verbs.hpp"

namespace vx::cli {

struct given_flag {
  const flag_spec* spec;
  std::optional<std::string> value;
};

struct command_line {
  const verb_spec* verb = nullptr;
  bool help = false;              ///< `--help` or `-h` before `--`
  std::vector<given_flag> flags;  ///< in the order given
  std::vector<std::string> operands;
  std::vector<std::string> forwarded;  ///< after the first `--`

  bool has(std::string_view flag) const;
  /// The last value given, or nullopt when the flag is absent or always bare.
  std::optional<std::string> value(std::string_view flag) const;
  std::vector<std::string> values(std::string_view flag) const;
};

/// JSON was asked for before `--`: `--format json`, `--format=json`, `--dry=json`. Does not depend on the rest being right.
bool asks_json(const std::vector<std::string>& words);

/// `words` follow the verb. Every flag is checked for form, not for meaning.
std::variant<command_line, usage_error> parse_verb(const verb_spec& verb, const std::vector<std::string>& words);

}  // namespace vx::cli
