#include "job.hpp"
#include "modules.hpp"

namespace vx::node {
namespace {

/// init(VxError factory): told once by the JavaScript half of an environment.
Napi::Value init(const Napi::CallbackInfo& info) {
  environment::of(info.Env()).error_class = Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}

/// For the 'exit' event: process.exit() on the main thread runs no cleanup hooks.
Napi::Value shut_down(const Napi::CallbackInfo& info) {
  environment::of(info.Env()).shut_down();
  return info.Env().Undefined();
}

Napi::Value features(const Napi::CallbackInfo& info) { return utf8(info.Env(), vx_features()); }

Napi::Value cancel_new(const Napi::CallbackInfo& info) {
  vx_cancel* out = nullptr;
  vx_error* error = nullptr;
  check(vx_cancel_new(&out, &error), error);
  return wrap(info.Env(), std::shared_ptr<vx_cancel>(out, vx_cancel_free));
}

Napi::Value cancel_request(const Napi::CallbackInfo& info) {
  vx_cancel_request(unwrap<vx_cancel>(info[0]).get(), info[1].As<Napi::Number>().Int32Value());
  return info.Env().Undefined();
}

Napi::Value digest_bytes(const Napi::CallbackInfo& info) {
  const std::string data = bytes_of(info[0]);
  vx_digest d;
  vx_error* error = nullptr;
  check(vx_digest_bytes(data.data(), data.size(), &d, &error), error);
  return utf8(info.Env(), hex_of(d));
}

Napi::Value digest_file(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [path = bytes_of(info[0])]() -> answer {
    vx_digest d;
    vx_error* error = nullptr;
    check(vx_digest_file(path.c_str(), &d, &error), error);
    return [text = hex_of(d)](Napi::Env e) { return utf8(e, text); };
  });
}

Napi::Value git_blob_id(const Napi::CallbackInfo& info) {
  const std::string data = bytes_of(info[0]);
  char text[VX_GIT_ID_TEXT];
  vx_error* error = nullptr;
  check(vx_git_blob_id(data.data(), data.size(), info[1].As<Napi::Number>().Int32Value(), text, &error), error);
  return utf8(info.Env(), text);
}

/// Names of every status code, in order of their numbers.
Napi::Value status_names(const Napi::CallbackInfo& info) {
  auto list = Napi::Array::New(info.Env());
  const std::string unknown = vx_status_name(VX_E_INTERNAL);
  for (vx_status code = VX_E_INTERNAL; code == VX_E_INTERNAL || vx_status_name(code) != unknown; ++code)
    list.Set(list.Length(), vx_status_name(code));
  return list;
}

}  // namespace

void add_base(Napi::Env env, Napi::Object exports) {
  exports.Set("version", vx_version());
  add_function<init>(env, exports, "init");
  add_function<shut_down>(env, exports, "shutDown");
  add_function<features>(env, exports, "features");
  add_function<status_names>(env, exports, "statusNames");
  add_function<cancel_new>(env, exports, "cancelNew");
  add_function<cancel_request>(env, exports, "cancelRequest");
  add_function<digest_bytes>(env, exports, "digestBytes");
  add_function<digest_file>(env, exports, "digestFile");
  add_function<git_blob_id>(env, exports, "gitBlobId");
}

}  // namespace vx::node
