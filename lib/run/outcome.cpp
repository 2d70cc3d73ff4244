#include "run/outcome.hpp"

namespace vx::run {

std::string_view status_word(task_status s) noexcept {
  switch (s) {
    case task_status::success: return "success";
    case task_status::cache_hit: return "cache-hit";
    case task_status::cache_hit_remote: return "cache-hit-remote";
    case task_status::failed: return "failed";
    case task_status::skipped: return "skipped";
    case task_status::aborted: return "aborted";
  }
  return "failed";
}

}  // namespace vx::run
