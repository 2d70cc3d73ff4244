// A run from request to summary (run.md 3). Owns its threads: none outlives the handle.
#pragma once

#include <memory>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "run/host.hpp"
#include "run/observer.hpp"
#include "run/request.hpp"

namespace vx::run {

class active_run {
 public:
  /// Prepares on the caller's thread: every refusal is a failure of this call and nothing has started. Then goes on by itself.
  /// `cancel` may be shared by the caller; null makes one.
  static result<std::unique_ptr<active_run>> start(std::shared_ptr<const host> h, run_request request,
                                                   std::unique_ptr<observer> who, std::shared_ptr<cancel_token> cancel);
  ~active_run();  ///< cancels hard if it is still going, joins
  active_run(const active_run&) = delete;
  active_run& operator=(const active_run&) = delete;

  /// Blocks to the end; `with_summary` builds the document. Again is fine. From a callback: INVALID.
  result<std::string> wait(bool with_summary);
  void cancel(int signal) noexcept;
  bool ok() const noexcept;  ///< after wait()
  int exit_code() const noexcept;

 private:
  active_run();
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::run
