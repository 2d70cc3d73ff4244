// What the C API's files share: handles over library values, and the one place where exceptions end.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "cache/index.hpp"
#include "cache/layer.hpp"
#include "cache/store.hpp"
#include "glob/glob.hpp"
#include "key/builder.hpp"
#include "key/diff.hpp"
#include "run/host.hpp"
#include "vx/vx.h"

struct vx_error {
  vx::failure what;
};

struct vx_cancel {
  std::shared_ptr<vx::cancel_token> token;
};

struct vx_workspace {
  std::shared_ptr<const vx::run::host> host;
};

struct vx_key {
  vx::key::builder builder;
  std::uint32_t flags;
  vx::digest128 salt;
};

namespace vx::capi {

/// What a cache's handles share: the store, and the checkout's index when there is a root. The last handle writes what was
/// collected.
struct cache_state {
  std::string root;  ///< real; "" = none
  std::unique_ptr<cache::store> store;
  std::unique_ptr<cache::index> index;  ///< null: no root
  cache::layer_list layers;
  std::mutex mutex;             ///< guards what follows
  std::string notices;          ///< lines not yet taken
  std::vector<digest128> used;  ///< hits whose use is to be recorded
  ~cache_state();
  /// A line for vx_cache_notices().
  void note(const std::string& line);
};

}  // namespace vx::capi

struct vx_cache {
  std::shared_ptr<vx::capi::cache_state> state;
};

namespace vx::capi {

/// Stores a copy of the failure in *err when asked for. Never fails: without memory the error is a static object.
vx_status put(vx_error** err, vx::failure what) noexcept;
vx_status put_current_exception(vx_error** err) noexcept;

/// Every fallible entry point is one call of this; nothing else in capi/src catches.
template <class Body>
vx_status guard(vx_error** err, Body&& body) noexcept {
  if (err != nullptr) *err = nullptr;
  try {
    if (vx::status done = body(); !done) return put(err, std::move(done).error());
    return VX_OK;
  } catch (...) {
    return put_current_exception(err);
  }
}

/// Copies the prefix of a size-first struct that this library knows; longer ones are fine when the rest is zero.
vx::status copy_options(const void* from, std::size_t known, std::size_t least, void* to, const char* name);

template <class Options>
vx::result<Options> read_options(const Options* from, const char* name) {
  Options out{};
  if (from != nullptr) VX_TRY(copy_options(from, sizeof(Options), 2 * sizeof(std::uint32_t), &out, name));
  out.size = sizeof(Options);
  return out;
}

/// Hands text to the caller as a buffer.
void fill(vx_buf* out, std::string text);

vx::status no_flags(std::uint32_t flags, const char* name);
inline std::string_view view_of(const void* data, std::size_t size) noexcept { return {static_cast<const char*>(data), size}; }

/// A callback of the host. It must not throw: if it does, the process ends here instead of unwinding through the library.
/// Another status than VX_OK stops the call and is what it returns.
template <class Call>
vx::status call_out(Call&& call) {
  const auto told = [&]() noexcept -> vx_status { return call(); }();
  if (told == VX_OK) return {};
  return vx::fail(static_cast<vx::errc>(told), "stopped by the callback");
}

// Lists and paths of option structs (lists.cpp).
std::vector<std::string> read_list(const char* const* list);           ///< NULL-terminated; NULL is empty
vx::result<std::string> read_dir(const char* dir, const char* field);  ///< root-relative; NULL is the root
vx::result<std::shared_ptr<const std::vector<std::string>>> read_nested(const char* const* list);  ///< sorted; null: none
vx::result<glob::matcher> compile(const std::vector<std::string>& globs, glob::side of, const char* field);
vx::result<std::string> real_root(const char* root);  ///< absolute, an existing directory

digest128 from_c(const vx_digest& d) noexcept;
vx_digest to_c(const digest128& d) noexcept;
/// The builder of a finished key that still has its components.
vx::result<const key::builder*> explained_key(const vx_key* key);
json::object diff_document(const key::component_diff& d);

}  // namespace vx::capi
