// What each file of the addon adds to its exports.
#pragma once

#include "napi.h"

namespace vx::node {

void add_base(Napi::Env env, Napi::Object exports);
void add_cache(Napi::Env env, Napi::Object exports);
void add_graph(Napi::Env env, Napi::Object exports);
void add_inputs(Napi::Env env, Napi::Object exports);
void add_key(Napi::Env env, Napi::Object exports);
void add_layers(Napi::Env env, Napi::Object exports);
void add_run(Napi::Env env, Napi::Object exports);
void add_workspace(Napi::Env env, Napi::Object exports);

/// A function whose failures become VxErrors.
template <Napi::Value (*Body)(const Napi::CallbackInfo&)>
void add_function(Napi::Env env, Napi::Object exports, const char* name);

}  // namespace vx::node

#include "values.hpp"

namespace vx::node {

template <Napi::Value (*Body)(const Napi::CallbackInfo&)>
void add_function(Napi::Env env, Napi::Object exports, const char* name) {
  exports.Set(name,
              Napi::Function::New(
                  env, [](const Napi::CallbackInfo& info) { return guarded(info.Env(), [&] { return Body(info); }); }, name));
}

}  // namespace vx::node
