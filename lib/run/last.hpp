// `vx last`: recorded runs, their tasks and their failures (cli.md 16). Nothing is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "run/host.hpp"

namespace vx::run {

struct last_request {
  std::optional<std::string> run;     ///< a run id or its prefix
  std::optional<std::uint64_t> list;  ///< the newest so many invocations
  bool failed = false;                ///< only failed runs
  std::optional<std::string> log;     ///< one task's output
  std::optional<std::string> cache_dir;
};
/// {"kind":"run"|"list"|"log","result":...,"notices":[...]}; a list also has "shortIds": ids cut to what is unique, 13 at
/// least. NO_HISTORY, AMBIGUOUS, CACHE_VERSION, REFUSED, USAGE.
result<json::value> last(std::shared_ptr<const host> h, const last_request& request, const cancel_token* cancel);

}  // namespace vx::run
