#include "run/notices.hpp"

#include <utility>

namespace vx::run {

void notices::say(level l, std::string line, std::string task_id) {
  sink_fn sink;
  notice_line n{l, std::move(line), std::move(task_id)};
  {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(n.task_id + '\n' + n.line).second) return;
    kept_.push_back(n);
    sink = sink_;
  }
  if (sink) sink(n);
}

void notices::set_sink(sink_fn sink) {
  std::vector<notice_line> earlier;
  {
    const std::lock_guard lock(mutex_);
    sink_ = sink;
    earlier = kept_;
  }
  if (!sink) return;
  for (const notice_line& n : earlier) sink(n);
}

std::vector<std::string> notices::kept() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  out.reserve(kept_.size());
  for (const notice_line& n : kept_) out.push_back(n.line);
  return out;
}

}  // namespace vx::run
