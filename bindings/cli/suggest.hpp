// What to say when a word is missing or unknown. Pure: the workspace's tasks come as a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

struct known_project {
  std::string name;
  std::vector<std::string> tasks;
};

/// What the list-tasks query answers.
struct known_tasks {
  std::vector<known_project> projects;
  std::string current;  ///< the project the working directory is in, or empty

  bool declares(std::string_view task) const;
  bool has_project(std::string_view name) const;
};
std::optional<known_tasks> read_known_tasks(std::string_view json);

/// After `vx run` without a name: what could have been named.
std::string missing_name_text(const known_tasks& known);

/// After `vx WORDS...` where the first word is no verb. Starts with the word.
std::string unknown_verb_text(const std::vector<std::string>& words, const known_tasks& known);

}  // namespace vx::cli
