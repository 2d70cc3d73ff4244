#include <cstring>
#include <optional>
#include <string_view>

#include "base/fs.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "internal.hpp"
#include "key/diff.hpp"
#include "key/file_digest.hpp"

// The header's kinds and the library's are one list.
#define VX_PIN(name, kind) static_assert(VX_KEY_##name == static_cast<int>(vx::key::component_kind::kind))
VX_PIN(FORMAT, format);
VX_PIN(PLATFORM, platform);
VX_PIN(WORKSPACE, workspace);
VX_PIN(PACKAGE, package);
VX_PIN(CONFIG, config);
VX_PIN(FORWARD, forward);
VX_PIN(ENV, env);
VX_PIN(RUNTIME, runtime);
VX_PIN(WS_RUNTIME, ws_runtime);
VX_PIN(UPSTREAM, upstream);
VX_PIN(HOST, host);
VX_PIN(FILE, file);
#undef VX_PIN
static_assert(sizeof(vx_digest) == 16 && alignof(vx_digest) == 1);
static_assert(offsetof(vx_key_options, schema) == 8);

namespace vx::capi {

digest128 from_c(const vx_digest& d) noexcept {
  digest128 out;
  std::memcpy(out.raw.data(), d.bytes, sizeof d.bytes);
  return out;
}

vx_digest to_c(const digest128& d) noexcept {
  vx_digest out;
  std::memcpy(out.bytes, d.raw.data(), sizeof out.bytes);
  return out;
}

result<const key::builder*> explained_key(const vx_key* key) {
  if (key == nullptr) return fail(errc::INVALID, "the key is NULL");
  if (!key->builder.finished()) return fail(errc::INVALID, "the key is not finished");
  if ((key->flags & VX_KEY_EXPLAIN) == 0)
    return fail(errc::INVALID, "the key was made without VX_KEY_EXPLAIN and has forgotten its components");
  return &key->builder;
}

json::object diff_document(const key::component_diff& d) {
  json::array entries;
  for (const key::component_change& c : d.changes) {
    json::object e;
    const auto side = [&](const std::string& digest, key::change lacking) {
      return c.what == lacking ? json::value() : json::value(text::escape(key::shown_digest(c.kind, digest)));
    };
    e.add("kind", key::component_kind_name(c.kind));
    e.add("name", text::escape(c.name));
    e.add("change", key::change_name(c.what));
    e.add("before", side(c.before, key::change::added));
    e.add("after", side(c.after, key::change::removed));
    entries.emplace_back(std::move(e));
  }
  json::object doc;
  doc.add("entries", std::move(entries));
  doc.add("unchangedCount", d.unchanged);
  return doc;
}

}  // namespace vx::capi

namespace {

using vx::errc;
using vx::fail;
using vx::capi::guard;

vx::status check_schema(const char* schema) {
  if (schema == nullptr || schema[0] == '\0')
    return fail(errc::INVALID, "vx_key_options.schema is required: name your derivation and its version");
  const std::string_view text = schema;
  if (text.size() > 255) return fail(errc::INVALID, "vx_key_options.schema has more than 255 bytes");
  if (text.starts_with("vx-")) return fail(errc::INVALID, "vx_key_options.schema: names that begin with vx- are taken");
  return {};
}

vx::status add(vx_key* key, vx_key_kind kind, const char* name, std::optional<std::string_view> value) {
  if (key == nullptr) return fail(errc::INVALID, "key is NULL");
  if (kind < VX_KEY_FORMAT || kind > VX_KEY_FILE) return fail(errc::INVALID, "there is no kind " + std::to_string(kind));
  return key->builder.add(static_cast<vx::key::component_kind>(kind), name == nullptr ? "" : name, value);
}

}  // namespace

extern "C" {

void vx_digest_hex(const vx_digest* digest, char* text) {
  if (text == nullptr) return;
  text[0] = '\0';
  if (digest == nullptr) return;
  static constexpr char k_digits[] = "0123456789abcdef";
  for (const std::uint8_t byte : digest->bytes) {
    *text++ = k_digits[byte >> 4];
    *text++ = k_digits[byte & 15];
  }
  *text = '\0';
}

vx_status vx_digest_parse(const char* text, vx_digest* out, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (text == nullptr || out == nullptr) return fail(errc::INVALID, text == nullptr ? "text is NULL" : "out is NULL");
    vx::digest128 d;
    if (!vx::digest128::parse(text, d)) return fail(errc::INVALID, "a digest has 32 hexadecimal digits");
    *out = vx::capi::to_c(d);
    return {};
  });
}

vx_status vx_digest_bytes(const void* data, size_t size, vx_digest* out, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (out == nullptr || (data == nullptr && size > 0))
      return fail(errc::INVALID, out == nullptr ? "out is NULL" : "data is NULL");
    *out = vx::capi::to_c(vx::key::xxh3_128(vx::capi::view_of(data, size)));
    return {};
  });
}

