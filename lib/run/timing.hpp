// Wall time by stage for VX_TIMING (run.md 19.5).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace vx::run {

class stage_clock {
 public:
  void add(std::string name, std::int64_t ns) {
    const std::lock_guard lock(mutex_);
    for (auto& [known, total] : stages_) {
      if (known == name) {
        total += ns;
        return;
      }
    }
    stages_.emplace_back(std::move(name), ns);
  }
  std::vector<std::pair<std::string, std::int64_t>> stages() const {
    const std::lock_guard lock(mutex_);
    return stages_;
  }
  std::int64_t started_ns = mono_ns();

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::int64_t>> stages_;
};

/// Adds its life time to a stage.
class stage_span {
 public:
  stage_span(stage_clock& clock, std::string name) : clock_(clock), name_(std::move(name)) {}
  ~stage_span() { clock_.add(std::move(name_), mono_ns() - start_); }
  stage_span(const stage_span&) = delete;
  stage_span& operator=(const stage_span&) = delete;

 private:
  stage_clock& clock_;
  std::string name_;
  std::int64_t start_ = mono_ns();
};

}  // namespace vx::run
