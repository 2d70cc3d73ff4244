// `vx why`: why a task ran, from recorded runs alone (cli.md 15). No config is evaluated for it, nothing is hashed, nothing is
// written.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "run/host.hpp"

namespace vx::run {

struct why_request {
  std::string task;                ///< `task` or `pkg#task`
  std::optional<std::string> run;  ///< a run id or its prefix; absent: the task's newest run
  std::optional<std::string> cache_dir;
};
/// {"result": the document of cli.md 15, "notices": [...]}. NO_HISTORY, AMBIGUOUS, CACHE_VERSION, REFUSED.
result<json::value> why(std::shared_ptr<const host> h, const why_request& request, const cancel_token* cancel);

}  // namespace vx::run
