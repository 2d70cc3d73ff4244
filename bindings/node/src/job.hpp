// A call that may take long: done on a thread of the pool, answered with a promise.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "environment.hpp"
#include "napi.h"
#include "values.hpp"

namespace vx::node {

/// Makes the answer, on the JavaScript thread.
using answer = std::function<Napi::Value(Napi::Env)>;

/// What a thread came back with.
struct result {
  answer value;
  failure error;
};

/// Runs `work`, which returns an answer or throws a failure, and lets nothing out.
template <class Work>
result attempt(Work&& work) noexcept {
  try {
    return {work(), {}};
  } catch (failure& f) {
    return {nullptr, std::move(f)};
  } catch (const std::bad_alloc&) {
    return {nullptr, {"VX_E_NO_MEMORY", "out of memory", "", "", 0}};
  } catch (const std::exception& e) {
    return {nullptr, {"VX_E_INTERNAL", e.what(), "", "", 0}};
  }
}

/// Settles a promise. JavaScript thread.
inline void settle(Napi::Env env, Napi::Promise::Deferred promise, const result& r) {
  if (!r.value) return promise.Reject(to_error(env, r.error));
  try {
    promise.Resolve(r.value(env));
  } catch (const failure& f) {
    promise.Reject(to_error(env, f));
  } catch (const Napi::Error& e) {
    promise.Reject(e.Value());
  }
}

/// `work` must own everything it touches. `token`, when there is one, is cancelled if the environment ends first.
template <class Work>
Napi::Value submit(Napi::Env env, Work work, std::shared_ptr<vx_cancel> token = nullptr) {
  environment& mine = environment::of(env);
  const auto promise = Napi::Promise::Deferred::New(env);
  if (token) mine.add(token);
  mine.to_js.hold(env);
  mine.pool.submit([&mine, promise, token = std::move(token), work = std::make_shared<Work>(std::move(work))] {
    auto outcome = std::make_shared<result>(attempt(*work));
    mine.to_js.send([&mine, promise, token, outcome](Napi::Env e) {
      if (token) mine.remove(token);
      mine.to_js.release(e);
      settle(e, promise, *outcome);
    });
  });
  return promise.Promise();
}

}  // namespace vx::node
