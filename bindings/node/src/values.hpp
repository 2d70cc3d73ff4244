// Between JavaScript values and what the C API takes: bytes, lists, handles, failures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "napi.h"
#include "vx/vx.h"

namespace vx::node {

/// A failure of the C API on its way to JavaScript: a value that may cross threads.
struct failure {
  std::string code, message, path, details;
  std::int32_t sys = 0;
};
/// Throws a failure unless VX_OK; frees the error. A reference, because the call that fills it stands beside it.
void check(vx_status status, vx_error*& error);
/// The VxError of a failure. JavaScript thread.
Napi::Value to_error(Napi::Env env, const failure& what);

/// Calls `body`, which may throw failure; what is thrown into JavaScript is a VxError.
template <class Body>
auto guarded(Napi::Env env, Body&& body) {
  try {
    return body();
  } catch (const failure& f) {
    throw Napi::Error(env, to_error(env, f));
  }
}

/// A vx_buf that empties itself.
struct buffer {
  vx_buf raw = VX_BUF_INIT;
  buffer() = default;
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { vx_buf_dispose(&raw); }
  std::string text() const { return raw.data == nullptr ? std::string() : std::string(raw.data, raw.size); }
};

bool given(const Napi::Value& v);            ///< neither undefined nor null
std::string bytes_of(const Napi::Value& v);  ///< a string as UTF-8, or a Uint8Array as it is
Napi::Value utf8(Napi::Env env, const std::string& s);
/// A name of the file system: a string, or a Buffer when `raw`. A name that is no UTF-8 cannot be a string.
Napi::Value name_value(Napi::Env env, const char* name, bool raw);

/// Bytes that may be absent, as `const char*`.
class optional_bytes {
 public:
  optional_bytes() = default;
  explicit optional_bytes(const Napi::Value& v) : given_(given(v)), text_(given_ ? bytes_of(v) : std::string()) {}
  const char* get() const { return given_ ? text_.c_str() : nullptr; }

 private:
  bool given_ = false;
  std::string text_;
};

/// A NULL-terminated list of strings; undefined is NULL.
class string_list {
 public:
  string_list() = default;
  explicit string_list(const Napi::Value& v);
  explicit string_list(std::vector<std::string> items) : given_(true), items_(std::move(items)) {}
  /// The pointers live as long as this object stays where it is.
  const char* const* get();

 private:
  bool given_ = false;
  std::vector<std::string> items_;
  std::vector<const char*> pointers_;
};

/// environ, which a library of macOS does not see by that name.
char** environment_block();
/// The process environment as it is now. JavaScript thread: nobody else changes it then.
std::vector<std::string> process_environment();
/// A list of "NAME=value", or undefined for the process environment.
string_list environment_list(const Napi::Value& v);

/// A handle of the C API as JavaScript holds it: shared with the jobs that use it, freed with the last of them.
template <class T>
struct holder {
  static inline const char tag = 0;
  const void* kind = &tag;
  std::shared_ptr<T> handle;
};

template <class T>
Napi::Value wrap(Napi::Env env, std::shared_ptr<T> handle) {
  auto* h = new holder<T>{&holder<T>::tag, std::move(handle)};
  return Napi::External<holder<T>>::New(env, h, [](Napi::Env, holder<T>* gone) { delete gone; });
}

template <class T>
holder<T>& holder_of(const Napi::Value& v) {
  if (v.IsExternal()) {
    auto* h = v.As<Napi::External<holder<T>>>().Data();
    if (h != nullptr && h->kind == &holder<T>::tag) return *h;
  }
  throw Napi::TypeError::New(v.Env(), "not a handle of the expected kind");
}

template <class T>
std::shared_ptr<T> unwrap(const Napi::Value& v) {
  std::shared_ptr<T> handle = holder_of<T>(v).handle;
  if (!handle) throw Napi::Error(v.Env(), to_error(v.Env(), {"VX_E_INVALID", "it is closed", "", "", 0}));
  return handle;
}

template <class T>
std::shared_ptr<T> unwrap_optional(const Napi::Value& v) {
  return given(v) ? unwrap<T>(v) : nullptr;
}

vx_digest digest_of(const Napi::Value& v);  ///< 32 hexadecimal digits
std::string hex_of(const vx_digest& d);

}  // namespace vx::node
