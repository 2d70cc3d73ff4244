// Everything the addon keeps for one JavaScript environment (the main thread, or a Worker), in its instance data: nothing is
// shared between environments and nothing is static.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "channel.hpp"
#include "napi.h"
#include "vx/vx.h"
#include "workers.hpp"

namespace vx::node {

class run;

/// What a thread of the pool asks of a cache layer in JavaScript. Written inside channel::settle() and read after
/// channel::wait().
struct question {
  bool done = false, ok = false, found = false;
  std::string bytes;
};

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

  // Cache layers and what they were asked, by numbers: JavaScript thread only.
  std::map<std::uint64_t, Napi::FunctionReference> layers;
  std::map<std::uint64_t, std::shared_ptr<question>> questions;
  std::uint64_t next_number = 1;

  /// Points here while this stands: for what is freed by a handle, whose finalizer may come later.
  const std::shared_ptr<environment*> alive = std::make_shared<environment*>(this);

  /// Ends everything that goes on and waits for it; nothing is delivered afterwards. JavaScript thread; again does nothing.
  void shut_down();

 private:
  std::unordered_set<std::shared_ptr<vx_cancel>> live_;
};

}  // namespace vx::node
