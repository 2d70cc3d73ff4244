// The questions of the control plane by name: a JSON request in, a JSON document out (capi.md 8). Every host asks through here.
#pragma once

#include <memory>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "run/host.hpp"

namespace vx::run {

/// `request` is an object with the member "query". Unknown queries, fields and forms are USAGE, with a hint.
result<json::value> answer_query(std::shared_ptr<const host> h, const json::value& request, const cancel_token* cancel);

}  // namespace vx::run
