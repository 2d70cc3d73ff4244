// One run of a workspace: a thread that starts it and waits for it, and the way of its events to JavaScript.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "job.hpp"

namespace vx::node {

class run {
 public:
  struct request {
    std::shared_ptr<vx_workspace> workspace;
    std::shared_ptr<vx_cancel> token;
    std::string json;
    std::uint32_t flags = 0;       ///< VX_OBSERVE_*
    Napi::Function event, output;  ///< empty: not asked for
    Napi::Function started;        ///< called once the workspace handle is free for the next call
  };

  run(Napi::Env env, const request& r);
  /// Cancels with SIGKILL when it is still going, and joins. JavaScript thread.
  ~run();
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  void begin(Napi::Env env);
  Napi::Value promise() const { return promise_.Promise(); }

 private:
  void body();
  answer start_and_wait();
  void told_started();
  void finish(Napi::Env env, const result& r);
  void on_event(const char* json, std::size_t size);
  void on_output(std::uint32_t task, std::int32_t stream, const void* data, std::size_t size, std::uint32_t flags);

  environment& mine_;
  std::shared_ptr<vx_workspace> workspace_;
  std::shared_ptr<vx_cancel> token_;
  std::string json_;
  std::uint32_t flags_;
  Napi::FunctionReference event_, output_, started_;
  Napi::Promise::Deferred promise_;
  std::thread thread_;
};

}  // namespace vx::node
