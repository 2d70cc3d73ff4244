// The addon: every file here puts its functions on `exports`; lib/ makes the API of them.
#include "environment.hpp"
#include "modules.hpp"

// The macro below makes an identifier of the function's name.
static Napi::Object start_vx(Napi::Env env, Napi::Object exports) {
  using namespace vx::node;
  env.SetInstanceData(new environment(env));
  add_base(env, exports);
  add_workspace(env, exports);
  add_run(env, exports);
  add_key(env, exports);
  add_graph(env, exports);
  add_inputs(env, exports);
  add_cache(env, exports);
  add_layers(env, exports);
  return exports;
}

NODE_API_MODULE(vx, start_vx)
