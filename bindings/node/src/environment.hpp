// Everything the addon keeps for one JavaScript environment (the main thread, or a Worker), in its instance data: nothing is
// shared between environments and nothing is static.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "channel.hpp"
#include "napi.h"
#include "vx/vx.h"
#include "workers.hpp"

namespace vx::node {

class run;

class environment {
 public:
  explicit environment(Napi::Env env);
  ~environment();
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  static environment& of(Napi::Env env) { return *env.GetInstanceData<environment>(); }

  channel to_js;
  workers pool;
  Napi::FunctionReference error_class;  ///< VxError, told by the JavaScript half

  /// Cancelled with SIGKILL when the environment ends. A token is added and removed on the JavaScript thread.
  void add(const std::shared_ptr<vx_cancel>& token) { live_.insert(token); }
  void remove(const std::shared_ptr<vx_cancel>& token) { live_.erase(token); }

  std::list<std::unique_ptr<run>> runs;  ///< JavaScript thread only

  /// Ends everything that goes on and waits for it; nothing is delivered afterwards. JavaScript thread; again does nothing.
  void shut_down();

 private:
  std::unordered_set<std::shared_ptr<vx_cancel>> live_;
};

}  // namespace vx::node