vx_status vx_digest_file(const char* path, vx_digest* out, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (path == nullptr || out == nullptr) return fail(errc::INVALID, path == nullptr ? "path is NULL" : "out is NULL");
    VX_TRY_LET(const vx::digest128 d, vx::key::file_digest(path));
    *out = vx::capi::to_c(d);
    return {};
  });
}

vx_status vx_git_blob_id(const void* data, size_t size, int32_t bits, char* text, vx_error** err) {
  if (text != nullptr) text[0] = '\0';
  return guard(err, [&]() -> vx::status {
    if (text == nullptr || (data == nullptr && size > 0))
      return fail(errc::INVALID, text == nullptr ? "text is NULL" : "data is NULL");
    if (bits != 160 && bits != 256) return fail(errc::INVALID, "a git id has 160 or 256 bits");
    const auto format = bits == 160 ? vx::key::object_format::sha1 : vx::key::object_format::sha256;
    const std::string hex = vx::key::git_blob_id(vx::capi::view_of(data, size), format).hex();
    std::memcpy(text, hex.c_str(), hex.size() + 1);
    return {};
  });
}

const char* vx_key_kind_name(vx_key_kind kind) {
  const bool known = kind >= VX_KEY_FORMAT && kind <= VX_KEY_FILE;
  return vx::key::component_kind_name(static_cast<vx::key::component_kind>(known ? kind : 0)).data();
}

vx_status vx_key_new(const vx_key_options* options, vx_key** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (out == nullptr) return fail(errc::INVALID, "out is NULL");
    VX_TRY_LET(const vx_key_options o, vx::capi::read_options(options, "vx_key_options"));
    if ((o.flags & ~VX_KEY_EXPLAIN) != 0)
      return fail(errc::UNSUPPORTED, "vx_key_options.flags has a bit this library does not know");
    VX_TRY(check_schema(o.schema));
    auto key = std::make_unique<vx_key>(vx_key{vx::key::builder(o.schema, o.subject == nullptr ? "" : o.subject), o.flags, {}});
    if (o.salt != nullptr) std::memcpy(key->salt.raw.data(), o.salt, key->salt.raw.size());
    *out = key.release();
    return {};
  });
}

void vx_key_free(vx_key* key) { delete key; }

vx_status vx_key_add(vx_key* key, vx_key_kind kind, const char* name, const void* value, size_t size, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (value == nullptr && size > 0) return fail(errc::INVALID, "value is NULL and size is not 0");
    return add(key, kind, name, value == nullptr ? std::nullopt : std::optional(vx::capi::view_of(value, size)));
  });
}

vx_status vx_key_add_text(vx_key* key, vx_key_kind kind, const char* name, const char* value, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    return add(key, kind, name, value == nullptr ? std::nullopt : std::optional<std::string_view>(value));
  });
}

vx_status vx_key_begin(vx_key* key, vx_key_kind kind, uint32_t count, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (key == nullptr) return fail(errc::INVALID, "key is NULL");
    if (kind < VX_KEY_FORMAT || kind > VX_KEY_FILE) return fail(errc::INVALID, "there is no kind " + std::to_string(kind));
    return key->builder.begin_list(static_cast<vx::key::component_kind>(kind), count);
  });
}

vx_status vx_key_end(vx_key* key, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (key == nullptr) return fail(errc::INVALID, "key is NULL");
    return key->builder.end_list();
  });
}

vx_status vx_key_finish(vx_key* key, vx_digest* out, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (key == nullptr || out == nullptr) return fail(errc::INVALID, key == nullptr ? "key is NULL" : "out is NULL");
    VX_TRY_LET(const vx::digest128 d, key->builder.finish());
    if ((key->flags & VX_KEY_EXPLAIN) == 0) key->builder.drop_material();
    *out = vx::capi::to_c(d);
    return {};
  });
}

vx_status vx_key_components(const vx_key* key, vx_component_fn each, void* user_data, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (each == nullptr) return fail(errc::INVALID, "each is NULL");
    VX_TRY_LET(const vx::key::builder* const built, vx::capi::explained_key(key));
    for (const vx::key::component& c : built->explain(key->salt)) {
      VX_TRY(vx::capi::call_out(
          [&] { return each(user_data, static_cast<vx_key_kind>(c.kind), c.name.c_str(), c.digest.c_str()); }));
    }
    return {};
  });
}

vx_status vx_key_diff(const vx_key* before, const vx_key* after, vx_buf* json, vx_error** err) {
  if (json != nullptr) *json = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (json == nullptr) return fail(errc::INVALID, "json is NULL");
    VX_TRY_LET(const vx::key::builder* const a, vx::capi::explained_key(before));
    VX_TRY_LET(const vx::key::builder* const b, vx::capi::explained_key(after));
    if (before->salt != after->salt)
      return fail(errc::INVALID, "the keys have different salts, so their values do not compare");
    vx::capi::fill(json,
                   vx::json::write(vx::capi::diff_document(vx::key::diff(a->explain(before->salt), b->explain(after->salt)))));
    return {};
  });
}

}  // extern "C"
