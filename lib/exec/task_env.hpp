// The environment of a task (run.md 16, config.md 6.4): allowlist < passThrough < define, then what vx adds, PATH prefix last.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"

namespace vx::exec {

struct env_request {
  std::string root, project_dir;  ///< absolute root; root-relative project directory
  std::string task_id;
  std::vector<std::string> pass_through;
  std::vector<std::pair<std::string, std::string>> define;
  std::string npm_execpath;  ///< "" = none
};
struct task_environment {
  std::vector<std::string> block;
  std::string path;                   ///< the task's PATH, for verdict lines
  std::vector<std::string> left_out;  ///< bin directories whose path holds ':'
};
task_environment build_task_environment(const environment& host, const env_request& request);
/// The host's environment with the same bin directories first: runtime probes. `project` false: root bin only.
std::vector<std::string> build_probe_environment(const environment& host, const std::string& root,
                                                 const std::string& project_dir, bool project);

}  // namespace vx::exec
