// dependsOn -> edges (graph.md 1 to 7, 10, 11). Pure: works on a catalog of projects and tasks that the workspace layer fills.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "graph/dag.hpp"

namespace vx::graph {

/// One parsed entry of dependsOn or cache.inputs.tasks. `raw` is named in every error.
struct entry {
  enum class form : std::uint8_t { same, frontier, project, all_same, all_frontier };
  form kind = form::same;
  bool negated = false;
  std::string project;   ///< for form::project; "//" is the root project; may hold '*' in inputs.tasks
  std::string name;      ///< task name, may hold '*'
  bool pattern = false;  ///< a '*' in name or project
  std::string raw;
};
enum class entry_place : std::uint8_t { depends_on, inputs_tasks };
/// Refuses malformed entries and forms the place does not take (graph.md 2.1).
result<entry> parse_entry(std::string_view raw, entry_place place);

/// What the builder knows of a task. Owned by the catalog.
struct catalog_task {
  std::string name;
  std::vector<std::string> depends_on;                   ///< raw entries
  std::optional<std::vector<std::string>> inputs_tasks;  ///< raw filter; nullopt = all
  bool has_exec = false;                                 ///< false: a group
  bool keyed_group = false;                              ///< a group with a cache block, the implicit build included
  bool implicit = false;                                 ///< the implicit build
  bool persistent = false;
  bool cached = false;  ///< has a cache block (keyed groups too)
};
struct catalog_project {
  std::string name;
  std::vector<std::uint32_t> order;  ///< ORDER adjacency (config.md 3), sorted
  std::vector<catalog_task> tasks;   ///< sorted by name
  bool is_root = false;
  bool loaded = true;  ///< false: its config was not read (scoped load)
  const catalog_task* find(std::string_view task) const noexcept;
};
struct catalog {
  std::vector<catalog_project> projects;  ///< index = project id
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> by_name;
  std::optional<std::uint32_t> root;
};

struct request {
  std::uint32_t project;
  std::string task;
};

struct task_node {
  std::uint32_t project = 0;
  std::uint32_t task = 0;  ///< index into catalog.projects[project].tasks
  std::string id;          ///< "<project>#<task>"
  bool requested = false;
  bool surfaced = false;  ///< a real task that a requested group stands for
};

/// Nodes in construction order (requests first, then depth-first); the deps of `edges` sorted by id text in each node.
struct task_graph {
  std::vector<task_node> nodes;
  dag edges;
  /// Which deps' keys a node folds (indices into nodes), after inputs.tasks; sorted.
  std::vector<std::vector<std::uint32_t>> folded;
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> by_id;
};

struct build_options {
  /// Called when a `^name` entry finds no holder and no loaded project declares the task: the loader reads the rest of the
  /// configs into the catalog. Answers true when some project declares it (or when that can't be known).
  std::function<result<bool>(std::string_view task)> declared_anywhere;
};

/// Every refusal of graph.md 2, 7 and 10; a cycle is errc::CYCLE with details {"cycle":[ids]} and starts at its smallest id.
result<task_graph> build_task_graph(const catalog& c, const std::vector<request>& requests, const build_options& options);

/// Checks inputs.tasks entries against dependsOn entries of the same task (graph.md 10, at load). Message names entry and task
/// id.
status check_inputs_tasks(const catalog_task& task, std::string_view task_id);

/// --exclude-dependencies (graph.md 11): which nodes are scheduled and the order edges among them. Keys never change.
struct schedule_view {
  std::vector<bool> scheduled;
  std::vector<std::vector<std::uint32_t>> order;  ///< per node: scheduled nodes it must follow (dropped ones bridged)
  std::vector<bool> folds_dropped;  ///< its key folds a dropped task's key, directly or through others: never saves
};
struct exclude_option {
  bool all = false;
  std::vector<std::string> names;  ///< task names; empty with all=false: nothing excluded
};
/// Each name must be declared by some project: refused with the nearest; an empty name is refused.
status check_exclusions(const catalog& c, const exclude_option& option);
schedule_view apply_exclusions(const catalog& c, const task_graph& g, const exclude_option& option);

}  // namespace vx::graph
