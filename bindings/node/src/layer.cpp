// Cache layers in JavaScript: a thread of the pool asks, the JavaScript thread calls the layer and answers when its promise
// settles.
#include <unistd.h>

#include <cerrno>

#include "job.hpp"
#include "modules.hpp"

namespace vx::node {
namespace {

enum class deed : std::uint32_t { has = 0, get = 1, put = 2 };

/// The user data of a vx_cache_layer.
struct js_layer {
  std::shared_ptr<environment*> mine;
  std::uint64_t number;  ///< in environment::layers
};

/// Asks and waits. Null: the environment has ended.
std::shared_ptr<question> ask(const js_layer& layer, deed what, const vx_digest& key, std::string bytes) {
  environment& mine = **layer.mine;  // its threads end before it does
  auto q = std::make_shared<question>();
  const auto call = [&mine, number = layer.number, what, key = hex_of(key), bytes = std::move(bytes), q](Napi::Env env) {
    const auto found = mine.layers.find(number);
    if (found == mine.layers.end()) return mine.to_js.settle([&] { q->done = true; });
    const std::uint64_t token = mine.next_number++;
    mine.questions.emplace(token, q);
    found->second.Call({Napi::Number::New(env, static_cast<double>(what)), utf8(env, key),
                        Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size()),
                        Napi::Number::New(env, static_cast<double>(token))});
  };
  if (!mine.to_js.send(call)) return nullptr;
  const workers::waiting others_go_on(mine.pool);
  return mine.to_js.wait([&] { return q->done; }) ? q : nullptr;
}

vx_status status_of(const std::shared_ptr<question>& q) { return q == nullptr ? VX_E_CANCELLED : q->ok ? VX_OK : VX_E_IO; }

bool write_whole(int fd, const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

bool read_whole(int fd, std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

/// A callback lets nothing out: what is thrown for want of memory is a status.
template <class Body>
vx_status contained(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    return VX_E_NO_MEMORY;
  }
}

vx_status on_has(void* data, const vx_digest* key, std::int32_t* found) {
  return contained([&]() -> vx_status {
    const auto q = ask(*static_cast<js_layer*>(data), deed::has, *key, "");
    if (q != nullptr) *found = q->found ? 1 : 0;
    return status_of(q);
  });
}

vx_status on_get(void* data, const vx_digest* key, std::int32_t fd, std::int32_t* found) {
  return contained([&]() -> vx_status {
    const auto q = ask(*static_cast<js_layer*>(data), deed::get, *key, "");
    if (q == nullptr || !q->ok || !q->found) return status_of(q);
    *found = 1;
    return write_whole(fd, q->bytes) ? VX_OK : VX_E_IO;
  });
}

vx_status on_put(void* data, const vx_digest* key, std::int32_t fd, std::uint64_t size) {
  return contained([&]() -> vx_status {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (!read_whole(fd, bytes)) return VX_E_IO;
    return status_of(ask(*static_cast<js_layer*>(data), deed::put, *key, std::move(bytes)));
  });
}

/// Any thread; the function is let go of on its own.
void on_drop(void* data) {
  const std::unique_ptr<js_layer> gone(static_cast<js_layer*>(data));
  environment* const mine = *gone->mine;
  if (mine == nullptr) return;
  mine->to_js.send([mine, number = gone->number](Napi::Env) { mine->layers.erase(number); });
}

/// cacheAddLayer(cache, name, has, get, put, call): which of the three it has; call(deed, key, bytes, token) answers with
/// layerReply().
Napi::Value add_layer(const Napi::CallbackInfo& info) {
  environment& mine = environment::of(info.Env());
  const std::string name = bytes_of(info[1]);
  vx_cache_layer ops = VX_CACHE_LAYER_INIT;
  ops.name = name.c_str();
  if (info[2].ToBoolean()) ops.has = on_has;
  if (info[3].ToBoolean()) ops.get = on_get;
  if (info[4].ToBoolean()) ops.put = on_put;
  const auto cache = unwrap<vx_cache>(info[0]);
  const std::uint64_t number = mine.next_number++;
  mine.layers.emplace(number, Napi::Persistent(info[5].As<Napi::Function>()));
  vx_error* error = nullptr;
  check(vx_cache_add_layer(cache.get(), &ops, new js_layer{mine.alive, number}, on_drop, &error), error);
  return info.Env().Undefined();
}

/// layerReply(token, ok, found | bytes)
Napi::Value reply(const Napi::CallbackInfo& info) {
  environment& mine = environment::of(info.Env());
  const auto at = mine.questions.find(static_cast<std::uint64_t>(info[0].As<Napi::Number>().Int64Value()));
  if (at == mine.questions.end()) return info.Env().Undefined();
  const auto q = std::move(at->second);
  mine.questions.erase(at);
  const bool ok = info[1].ToBoolean();
  std::string bytes = ok && info[2].IsTypedArray() ? bytes_of(info[2]) : std::string();
  const bool found = ok && (info[2].IsTypedArray() || (info[2].IsBoolean() && info[2].As<Napi::Boolean>().Value()));
  mine.to_js.settle([&] {
    q->ok = ok;
    q->found = found;
    q->bytes = std::move(bytes);
    q->done = true;
  });
  return info.Env().Undefined();
}

}  // namespace

void add_layers(Napi::Env env, Napi::Object exports) {
  add_function<add_layer>(env, exports, "cacheAddLayer");
  add_function<reply>(env, exports, "layerReply");
}

}  // namespace vx::node
