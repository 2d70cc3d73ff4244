// From config files to data (config.md 5, 8, 9): native JSON/JSONC, JS/TS through ONE child process, the trace-based evaluation
// cache, validation with every refusal. Volatile state is per loader; nothing global.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "workspace/task_config.hpp"

namespace vx::workspace {

/// Where evaluations are remembered. Implemented over cache::index by run/ (workspace/ may not include cache/).
class eval_memo {
 public:
  virtual ~eval_memo() = default;
  struct row {
    std::string path, trace, json;  ///< bytes of this module's choosing
  };
  virtual std::vector<row> load(const std::vector<std::string>& paths) = 0;  ///< rows that exist
  virtual void store(std::vector<row> rows) = 0;
  virtual std::optional<std::string> blob(std::string_view name) = 0;  ///< the manifest memo
  virtual void store_blob(std::string name, std::string value) = 0;
};

struct config_options {
  std::string root;                      ///< absolute, real
  const environment* env = nullptr;      ///< snapshot; must outlive the loader
  eval_memo* memo = nullptr;             ///< may be null: nothing is read or written
  const cancel_token* cancel = nullptr;  ///< may be null
};

struct config_file {
  std::string dir;                ///< root-relative project directory
  std::string path;               ///< root-relative config file
  bool has_package_name = false;  ///< package.json gives the name: `name` is refused
};

class config_loader {
 public:
  explicit config_loader(config_options options);
  ~config_loader();

  /// The first existing `vx.config.*` (or `vx.workspace.*`) of a directory; `others` receives the spellings that are not read.
  static std::optional<std::string> find(const std::string& root, const std::string& dir, std::string_view stem,
                                         std::vector<std::string>* others = nullptr);

  /// All files of a round, in request order. The JavaScript child starts at the first file that needs it and ends with
  /// finish().
  std::vector<result<std::shared_ptr<const project_config>>> load(const std::vector<config_file>& files);
  result<workspace_config> load_workspace(const std::string& path);
  /// Ends the child and hands good evaluations to the memo. Idempotent.
  void finish();
  /// True when a JavaScript runtime was started (tests, `info`).
  bool started_runtime() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Validates a parsed project config (native, evaluated or locked alike). `file` is the root-relative config file: it names
/// refusals, its directory is the project's, and with `text` it serves positions and source frames. A lock entry passes its
/// configPath and no text.
result<project_config> validate_project(const json::value& v, std::string_view file, std::string_view text,
                                        bool has_package_name);
result<workspace_config> validate_workspace(const json::value& v, std::string_view file, std::string_view text);

/// Removes exec.remote and cache.inputStability and returns the canonical text that is hashed.
std::string canonical_task(const json::value& task);

/// Why `dir` (as written: relative to the root, absolute, or ~/) may not be the cache directory; empty = fine. It must hold
/// neither the workspace nor projects (config.md 7). Also for --cache-dir and VX_CACHE_DIR.
std::string check_cache_dir(const std::string& root, std::string_view dir);

/// Rules for `name` and for path-derived names (config.md 6.1); empty = fine, else the reason.
std::string check_project_name(std::string_view name);

}  // namespace vx::workspace
