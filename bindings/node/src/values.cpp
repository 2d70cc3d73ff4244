#include "values.hpp"

#include <cstring>
#include <stdexcept>

#include "environment.hpp"

namespace vx::node {

void check(vx_status status, vx_error*& error) {
  if (status == VX_OK) return;
  failure f{vx_status_name(status), vx_error_message(error), vx_error_path(error), vx_error_details_json(error),
            vx_error_errno(error)};
  vx_error_free(error);
  throw f;
}

Napi::Value to_error(Napi::Env env, const failure& what) {
  return environment::of(env).error_class.Call({utf8(env, what.code), utf8(env, what.message), utf8(env, what.path),
                                                Napi::Number::New(env, what.sys), utf8(env, what.details)});
}

bool given(const Napi::Value& v) { return !v.IsUndefined() && !v.IsNull(); }

std::string bytes_of(const Napi::Value& v) {
  if (v.IsString()) return v.As<Napi::String>().Utf8Value();  // by length: a NUL inside stays, and is refused in JavaScript
  if (v.IsTypedArray() && v.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
    const auto a = v.As<Napi::Uint8Array>();
    return a.ByteLength() == 0 ? std::string() : std::string(reinterpret_cast<const char*>(a.Data()), a.ByteLength());
  }
  throw Napi::TypeError::New(v.Env(), "a string or a Uint8Array is expected");
}

Napi::Value utf8(Napi::Env env, const std::string& s) { return Napi::String::New(env, s); }

namespace {

/// Whether V8 would keep the bytes: it replaces what is no UTF-8.
bool is_utf8(const unsigned char* s) {
  while (*s != 0) {
    const unsigned c = *s++;
    if (c < 0x80) continue;
    const int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC2 || c > 0xF4) return false;
    const unsigned low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80, high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (*s < low || *s > high) return false;
    ++s;
    for (int i = 1; i < more; ++i, ++s) {
      if ((*s & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace

Napi::Value name_value(Napi::Env env, const char* name, bool raw) {
  if (name == nullptr) return env.Null();
  if (raw) return Napi::Buffer<char>::Copy(env, name, std::strlen(name));
  if (!is_utf8(reinterpret_cast<const unsigned char*>(name)))
    throw failure{"VX_E_INVALID", "a file name is no UTF-8 and cannot be a string: ask with encoding 'buffer'", "", "", 0};
  return Napi::String::New(env, name);
}

string_list::string_list(const Napi::Value& v) : given_(given(v)) {
  if (!given_) return;
  const auto list = v.As<Napi::Array>();
  items_.reserve(list.Length());
  for (std::uint32_t i = 0; i < list.Length(); ++i) items_.push_back(bytes_of(list.Get(i)));
}

const char* const* string_list::get() {
  if (!given_) return nullptr;
  pointers_.clear();
  for (const std::string& s : items_) pointers_.push_back(s.c_str());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

std::vector<std::string> process_environment() {
  std::vector<std::string> out;
  for (char** e = environment_block(); e != nullptr && *e != nullptr; ++e) out.emplace_back(*e);
  return out;
}

string_list environment_list(const Napi::Value& v) { return given(v) ? string_list(v) : string_list(process_environment()); }

vx_digest digest_of(const Napi::Value& v) {
  vx_digest d;
  vx_error* error = nullptr;
  check(vx_digest_parse(bytes_of(v).c_str(), &d, &error), error);
  return d;
}

std::string hex_of(const vx_digest& d) {
  char text[VX_DIGEST_TEXT];
  vx_digest_hex(&d, text);
  return text;
}

}  // namespace vx::node
