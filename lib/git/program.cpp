#include <array>

#include "base/mutation.hpp"
#include "git/git.hpp"

namespace vx::git {
namespace {

// What `git rev-parse --local-env-vars` lists, over all versions: each would point git at another repository, index or object
// store.
constexpr std::array k_local_variables = {"GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                          "GIT_CONFIG",
                                          "GIT_CONFIG_PARAMETERS",
                                          "GIT_CONFIG_COUNT",
                                          "GIT_OBJECT_DIRECTORY",
                                          "GIT_DIR",
                                          "GIT_WORK_TREE",
                                          "GIT_IMPLICIT_WORK_TREE",
                                          "GIT_GRAFT_FILE",
                                          "GIT_INDEX_FILE",
                                          "GIT_NO_REPLACE_OBJECTS",
                                          "GIT_REPLACE_REF_BASE",
                                          "GIT_PREFIX",
                                          "GIT_SHALLOW_FILE",
                                          "GIT_COMMON_DIR",
                                          "GIT_INTERNAL_SUPER_PREFIX",
                                          "GIT_QUARANTINE_PATH",
                                          "GIT_NAMESPACE"};

// These change what a path argument means.
constexpr std::array k_pathspec_variables = {"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
                                             "GIT_ICASE_PATHSPECS"};

}  // namespace

std::optional<program> program::find(const environment& env) {
  program p;
  p.path_ = find_program(env, "git");
  if (p.path_.empty()) return std::nullopt;
  p.env_ = env;
  if (!mutated("inherit-git-env"))
    for (const char* name : k_local_variables) p.env_.unset(name);
  for (const char* name : k_pathspec_variables) p.env_.unset(name);
  p.env_.set("LC_ALL", "C");
  p.env_.set("GIT_NO_LAZY_FETCH", "1");
  p.env_.set("GIT_NO_REPLACE_OBJECTS", "1");
  p.env_.set("GIT_TERMINAL_PROMPT", "0");
  p.block_ = p.env_.to_block();
  return p;
}

subprocess_options program::options(const std::string& dir, const std::vector<std::string>& args) const {
  subprocess_options o;
  o.program = path_;
  o.args = {"--no-optional-locks"};
  if (!mutated("fsmonitor")) o.args.insert(o.args.end(), {"-c", "core.fsmonitor=false"});
  o.args.insert(o.args.end(), args.begin(), args.end());
  o.cwd = dir;
  o.env = block_;
  return o;
}

result<program::output> program::run(const std::string& dir, const std::vector<std::string>& args, std::string_view input,
                                     const cancel_token* cancel) const {
  subprocess_options o = options(dir, args);
  o.pipe_stdin = !input.empty();
  VX_TRY_LET(subprocess_output got, run_subprocess(o, input, cancel));
  return output{got.exit_code(), std::move(got.out), std::move(got.err)};
}

}  // namespace vx::git
