// A repository in a private directory, driven by the real git, apart from the user's own configuration.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "git/git.hpp"
#include "support/temp_dir.hpp"

namespace vx::test {

struct git_fixture {
  temp_dir home, dir;
  environment env;

  explicit git_fixture(std::string_view init = "git init -q -b main .") {
    env.set("PATH", environment::of_process().get("PATH", "/usr/local/bin:/usr/bin:/bin"));
    env.set("HOME", home.path());
    home.write(".gitconfig", "[user]\n\tname = T\n\temail = t@example.org\n[protocol \"file\"]\n\tallow = always\n");
    if (!init.empty()) sh(init);
  }
  /// A script in the repository, with the fixture's HOME and nothing of the caller's git variables.
  std::string sh(std::string_view script) const {
    return dir.sh("unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE XDG_CONFIG_HOME; export HOME='" + home.path() + "'; " +
                  std::string(script));
  }
  git::program program() const { return *git::program::find(env); }
  /// The directory, resolved as git resolves it.
  std::string root() const { return *fs::real_path(dir.path()); }
};

}  // namespace vx::test
