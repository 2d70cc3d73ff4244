// What the C API's files share: handles over library values, and the one place where exceptions end.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "base/result.hpp"
#include "base/threads.hpp"
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

}  // namespace vx::capi
