#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "internal.hpp"
#include "key/fold.hpp"

// The header's constants and the library's list are one list.
#define VX_PIN(name, value, text) static_assert(VX_E_##name == value && static_cast<int>(vx::errc::name) == value);
VX_STATUS_LIST(VX_PIN)
#undef VX_PIN
static_assert(VX_OK == 0 && static_cast<int>(vx::errc::ok) == 0);

namespace vx::capi {
namespace {

vx_error* out_of_memory() noexcept {
  static vx_error error{vx::failure{vx::errc::NO_MEMORY, ENOMEM, {}, {}, {}}};
  return &error;
}

}  // namespace

vx_status put(vx_error** err, vx::failure what) noexcept {
  const auto code = static_cast<vx_status>(what.code == vx::errc::ok ? vx::errc::INTERNAL : what.code);
  if (err == nullptr) return code;
  *err = new (std::nothrow) vx_error{std::move(what)};
  if (*err == nullptr) *err = out_of_memory();
  return code;
}

vx_status put_current_exception(vx_error** err) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    if (err != nullptr) *err = out_of_memory();
    return VX_E_NO_MEMORY;
  } catch (const std::exception& e) {
    try {
      return put(err, vx::failure{vx::errc::INTERNAL, 0, std::string("internal error: ") + e.what(), {}, {}});
    } catch (...) {
      if (err != nullptr) *err = out_of_memory();
      return VX_E_INTERNAL;
    }
  } catch (...) {
    if (err != nullptr) *err = out_of_memory();
    return VX_E_INTERNAL;
  }
}

vx::status copy_options(const void* from, std::size_t known, std::size_t least, void* to, const char* name) {
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (size < least) return vx::fail(vx::errc::INVALID, std::string(name) + ".size is not set: use the struct's INIT macro");
  const char* raw = static_cast<const char*>(from);
  for (std::size_t i = known; i < size; ++i)
    if (raw[i] != 0) return vx::fail(vx::errc::UNSUPPORTED, std::string(name) + " holds a field this library does not know");
  std::memcpy(to, from, size < known ? size : known);
  return {};
}

void fill(vx_buf* out, std::string text) {
  char* data = static_cast<char*>(std::malloc(text.size() + 1));
  if (data == nullptr) throw std::bad_alloc();
  std::memcpy(data, text.data(), text.size());
  data[text.size()] = '\0';
  out->data = data;
  out->size = text.size();
}

}  // namespace vx::capi

extern "C" {

const char* vx_status_name(vx_status code) { return vx::status_name(static_cast<vx::errc>(code)).data(); }

const char* vx_version(void) { return vx::run::k_vx_version; }

uint32_t vx_version_number(void) { return VX_VERSION_MAJOR * 10000u + VX_VERSION_MINOR * 100u + VX_VERSION_PATCH; }

const char* vx_features(void) {
#if defined(__linux__) && defined(__x86_64__)
  return R"({"platform":"linux-x64","keySchema":"vx-key-1","artifactFormat":1,"remote":false,"sandbox":false})";
#elif defined(__linux__) && defined(__aarch64__)
  return R"({"platform":"linux-arm64","keySchema":"vx-key-1","artifactFormat":1,"remote":false,"sandbox":false})";
#elif defined(__APPLE__) && defined(__aarch64__)
  return R"({"platform":"darwin-arm64","keySchema":"vx-key-1","artifactFormat":1,"remote":false,"sandbox":false})";
#else
  return R"({"platform":"darwin-x64","keySchema":"vx-key-1","artifactFormat":1,"remote":false,"sandbox":false})";
#endif
}

vx_status vx_error_code(const vx_error* error) { return error == nullptr ? VX_OK : static_cast<vx_status>(error->what.code); }

const char* vx_error_message(const vx_error* error) {
  if (error == nullptr) return "";
  if (error->what.code == vx::errc::NO_MEMORY && error->what.message.empty()) return "out of memory";
  return error->what.message.c_str();
}

const char* vx_error_path(const vx_error* error) { return error == nullptr ? "" : error->what.path.c_str(); }
int32_t vx_error_errno(const vx_error* error) { return error == nullptr ? 0 : error->what.sys; }
const char* vx_error_details_json(const vx_error* error) { return error == nullptr ? "" : error->what.details.c_str(); }

void vx_error_free(vx_error* error) {
  if (error != nullptr && error != vx::capi::out_of_memory()) delete error;
}

void vx_buf_dispose(vx_buf* buf) {
  if (buf == nullptr) return;
  std::free(buf->data);
  buf->data = nullptr;
  buf->size = 0;
}

vx_status vx_cancel_new(vx_cancel** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return vx::capi::guard(err, [&]() -> vx::status {
    if (out == nullptr) return vx::fail(vx::errc::INVALID, "out is NULL");
    *out = new vx_cancel{std::make_shared<vx::cancel_token>()};
    return {};
  });
}

void vx_cancel_request(vx_cancel* cancel, int32_t signal) {
  if (cancel != nullptr) cancel->token->request(signal);
}

void vx_cancel_free(vx_cancel* cancel) { delete cancel; }

}  // extern "C"
