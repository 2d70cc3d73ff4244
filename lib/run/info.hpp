// `vx info`: what vx found and would use here (cli.md 14). It never fails over what it reports on, and creates nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "run/host.hpp"

namespace vx::run {

/// {"result": the document of cli.md 14, "notices": [...]}. Fails only for a cache directory that is named and missing, or a
/// cancel.
result<json::value> info(std::shared_ptr<const host> h, const std::optional<std::string>& cache_dir,
                         const cancel_token* cancel);

}  // namespace vx::run
