// Everything a run and a plan share before the first key: workspace, selection, graph, facts, store (run.md 3.1).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/index.hpp"
#include "cache/store.hpp"
#include "exec/mask.hpp"
#include "exec/process.hpp"
#include "graph/task_graph.hpp"
#include "inputs/inputs.hpp"
#include "run/host.hpp"
#include "run/memo.hpp"
#include "run/notices.hpp"
#include "run/request.hpp"
#include "run/timing.hpp"
#include "workspace/lockfile/closure.hpp"
#include "workspace/selection.hpp"
#include "workspace/workspace.hpp"

namespace vx::run {

/// What the run knows of a node beyond the graph. Null config only for nodes that can't exist.
struct task_info {
  const workspace::project* project = nullptr;
  const workspace::task_config* config = nullptr;
  std::shared_ptr<const inputs::selector> selector;  ///< null for plain groups
  std::shared_ptr<const cache::output_scope> scope;  ///< null unless the task is cacheable
  std::string command;                               ///< with forwarded arguments; "" for groups
};

enum class prepare_mode : std::uint8_t { run, plan };

/// Members are declared in dependency order: destruction runs from the users to the used.
struct prepared {
  std::shared_ptr<const host> h;
  run_request request;
  unsigned concurrency = 1;
  exec::cpu_info cpus;
  stage_clock timing;
  vx::run::notices notices;
  const cancel_token* cancel = nullptr;

  std::unique_ptr<cache::index> index;
  std::unique_ptr<index_memo> memo;
  std::unique_ptr<inputs::facts> facts;
  std::unique_ptr<workspace::loader> loader;
  cache::store_location location;
  std::unique_ptr<cache::store> store;
  workspace::selection selection;
  workspace::fingerprint fingerprint;
  std::optional<workspace::lockfile::closure> closure;  ///< with closure keys, when a lockfile is claimed
  graph::task_graph graph;
  graph::schedule_view schedule;
  std::vector<task_info> tasks;             ///< by node index
  std::vector<host_seams::pairs> material;  ///< by node: what the host adds to keys; empty when it adds nothing
  exec::mask mask;

  const workspace::workspace& ws() const { return loader->ws(); }
  bool is_group(std::uint32_t node) const { return tasks[node].config->is_group(); }
  /// A task whose result this policy may look up or store.
  bool may_read(std::uint32_t node) const;
  bool may_write(std::uint32_t node) const;
};

/// Refusals are failures; nothing has started. An empty selection leaves an empty graph (selection.none_affected tells which
/// kind).
result<std::unique_ptr<prepared>> prepare(std::shared_ptr<const host> h, run_request request, prepare_mode mode,
                                          const cancel_token* cancel);

}  // namespace vx::run
