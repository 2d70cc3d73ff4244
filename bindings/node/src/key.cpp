#include <string_view>

#include "modules.hpp"

namespace vx::node {
namespace {

vx_key_kind kind_of(const Napi::Value& v) { return v.As<Napi::Number>().Int32Value(); }

/// keyNew(schema, subject, salt, explain)
Napi::Value make(const Napi::CallbackInfo& info) {
  const std::string schema = bytes_of(info[0]);
  const optional_bytes subject(info[1]), salt(info[2]);
  vx_key_options options = VX_KEY_OPTIONS_INIT;
  options.flags = info[3].ToBoolean() ? VX_KEY_EXPLAIN : 0;
  options.schema = schema.c_str();
  options.subject = subject.get();
  options.salt = salt.get();  // 16 bytes: checked in JavaScript
  vx_key* out = nullptr;
  vx_error* error = nullptr;
  check(vx_key_new(&options, &out, &error), error);
  return wrap(info.Env(), std::shared_ptr<vx_key>(out, vx_key_free));
}

/// keyAdd(key, kind, name | null, bytes)
Napi::Value add(const Napi::CallbackInfo& info) {
  const auto key = unwrap<vx_key>(info[0]);
  const optional_bytes name(info[2]);
  const std::string value = bytes_of(info[3]);
  vx_error* error = nullptr;
  check(vx_key_add(key.get(), kind_of(info[1]), name.get(), value.data(), value.size(), &error), error);
  return info.Env().Undefined();
}

/// Walks UTF-8 by the UTF-16 lengths that JavaScript knows. Every piece ends with a NUL of its own.
class pieces {
 public:
  explicit pieces(const std::string& text) : at_(text.data()), end_(text.data() + text.size()) {}
  /// The next piece of `units`, NUL-terminated.
  std::string_view next(std::int32_t units) {
    const char* const begin = at_;
    while (units > 0 && at_ < end_) {
      const unsigned char lead = static_cast<unsigned char>(*at_);
      const int bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      units -= bytes == 4 ? 2 : 1;
      at_ += bytes;
    }
    if (units != 0 || at_ >= end_ || *at_ != 0)
      throw failure{"VX_E_INVALID", "the items and their lengths do not fit", "", "", 0};
    return {begin, static_cast<std::size_t>(at_++ - begin)};
  }

 private:
  const char* at_;
  const char* end_;
};

/// keyAddMany(key, text, shape: Int32Array): for each item its kind and the UTF-16 lengths of name and value, -1 for none;
/// `text` holds the names and values, each with a NUL behind it. One call for many items: crossing into C++ costs more than
/// folding one.
Napi::Value add_many(const Napi::CallbackInfo& info) {
  const auto key = unwrap<vx_key>(info[0]);
  const std::string text = bytes_of(info[1]);
  const auto shape = info[2].As<Napi::Int32Array>();
  const std::int32_t* item = shape.Data();
  pieces rest(text);
  for (std::size_t i = 0; i + 3 <= shape.ElementLength(); i += 3, item += 3) {
    const bool named = item[1] >= 0, valued = item[2] >= 0;
    const std::string_view name = named ? rest.next(item[1]) : std::string_view();
    const std::string_view value = valued ? rest.next(item[2]) : std::string_view();
    if (name.find('\0') != std::string_view::npos) throw failure{"VX_E_INVALID", "the name of an item holds a NUL", "", "", 0};
    vx_error* error = nullptr;
    check(vx_key_add(key.get(), item[0], named ? name.data() : nullptr, valued ? value.data() : nullptr, value.size(), &error),
          error);
  }
  return info.Env().Undefined();
}

Napi::Value add_selection(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  check(vx_key_add_selection(unwrap<vx_key>(info[0]).get(), unwrap<vx_selection>(info[1]).get(), &error), error);
  return info.Env().Undefined();
}

Napi::Value begin(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  check(vx_key_begin(unwrap<vx_key>(info[0]).get(), kind_of(info[1]), info[2].As<Napi::Number>().Uint32Value(), &error), error);
  return info.Env().Undefined();
}

Napi::Value end(const Napi::CallbackInfo& info) {
  vx_error* error = nullptr;
  check(vx_key_end(unwrap<vx_key>(info[0]).get(), &error), error);
  return info.Env().Undefined();
}

Napi::Value finish(const Napi::CallbackInfo& info) {
  vx_digest d;
  vx_error* error = nullptr;
  check(vx_key_finish(unwrap<vx_key>(info[0]).get(), &d, &error), error);
  return utf8(info.Env(), hex_of(d));
}

/// A flat list: kind's number, name, digest, kind's number ...
Napi::Value components(const Napi::CallbackInfo& info) {
  struct sink {
    Napi::Env env;
    Napi::Array list;
  } to{info.Env(), Napi::Array::New(info.Env())};
  const auto each = [](void* data, vx_key_kind kind, const char* name, const char* digest) noexcept -> vx_status {
    auto* s = static_cast<sink*>(data);
    try {
      s->list.Set(s->list.Length(), Napi::Number::New(s->env, kind));
      s->list.Set(s->list.Length(), Napi::String::New(s->env, name));
      s->list.Set(s->list.Length(), Napi::String::New(s->env, digest));
    } catch (const Napi::Error&) {
      return VX_E_NO_MEMORY;
    }
    return VX_OK;
  };
  vx_error* error = nullptr;
  check(vx_key_components(unwrap<vx_key>(info[0]).get(), each, &to, &error), error);
  return to.list;
}

Napi::Value diff(const Napi::CallbackInfo& info) {
  buffer json;
  vx_error* error = nullptr;
  check(vx_key_diff(unwrap<vx_key>(info[0]).get(), unwrap<vx_key>(info[1]).get(), &json.raw, &error), error);
  return utf8(info.Env(), json.text());
}

/// Names by number from 1 on.
Napi::Value kind_names(const Napi::CallbackInfo& info) {
  auto list = Napi::Array::New(info.Env());
  for (vx_key_kind kind = VX_KEY_FORMAT; kind <= VX_KEY_FILE; ++kind) list.Set(list.Length(), vx_key_kind_name(kind));
  return list;
}

}  // namespace

void add_key(Napi::Env env, Napi::Object exports) {
  add_function<make>(env, exports, "keyNew");
  add_function<add>(env, exports, "keyAdd");
  add_function<add_many>(env, exports, "keyAddMany");
  add_function<add_selection>(env, exports, "keyAddSelection");
  add_function<begin>(env, exports, "keyBegin");
  add_function<end>(env, exports, "keyEnd");
  add_function<finish>(env, exports, "keyFinish");
  add_function<components>(env, exports, "keyComponents");
  add_function<diff>(env, exports, "keyDiff");
  add_function<kind_names>(env, exports, "keyKindNames");
}

}  // namespace vx::node
