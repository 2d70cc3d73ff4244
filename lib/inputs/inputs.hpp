// Which files a task reads and what they are (keys.md 8 to 17, config.md 12): listing, identity, memo, truth checks.
// One `facts` object a run. It starts its work at once on its own threads, beside everything else. Thread-safe after wait().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/fs.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "cache/index.hpp"
#include "glob/glob.hpp"
#include "key/fold.hpp"

namespace vx::inputs {

struct start_request {
  std::string root;                  ///< absolute, real
  const environment* env = nullptr;  ///< must outlive the facts
  cache::index* memo = nullptr;      ///< may be null: no memo
  bool memo_follows = false;         ///< set_memo() will say soon: the listing waits for it
  const cancel_token* cancel = nullptr;
};

/// What one task declares, compiled. `project_dir` "" is the root project.
struct selector {
  std::string project_dir;
  std::shared_ptr<const std::vector<std::string>> nested;  ///< PROJECT-relative, sorted; null = none
  glob::matcher files, workspace_files;
  bool has_workspace_files = false;
  std::vector<std::string> file_entries, workspace_entries;  ///< as declared: the literal checks need them
  glob::matcher own_outputs, own_workspace_outputs;          ///< subtracted from the inputs (minus their `!` entries)
  bool subtract_outputs = true;                              ///< false for uncached tasks
};

/// The files of a declaration, sorted by path, with identities. Views stay valid as long as this object lives.
struct selected {
  std::vector<key::input_item> items;  ///< root-relative paths
  std::shared_ptr<const void> keep;    ///< owns the bytes behind the views
  bool matched_nothing = false;        ///< a non-empty declaration that selects nothing
  bool incomplete = false;             ///< a file kept changing while it was hashed: run, do not save
  std::string_view unstable;           ///< the first such file
};

class facts {
 public:
  /// Starts git and the index reader on threads and returns at once.
  static std::unique_ptr<facts> start(const start_request& request);
  ~facts();
  facts(const facts&) = delete;
  facts& operator=(const facts&) = delete;

  /// The memo, once it is open; before wait(). Null: there is none, or none any more.
  void set_memo(cache::index* memo) noexcept;
  /// Joins the listing. Failure only for trouble that refuses a run; "no git" falls back to the walk with a notice.
  status wait();
  bool uses_git() const noexcept;
  const std::vector<std::string>& notices() const noexcept;  ///< "not a git work tree: ..." once
  /// dirty for the run record: some tracked file differs or an untracked file exists. nullopt outside git. May hash files.
  std::optional<bool> dirty() const;
  /// In git's index as the run found it: root-relative, a file or link.
  bool is_tracked(std::string_view path) const;
  /// "N input files lie outside the sparse checkout ...": what select() left out so far; nullopt when nothing. For the end of a
  /// run.
  std::optional<std::string> sparse_notice() const;

  /// Hashes what is not known yet in these project directories, at once and in parallel. Optional: select() hashes what it
  /// needs.
  void prefetch(const std::vector<std::string>& project_dirs);
  /// Resolves a declaration. Failure = an error at key time of that task (literal that can be no input, unreadable file).
  /// Cheap for clean tracked files: no read, no SQL.
  result<selected> select(const selector& s);
  /// Identity text of `<project_dir>/package.json`; nullopt when there is none.
  result<std::optional<std::string>> manifest_identity(const std::string& project_dir);

  // Facts die (keys.md 16). Paths are root-relative.
  void forget_paths(const std::vector<std::string>& paths);
  void forget_project(const std::string& project_dir, const std::shared_ptr<const std::vector<std::string>>& nested);
  void forget_workspace();

  // Truth checks (keys.md 17).
  struct description {
    std::int64_t described_ns = 0;  ///< by the clock that stamps files, immediately before the spawn
    selected files;
    std::shared_ptr<const void> dirs;  ///< stamps of listed directories a glob can reach
  };
  /// Taken immediately before the spawn, after the key was derived again from the same selector.
  result<description> describe(const selector& s);
  /// The same for exact files that a tool said it read (a depfile), whatever git thinks of them: root-relative paths, or
  /// absolute ones of files outside the root, without links among their directories. No directory is watched and no manifest.
  result<description> describe_paths(std::vector<std::string> paths);
  enum class strictness : std::uint8_t { immutable, mutable_, unchecked };
  /// After the command: the first file that moved (root-relative), or nullopt. Also `package.json`. For exact files `s` is not
  /// read.
  std::optional<std::string> moved(const selector& s, const description& d, strictness how);

  /// Queues the memo rows of everything hashed since the last call into the index.
  void flush_memos();
  /// Queues what git said of untracked files, if it was asked: the next run need not ask. Once a run, at its end.
  void remember_listing();

 private:
  facts();
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::inputs
