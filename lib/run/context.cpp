#include "run/context.hpp"

#include <unistd.h>

#include "git/git.hpp"

namespace vx::run {
namespace {

bool truthy(const environment& env, const char* name) {
  const std::string v = env.get(name);
  return !v.empty() && v != "0" && v != "false";
}

std::optional<std::string> provider(const environment& env) {
  struct known {
    const char* variable;
    const char* word;
  };
  static constexpr known k_known[] = {{"GITHUB_ACTIONS", "github"},
                                      {"GITLAB_CI", "gitlab"},
                                      {"BUILDKITE", "buildkite"},
                                      {"CIRCLECI", "circleci"},
                                      {"CI", "generic"}};
  for (const known& k : k_known)
    if (truthy(env, k.variable)) return std::string(k.word);
  return std::nullopt;
}

}  // namespace

run_context read_context(const prepared& p) {
  run_context c;
  if (p.facts->uses_git()) {
    git::head_info head = git::read_head(p.h->env, p.h->root);
    c.commit = std::move(head.commit);
    c.branch = std::move(head.branch);
    c.dirty = p.facts->dirty();
  }
  c.ci_provider = provider(p.h->env);
  c.ci = c.ci_provider.has_value();
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) c.host_name = name;
  const std::string_view platform = key::host_platform();
  const std::size_t dash = platform.find('-');
  c.os = platform.substr(0, dash);
  c.arch = platform.substr(dash + 1);
  return c;
}

}  // namespace vx::run
