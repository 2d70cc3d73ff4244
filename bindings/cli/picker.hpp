// `vx run` without a name on a terminal: a numbered list of tasks, and the number that was typed. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cli {

struct choice {
  std::string id;                    ///< "pkg#task"
  std::string description;
};

/// The tasks that do something, from the answer to list-tasks: the project of the working directory first, then as listed.
std::vector<choice> read_choices(std::string_view json);

/// One line a task: number, id, description.
std::string menu_text(const std::vector<choice>& choices);

/// The 1-based number in `line`, as an index; nullopt when it is none of the list's.
std::optional<std::size_t> chosen(std::string_view line, std::size_t count);

}  // namespace vx::cli
