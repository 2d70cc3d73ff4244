#include "environment.hpp"

#include <signal.h>

#include "run.hpp"

namespace vx::node {

// The channel's thread-safe function was made first, so its own cleanup comes after this one.
environment::environment(Napi::Env env) : to_js(env) {
  napi_add_env_cleanup_hook(
      env, [](void* self) { static_cast<environment*>(self)->shut_down(); }, this);
}

environment::~environment() { *alive = nullptr; }

void environment::shut_down() {
  to_js.close();
  for (const auto& token : live_) vx_cancel_request(token.get(), SIGKILL);
  pool.stop();
  runs.clear();  // joins
  live_.clear();
}

}  // namespace vx::node
