// The workspace as a value: root, projects, package graph, fingerprint (config.md 2, 3, 4). Built once, then only read, except
// that load_* fills in configs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"
#include "graph/task_graph.hpp"
#include "workspace/config_loader.hpp"
#include "workspace/task_config.hpp"

namespace vx::workspace {

namespace lockfile {
struct closure;
}

struct project {
  std::string name;
  std::string dir;  ///< root-relative, "" for the root project
  bool has_manifest = false;
  bool has_package_name = false;
  bool linked_member = false;  ///< a package manager member (a link target of name-and-range specs)
  std::string version;
  std::string real_dir;                          ///< absolute real directory when `dir` passes a link, else ""
  std::string config_path;                       ///< root-relative, "" = none
  std::shared_ptr<const project_config> config;  ///< null: none, or not loaded yet
  bool loaded = false;                           ///< config read, or there is none
  std::optional<failure> config_failure;         ///< its config does not load
};

/// Root files of config.md 4 that exist: name and bytes, in their order.
struct fingerprint {
  digest128 digest;
  std::vector<std::pair<std::string, std::string>> files;
  std::int64_t read_ns = 0;                                     ///< wall clock at the read, for the watch (keys.md 17.4)
  std::optional<std::pair<std::string, std::string>> lockfile;  ///< with closure keys: the claimed one, in neither of the above
  bool same_as(const fingerprint& o) const { return digest == o.digest && lockfile == o.lockfile; }
};

class workspace {
 public:
  std::string root;  ///< absolute, real path
  workspace_config settings;
  std::string package_manager;    ///< pnpm, npm, yarn, bun, or "" when none
  std::vector<project> projects;  ///< sorted by name; the index is the project id
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> by_name;
  std::optional<std::uint32_t> root_project;
  std::vector<std::vector<std::uint32_t>> order;  ///< ORDER adjacency, sorted (manifests; config `dependencies` join as loaded)
  std::vector<std::vector<std::uint32_t>> reach;  ///< REACH adjacency (complete only after load_all)
  std::vector<std::string> notices;               ///< reported lines

  /// Deepest project directory that holds the root-relative `path`.
  std::optional<std::uint32_t> owner_of(std::string_view path) const;
  /// The project AT a root-relative directory.
  std::optional<std::uint32_t> project_at(std::string_view dir) const;
  /// Deepest project behind a link whose real directory holds the absolute `path`.
  std::optional<std::uint32_t> linked_owner_of(std::string_view path) const;
  /// Deepest project whose directory holds `cwd` (absolute), links on the way followed.
  std::optional<std::uint32_t> current_project(const std::string& cwd) const;
  /// Directories of other projects strictly below this one, PROJECT-relative and sorted; shared by all its tasks. Null when
  /// none.
  std::shared_ptr<const std::vector<std::string>> nested_of(std::uint32_t project) const;
  /// `name`, `//`, or the unscoped half of exactly one scoped name (graph.md 12). Never guesses further.
  std::optional<std::uint32_t> find_project(std::string_view name) const;
  std::vector<std::string> project_names() const;
  /// The task, the implicit build included; null when the project does not declare it.
  const task_config* find_task(std::uint32_t project, std::string_view task) const;

  /// Builds by_name, the directory index and the nested lists from `projects`. Called once, by the loader.
  void index();

 private:
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> by_dir_;
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> by_real_dir_;  ///< projects behind links
  std::vector<std::shared_ptr<const std::vector<std::string>>> nested_;
  task_config implicit_build_;
};

struct open_request {
  std::string cwd;  ///< absolute
  const environment* env = nullptr;
  eval_memo* memo = nullptr;
  const cancel_token* cancel = nullptr;
};

/// config.md 2.1: where is the root? Reads only what the search needs. Failure NO_WORKSPACE names the start.
result<std::string> find_root(const std::string& cwd, const environment& env);

/// Opens a workspace whose root is known and reads configs on demand.
class loader {
 public:
  /// Root config, discovery, manifests, package graph. `root` from find_root.
  static result<std::unique_ptr<loader>> open(const std::string& root, const open_request& request);
  ~loader();

  vx::workspace::workspace& ws() noexcept;
  /// Reads configs of the seeds and their closure (ORDER and config `dependencies`), then of projects that `pkg#task` entries
  /// name, to a fixpoint. The first failure in request order is returned, good evaluations are kept.
  status load_scope(const std::vector<std::uint32_t>& seeds);
  status load_all();
  /// Like load_all, but a config that does not load is recorded in its project and skipped.
  void load_all_tolerant();
  bool all_loaded() const noexcept;
  /// The catalog for graph::build_task_graph. Holds the implicit builds. The object stays where it is; load_* fills in projects
  /// that were not loaded and moves no task of one that was.
  const graph::catalog& catalog();
  void finish();  ///< ends the evaluator, stores memos

 private:
  loader();
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// `closure`: the config says `lockfile: "closure"`.
result<fingerprint> read_fingerprint(const std::string& root, bool closure);
/// nullopt: no lockfile is claimed.
result<std::optional<lockfile::closure>> read_closure(const workspace& ws, const fingerprint& fp);
/// Directories of all projects, the root's included.
std::vector<std::string> project_dirs(const workspace& ws);

}  // namespace vx::workspace
