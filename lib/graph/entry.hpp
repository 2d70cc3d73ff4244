// Parsed dependency entries without copies. Internal to lib/graph.
#pragma once

#include <string>
#include <string_view>

#include "graph/task_graph.hpp"

namespace vx::graph::detail {

/// graph::entry with views into the raw text.
struct entry_view {
  entry::form kind = entry::form::same;
  bool negated = false;
  bool pattern = false;
  std::string_view project, name;
};

/// The failure's message begins with the quoted entry.
result<entry_view> parse_view(std::string_view raw, entry_place place);

/// Does the entry reach task `name` of `project`, seen from a task of `own`? The sign is not asked.
bool reaches(const entry_view& e, const catalog& c, std::uint32_t own, std::uint32_t project, std::string_view name) noexcept;

std::string quoted(std::string_view raw);
/// fail(CONFIG, "<id>: <field> entry " + message)
[[nodiscard]] tl::unexpected<failure> refuse(std::string_view id, entry_place place, std::string_view message);

}  // namespace vx::graph::detail
