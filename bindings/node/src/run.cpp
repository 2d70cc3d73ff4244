#include "run.hpp"

#include <signal.h>

#include "modules.hpp"

namespace vx::node {
namespace {

Napi::FunctionReference keep(const Napi::Function& f) { return f.IsEmpty() ? Napi::FunctionReference() : Napi::Persistent(f); }

Napi::Function function_or_none(const Napi::Value& v) { return given(v) ? v.As<Napi::Function>() : Napi::Function(); }

}  // namespace

run::run(Napi::Env env, const request& r)
    : mine_(environment::of(env)),
      workspace_(r.workspace),
      token_(r.token),
      json_(r.json),
      flags_(r.flags),
      event_(keep(r.event)),
      output_(keep(r.output)),
      started_(keep(r.started)),
      promise_(Napi::Promise::Deferred::New(env)) {}

run::~run() {
  if (!thread_.joinable()) return;
  vx_cancel_request(token_.get(), SIGKILL);
  thread_.join();
}

void run::begin(Napi::Env env) {
  mine_.add(token_);
  mine_.to_js.hold(env);
  thread_ = quiet_thread([this] { body(); });
}

void run::body() {
  auto outcome = std::make_shared<result>(attempt([this] { return start_and_wait(); }));
  mine_.to_js.send([this, outcome](Napi::Env env) { finish(env, *outcome); });
}

answer run::start_and_wait() {
  vx_observer observer = VX_OBSERVER_INIT;
  observer.flags = flags_;
  observer.user_data = this;
  if (!event_.IsEmpty())
    observer.event = [](void* self, const char* json, std::size_t size) { static_cast<run*>(self)->on_event(json, size); };
  if (!output_.IsEmpty()) {
    observer.output = [](void* self, std::uint32_t task, std::int32_t stream, const void* data, std::size_t size,
                         std::uint32_t flags) { static_cast<run*>(self)->on_output(task, stream, data, size, flags); };
  }
  vx_run* handle = nullptr;
  vx_error* error = nullptr;
  const vx_status began = vx_run_start(workspace_.get(), json_.c_str(), &observer, token_.get(), &handle, &error);
  told_started();
  check(began, error);
  const std::unique_ptr<vx_run, decltype(&vx_run_free)> going(handle, vx_run_free);
  buffer summary;
  check(vx_run_wait(going.get(), &summary.raw, &error), error);
  return [text = summary.text()](Napi::Env env) { return utf8(env, text); };
}

void run::told_started() {
  mine_.to_js.send([this](Napi::Env) {
    if (!started_.IsEmpty()) started_.Call({});
  });
}

void run::finish(Napi::Env env, const result& r) {
  mine_.remove(token_);
  mine_.to_js.release(env);
  const Napi::Promise::Deferred promise = promise_;
  thread_.join();  // its last act was to send this
  mine_.runs.remove_if([this](const std::unique_ptr<run>& one) { return one.get() == this; });
  settle(env, promise, r);
}

void run::on_event(const char* json, std::size_t size) {
  mine_.to_js.send_bounded([this, text = std::string(json, size)](Napi::Env env) { event_.Call({utf8(env, text)}); }, size);
}

void run::on_output(std::uint32_t task, std::int32_t stream, const void* data, std::size_t size, std::uint32_t flags) {
  const auto deliver = [this, task, stream, replayed = (flags & VX_OUTPUT_REPLAYED) != 0,
                        bytes = std::string(static_cast<const char*>(data), size)](Napi::Env env) {
    output_.Call({Napi::Number::New(env, task), Napi::Number::New(env, stream),
                  Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size()), Napi::Boolean::New(env, replayed)});
  };
  mine_.to_js.send_bounded(deliver, size);
}

namespace {

/// runStart(workspace, requestJson, flags, onEvent, onOutput, token, onStarted): a promise of the summary's text.
Napi::Value run_start(const Napi::CallbackInfo& info) {
  run::request r;
  r.workspace = unwrap<vx_workspace>(info[0]);
  r.json = bytes_of(info[1]);
  r.flags = info[2].As<Napi::Number>().Uint32Value();
  r.event = function_or_none(info[3]);
  r.output = function_or_none(info[4]);
  r.token = unwrap<vx_cancel>(info[5]);
  r.started = function_or_none(info[6]);
  auto& runs = environment::of(info.Env()).runs;
  runs.push_back(std::make_unique<run>(info.Env(), r));
  runs.back()->begin(info.Env());
  return runs.back()->promise();
}

}  // namespace

void add_run(Napi::Env env, Napi::Object exports) { add_function<run_start>(env, exports, "runStart"); }

}  // namespace vx::node
