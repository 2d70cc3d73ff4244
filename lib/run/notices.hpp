// Lines for people, collected from every layer of a run; each text is said once.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace vx::run {

enum class level : std::uint8_t { notice, warning };

struct notice_line {
  vx::run::level level;
  std::string line;
  std::string task_id;  ///< "" = the run
};

/// Thread-safe. Before a sink is set lines are kept; setting it hands them over in order.
class notices {
 public:
  using sink_fn = std::function<void(const notice_line&)>;
  void say(level l, std::string line, std::string task_id = {});
  void set_sink(sink_fn sink);
  std::vector<std::string> kept() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> said_;
  std::vector<notice_line> kept_;
  sink_fn sink_;
};

}  // namespace vx::run
