// Runtime probes: commands whose output is part of a key (keys.md 3.9). Each distinct probe runs once a run.
#pragma once

#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "base/result.hpp"
#include "base/threads.hpp"
#include "key/fold.hpp"
#include "run/host.hpp"

namespace vx::run {

class probe_runner {
 public:
  probe_runner(const host& h, const cancel_token* cancel) : host_(h), cancel_(cancel) {}

  /// `project_dir` is the working directory; for a workspace probe it is "" and only the root's bin directory leads PATH.
  /// A failed probe is a failure naming the command and the cause; it is remembered as well. Thread-safe; concurrent askers
  /// wait. `asker`: a task whose probes are answered for it alone, after the dependencies that may write what they read.
  result<key::probe_item> ask(const std::string& project_dir, const std::string& command, bool workspace_probe,
                              std::optional<std::uint32_t> asker = {});

 private:
  using name = std::tuple<bool, std::string, std::string, std::optional<std::uint32_t>>;
  result<key::probe_item> run(const std::string& project_dir, const std::string& command, bool workspace_probe) const;

  const host& host_;
  const cancel_token* cancel_;
  std::mutex mutex_;
  std::map<name, std::shared_future<result<key::probe_item>>> known_;
};

}  // namespace vx::run
