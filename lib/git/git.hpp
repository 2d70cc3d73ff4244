// Git through the git program, and the index file read directly (keys.md 8 to 14). vx writes nothing into a repository and runs
// no hook or filter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/fs.hpp"
#include "base/result.hpp"
#include "base/subprocess.hpp"
#include "base/threads.hpp"

namespace vx::git {

/// How to call git: program path, cleaned environment, the fixed leading arguments of keys.md 8.
class program {
 public:
  /// nullopt: no git on PATH.
  static std::optional<program> find(const environment& env);
  /// Runs `git <fixed> <args>` in `dir` and collects its output.
  struct output {
    int exit_code = 0;
    std::string out, err;
  };
  result<output> run(const std::string& dir, const std::vector<std::string>& args, std::string_view input = {},
                     const cancel_token* cancel = nullptr) const;
  /// The same call for a caller that talks to the child itself.
  subprocess_options options(const std::string& dir, const std::vector<std::string>& args) const;
  const std::string& path() const noexcept { return path_; }
  /// What git sees: the caller's variables without those that name another repository.
  const environment& env() const noexcept { return env_; }

 private:
  program() = default;
  std::string path_;
  environment env_;
  std::vector<std::string> block_;
};

/// Where a directory lies in a repository. git's own answer (rev-parse), or read from the .git file where the layout is plain.
struct repository {
  std::string worktree;             ///< absolute top of the work tree
  std::string prefix;               ///< of the asked directory inside it: "" or "sub/dir/"
  std::string git_dir, common_dir;  ///< absolute
  bool sha256 = false;
};
/// nullopt: no work tree here; failure: git refused the directory (its words).
result<std::optional<repository>> find_repository(const program& git, const std::string& dir);
/// The same by asking git, whatever the layout. find_repository() must agree with it.
result<std::optional<repository>> ask_repository(const program& git, const std::string& dir);

/// The asked directory: worktree + prefix, without a trailing slash.
std::string asked_dir(const repository& repo);

/// Files that differ from a ref (graph.md 14): `git diff --name-only --no-renames -z` from the merge base, plus untracked
/// files; root-relative, `vx-lock.json` and paths outside the root dropped. Validates `ref` with check_ref().
result<std::vector<std::string>> changed_since(const program& git, const repository& repo, std::string_view ref);
/// The base of --affected without a value (graph.md 14).
result<std::string> default_base(const program& git, const repository& repo);
/// Validation of a reference before git sees it; returns the ref to diff from and whether to skip the merge base.
struct checked_ref {
  std::string ref;
  bool direct = false;  ///< `<base>..HEAD`: from base itself
};
result<checked_ref> check_ref(std::string_view text);

/// The first root commit of a commit: a fact that never changes, kept by the caller from run to run.
struct root_memo {
  std::string commit, root;
  bool learned = false;  ///< set when the two are news
};
/// First 16 hex of SHA-256 over the repository's identity (cache.md 2.2); "" when there is none. `memo` may be null; with one
/// whose commit is HEAD's, git is not asked.
std::string repo_id(const environment& env, const std::string& root, root_memo* memo = nullptr);
/// A remote URL as lower-case `host/owner/repo`; "" for local paths and file URLs.
std::string reduce_remote_url(std::string_view url);

/// Commit and branch for the run record, read from .git files, one rev-parse as fallback.
struct head_info {
  std::optional<std::string> commit, branch;
};
head_info read_head(const environment& env, const std::string& root);

}  // namespace vx::git
