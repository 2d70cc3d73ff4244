#include <vector>

#include "modules.hpp"

namespace vx::node {
namespace {

std::uint32_t number(const Napi::Value& v) { return v.As<Napi::Number>().Uint32Value(); }

Napi::Value undefined_after(const Napi::CallbackInfo& info, vx_status status, vx_error* error) {
  check(status, error);
  return info.Env().Undefined();
}

Napi::Value make(const Napi::CallbackInfo& info) {
  vx_graph* out = nullptr;
  vx_error* error = nullptr;
  check(vx_graph_new(&out, &error), error);
  return wrap(info.Env(), std::shared_ptr<vx_graph>(out, vx_graph_free));
}

/// graphAddNode(graph, weight: bigint, flags): its number
Napi::Value add_node(const Napi::CallbackInfo& info) {
  bool lossless = false;
  std::uint32_t id = 0;
  vx_error* error = nullptr;
  check(vx_graph_add_node(unwrap<vx_graph>(info[0]).get(), info[1].As<Napi::BigInt>().Uint64Value(&lossless), number(info[2]),
                          &id, &error),
        error);
  return Napi::Number::New(info.Env(), id);
}

Napi::Value add_edge(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  const vx_status done = vx_graph_add_edge(unwrap<vx_graph>(info[0]).get(), number(info[1]), number(info[2]), &error);
  return undefined_after(info, done, error);
}

Napi::Value freeze(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  const vx_status done = vx_graph_freeze(unwrap<vx_graph>(info[0]).get(), &error);
  return undefined_after(info, done, error);
}

Napi::Value size(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), vx_graph_size(unwrap<vx_graph>(info[0]).get()));
}

Napi::Value order(const Napi::CallbackInfo& info) {
  const auto graph = unwrap<vx_graph>(info[0]);
  auto out = Napi::Uint32Array::New(info.Env(), vx_graph_size(graph.get()));
  vx_error* error = nullptr;
  check(vx_graph_order(graph.get(), out.Data(), out.ElementLength(), &error), error);
  return out;
}

Napi::Value dependents(const Napi::CallbackInfo& info) {
  const auto graph = unwrap<vx_graph>(info[0]);
  auto out = Napi::Uint32Array::New(info.Env(), vx_graph_size(graph.get()));
  vx_error* error = nullptr;
  check(vx_graph_dependents_count(graph.get(), out.Data(), out.ElementLength(), &error), error);
  return out;
}

/// graphClosure(graph, seeds: Uint32Array): a Uint32Array of numbers, ascending
Napi::Value closure(const Napi::CallbackInfo& info) {
  const auto graph = unwrap<vx_graph>(info[0]);
  const auto seeds = info[1].As<Napi::Uint32Array>();
  const std::uint32_t count = vx_graph_size(graph.get());
  std::vector<std::uint8_t> bits((count + 7) / 8 + 1);
  vx_error* error = nullptr;
  check(vx_graph_closure(graph.get(), seeds.Data(), seeds.ElementLength(), bits.data(), bits.size(), &error), error);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < count; ++n) {
    if ((bits[n / 8] >> (n % 8) & 1) != 0) nodes.push_back(n);
  }
  auto out = Napi::Uint32Array::New(info.Env(), nodes.size());
  std::copy(nodes.begin(), nodes.end(), out.Data());
  return out;
}

Napi::Value critical_path(const Napi::CallbackInfo& info) {
  const auto graph = unwrap<vx_graph>(info[0]);
  std::vector<std::uint32_t> nodes(vx_graph_size(graph.get()));
  std::size_t length = 0;
  vx_error* error = nullptr;
  check(vx_graph_critical_path(graph.get(), nodes.data(), nodes.size(), &length, &error), error);
  auto out = Napi::Uint32Array::New(info.Env(), length);
  std::copy_n(nodes.begin(), length, out.Data());
  return out;
}

/// scheduleNew(graph, workers, restoreWorkers, continueMode)
Napi::Value schedule_make(const Napi::CallbackInfo& info) {
  vx_schedule_options options = VX_SCHEDULE_OPTIONS_INIT;
  options.workers = number(info[1]);
  options.restore_workers = number(info[2]);
  options.continue_mode = info[3].As<Napi::Number>().Int32Value();
  vx_schedule* out = nullptr;
  vx_error* error = nullptr;
  check(vx_schedule_new(unwrap<vx_graph>(info[0]).get(), &options, &out, &error), error);
  return wrap(info.Env(), std::shared_ptr<vx_schedule>(out, vx_schedule_free));
}

Napi::Value set_priority(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  const std::int64_t priority = info[2].As<Napi::Number>().Int64Value();
  const vx_status done = vx_schedule_set_priority(unwrap<vx_schedule>(info[0]).get(), number(info[1]), priority, &error);
  return undefined_after(info, done, error);
}

Napi::Value mark_restorable(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  const vx_status done = vx_schedule_mark_restorable(unwrap<vx_schedule>(info[0]).get(), number(info[1]), &error);
  return undefined_after(info, done, error);
}

/// [what, node, blocker]
Napi::Value next(const Napi::CallbackInfo& info) {
  std::uint32_t node = UINT32_MAX, blocker = UINT32_MAX;
  const std::int32_t what = vx_schedule_next(unwrap<vx_schedule>(info[0]).get(), &node, &blocker);
  auto out = Napi::Array::New(info.Env(), 3);
  out.Set(0u, what);
  out.Set(1u, node);
  out.Set(2u, blocker);
  return out;
}

Napi::Value tainted(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), vx_schedule_tainted(unwrap<vx_schedule>(info[0]).get(), number(info[1])) != 0);
}

Napi::Value finish(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  const vx_status done =
      vx_schedule_finish(unwrap<vx_schedule>(info[0]).get(), number(info[1]), info[2].As<Napi::Number>().Int32Value(), &error);
  return undefined_after(info, done, error);
}

Napi::Value stop(const Napi::CallbackInfo& info) {
  vx_schedule_stop(unwrap<vx_schedule>(info[0]).get());
  return info.Env().Undefined();
}

}  // namespace

void add_graph(Napi::Env env, Napi::Object exports) {
  add_function<make>(env, exports, "graphNew");
  add_function<add_node>(env, exports, "graphAddNode");
  add_function<add_edge>(env, exports, "graphAddEdge");
  add_function<freeze>(env, exports, "graphFreeze");
  add_function<size>(env, exports, "graphSize");
  add_function<order>(env, exports, "graphOrder");
  add_function<dependents>(env, exports, "graphDependentsCount");
  add_function<closure>(env, exports, "graphClosure");
  add_function<critical_path>(env, exports, "graphCriticalPath");
  add_function<schedule_make>(env, exports, "scheduleNew");
  add_function<set_priority>(env, exports, "scheduleSetPriority");
  add_function<mark_restorable>(env, exports, "scheduleMarkRestorable");
  add_function<next>(env, exports, "scheduleNext");
  add_function<tainted>(env, exports, "scheduleTainted");
  add_function<finish>(env, exports, "scheduleFinish");
  add_function<stop>(env, exports, "scheduleStop");
}

}  // namespace vx::node
