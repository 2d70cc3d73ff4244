// The host's side of config evaluation: one child process, length-prefixed JSON on two descriptors, a deadline for each config.
// Internal to workspace/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "base/subprocess.hpp"
#include "base/threads.hpp"
#include "workspace/eval_trace.hpp"
#include "workspace/runtime.hpp"

namespace vx::workspace {

/// The text of evaluator/*.mjs, put in at build time.
extern const std::string_view k_evaluator_script;

/// A close-on-exec pipe. 0 or an errno.
int make_pipe(unique_fd& read_end, unique_fd& write_end) noexcept;

/// What one evaluation yielded. `value` is the data of the default export; `facts` are filled in without salted digests.
struct evaluation {
  std::string json;
  std::vector<fact> facts;  ///< absolute paths made root-relative; env facts hold no value yet
  std::vector<std::string> volatile_reasons;
  bool racy = false;  ///< a file changed while it was being looked at: not to be stored
};

class evaluator_host {
 public:
  struct options {
    std::string root, runtime;
    const environment* env = nullptr;
    const cancel_token* cancel = nullptr;
  };
  explicit evaluator_host(options o) : options_(std::move(o)) {}
  ~evaluator_host() { stop(); }

  /// Evaluates root-relative configs one after another, in order. The child is started when there is none, and again when a
  /// config took it down. After a cancel the rest fails with CANCELLED.
  std::vector<result<evaluation>> evaluate(const std::vector<std::string>& files);
  void stop();
  bool started() const noexcept { return started_; }

 private:
  enum class wire_end : std::uint8_t { none, closed, expired, cancelled };
  status start(std::string_view config);
  status send(const json::value& message);
  result<json::value> receive(std::int64_t deadline_ns, wire_end& why);
  bool read_some(std::int64_t deadline_ns, wire_end& why);
  result<evaluation> one(const std::string& file);
  failure lost(const std::string& file, wire_end why);
  failure refused(const std::string& file, const json::value& error);
  std::int64_t deadline_ns() const;

  options options_;
  std::optional<subprocess> child_;
  unique_fd to_child_, from_child_;
  std::string inbox_;
  bool started_ = false;
};

}  // namespace vx::workspace
