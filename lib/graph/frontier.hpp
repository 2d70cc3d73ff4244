// The nearest holders of a task among the packages a project depends on. Internal to lib/graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/task_graph.hpp"

namespace vx::graph::detail {

/// All answers for one task name or pattern. Packages without the task share the holders below them: each strongly connected
/// group of such packages is resolved once, so a thousand tasks asking for the same name cost one walk.
class frontier {
 public:
  frontier(const catalog& c, std::string name, bool pattern);

  /// Projects that hold the task nearest below `project`, each once, in no particular order. Never `project` itself.
  std::vector<std::uint32_t> holders(std::uint32_t project);
  /// Does some loaded project declare the name?
  bool declared_anywhere();
  /// Calls `take(task index)` for each task of a holder that the name stands for.
  template <class Take>
  void tasks_of(std::uint32_t project, Take take) const {
    const auto& tasks = c_.projects[project].tasks;
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      if (matches(tasks[i].name)) take(i);
    }
  }
  const std::string& name() const noexcept { return name_; }

 private:
  enum class held : std::uint8_t { unknown, no, yes };
  struct frame {
    std::uint32_t project, next;
  };
  bool matches(std::string_view task) const noexcept;
  bool is_holder(std::uint32_t project);
  void resolve(std::uint32_t start);
  void enter(std::uint32_t project, std::vector<frame>& frames);
  void close_group(std::uint32_t head);
  void add(std::uint32_t project, std::vector<std::uint32_t>& to);

  const catalog& c_;
  std::string name_;
  bool pattern_;
  std::vector<held> held_;
  std::optional<bool> declared_;
  // For packages that do not hold the task; sized on first use.
  std::vector<std::uint32_t> set_of_;       ///< which of sets_, or k_unset
  std::vector<std::uint32_t> index_, low_;  ///< of the search for strongly connected groups; 0: not seen
  std::vector<std::uint32_t> open_;         ///< seen, group not closed yet
  std::uint32_t counter_ = 0;
  std::vector<std::vector<std::uint32_t>> sets_;
  std::vector<std::uint32_t> stamp_;  ///< equals epoch_: already collected
  std::uint32_t epoch_ = 0;
};

}  // namespace vx::graph::detail
