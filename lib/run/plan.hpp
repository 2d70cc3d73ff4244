// What a run would do, without doing it (run.md 3.4, cli.md 7.2).
#pragma once

#include <memory>

#include "base/json.hpp"
#include "base/result.hpp"
#include "run/host.hpp"
#include "run/request.hpp"

namespace vx::run {

/// The plan document plus "notices" and "flow". Nothing is written to the store; the checkout's memos may be.
result<json::value> plan(std::shared_ptr<const host> h, run_request request, const cancel_token* cancel);

}  // namespace vx::run
