// The verbs. Each takes a checked command line and returns the process's exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/args.hpp"
#include "cli/errors.hpp"

namespace vx::cli {

struct invocation {
  std::vector<std::string> words;  ///< argv without the program
  bool json = false;               ///< a JSON document was asked for
};

int run_command(const invocation& call, const command_line& line);
int show_command(const invocation& call, const command_line& line);
int why_command(const invocation& call, const command_line& line);
int last_command(const invocation& call, const command_line& line);
int info_command(const invocation& call, const command_line& line);
int cache_command(const invocation& call, const command_line& line);
int help_command(const invocation& call, const command_line& line);
int version_command();

/// A first word that is no verb.
int unknown_verb(const invocation& call);

/// Says why and returns 1. `verb` may be empty.
int refuse(const invocation& call, std::string_view verb, const refusal& why);

}  // namespace vx::cli
