#include "job.hpp"
#include "modules.hpp"

namespace vx::node {
namespace {

/// workspaceOpen(path, cwd, environment, platform): a promise of the handle.
Napi::Value open(const Napi::CallbackInfo& info) {
  return submit(info.Env(),
                [path = bytes_of(info[0]), cwd = optional_bytes(info[1]), env = environment_list(info[2]),
                 platform = optional_bytes(info[3])]() mutable -> answer {
                  vx_workspace_options options = VX_WORKSPACE_OPTIONS_INIT;
                  options.cwd = cwd.get();
                  options.envp = env.get();
                  options.platform = platform.get();
                  vx_workspace* out = nullptr;
                  vx_error* error = nullptr;
                  check(vx_workspace_open(path.c_str(), &options, &out, &error), error);
                  return [ws = std::shared_ptr<vx_workspace>(out, vx_workspace_free)](Napi::Env e) { return wrap(e, ws); };
                });
}

Napi::Value root(const Napi::CallbackInfo& info) {
  return name_value(info.Env(), vx_workspace_root(unwrap<vx_workspace>(info[0]).get()), true);
}

/// workspaceQuery(workspace, requestJson, token): a promise of the answer's text.
Napi::Value query(const Napi::CallbackInfo& info) {
  const auto token = unwrap<vx_cancel>(info[2]);
  const auto ask = [ws = unwrap<vx_workspace>(info[0]), request = bytes_of(info[1]), token]() -> answer {
    buffer response;
    vx_error* error = nullptr;
    check(vx_workspace_query(ws.get(), request.c_str(), token.get(), &response.raw, &error), error);
    return [text = response.text()](Napi::Env e) { return utf8(e, text); };
  };
  return submit(info.Env(), ask, token);
}

Napi::Value close(const Napi::CallbackInfo& info) {
  holder_of<vx_workspace>(info[0]).handle.reset();
  return info.Env().Undefined();
}

}  // namespace

void add_workspace(Napi::Env env, Napi::Object exports) {
  add_function<open>(env, exports, "workspaceOpen");
  add_function<root>(env, exports, "workspaceRoot");
  add_function<query>(env, exports, "workspaceQuery");
  add_function<close>(env, exports, "workspaceClose");
}

}  // namespace vx::node
