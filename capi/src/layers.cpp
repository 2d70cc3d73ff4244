// The host's callbacks as layers of a cache.
#include <algorithm>
#include <cstring>
#include <utility>

#include "internal.hpp"

static_assert(offsetof(vx_cache_layer, name) == 8);

namespace vx::capi {
namespace {

/// Calls `drop` exactly once, whatever becomes of what it belongs to.
class owned_data {
 public:
  owned_data(void* data, void (*drop)(void*)) : data_(data), drop_(drop) {}
  owned_data(owned_data&& other) noexcept : data_(other.data_), drop_(std::exchange(other.drop_, nullptr)) {}
  owned_data& operator=(owned_data&&) = delete;
  ~owned_data() { call(); }
  void* get() const { return data_; }

 private:
  void call() noexcept {
    if (drop_ != nullptr) drop_(data_);
  }
  void* data_;
  void (*drop_)(void*);
};

class host_layer final : public cache::layer {
 public:
  host_layer(const vx_cache_layer& ops, owned_data data) : ops_(ops), data_(std::move(data)) {}

  result<bool> has(const digest128& key) override {
    if (ops_.has == nullptr) return false;
    std::int32_t found = 0;
    const vx_digest wanted = to_c(key);
    VX_TRY(asked([&] { return ops_.has(data_.get(), &wanted, &found); }));
    return found != 0;
  }
  result<bool> get(const digest128& key, int fd) override {
    if (ops_.get == nullptr) return false;
    std::int32_t found = 0;
    const vx_digest wanted = to_c(key);
    VX_TRY(asked([&] { return ops_.get(data_.get(), &wanted, fd, &found); }));
    return found != 0;
  }
  status put(const digest128& key, int fd, std::uint64_t bytes) override {
    if (ops_.put == nullptr) return {};
    const vx_digest stored = to_c(key);
    return asked([&] { return ops_.put(data_.get(), &stored, fd, bytes); });
  }

 private:
  template <class Call>
  static status asked(Call&& call) {
    status told = call_out(std::forward<Call>(call));
    if (told) return told;
    failure why = std::move(told).error();
    why.message = vx_status_name(static_cast<vx_status>(why.code));
    return fail(std::move(why));
  }

  vx_cache_layer ops_;
  owned_data data_;
};

}  // namespace
}  // namespace vx::capi

extern "C" {

vx_status vx_cache_add_layer(vx_cache* cache, const vx_cache_layer* layer, void* user_data, void (*drop)(void* user_data),
                             vx_error** err) {
  vx::capi::owned_data data(user_data, drop);
  return vx::capi::guard(err, [&]() -> vx::status {
    using vx::errc;
    using vx::fail;
    if (cache == nullptr || layer == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "layer is NULL");
    VX_TRY_LET(vx_cache_layer ops, vx::capi::read_options(layer, "vx_cache_layer"));
    VX_TRY(vx::capi::no_flags(ops.flags, "vx_cache_layer"));
    std::string name = ops.name == nullptr ? "of the host" : ops.name;
    ops.name = nullptr;  // copied; the caller's is gone soon
    cache->state->layers.add(std::move(name), std::make_unique<vx::capi::host_layer>(ops, std::move(data)));
    return {};
  });
}

}  // extern "C"
