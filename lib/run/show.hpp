// Live resolved configs for people and tools (cli.md 13), and the list of tasks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "run/host.hpp"

namespace vx::run {

struct show_request {
  std::string target;  ///< "" = every project
  bool has_target = false;
  std::vector<std::string> filters;
};
/// {"kind":"projects"|"project"|"task"|"tasks","result":...,"notices":[...]}; secrets are masked.
result<json::value> show(std::shared_ptr<const host> h, const show_request& request, const cancel_token* cancel);

/// {"projects":[{name,dir,tags[],tasks[{id,name,command|null,dependsOn[],cached,description?}]}],"current":name|null,"notices":[...]}
result<json::value> list_tasks(std::shared_ptr<const host> h, const std::vector<std::string>& filters,
                               const cancel_token* cancel);

}  // namespace vx::run
