#include "base/status.hpp"

#include <cerrno>
#include <system_error>

#include "base/result.hpp"
#include "base/text.hpp"

namespace vx {

std::string_view status_name(errc code) noexcept {
  switch (code) {
    case errc::ok: return "VX_OK";
#define VX_STATUS_NAME(name, value, text) \
  case errc::name: return "VX_E_" #name;
      VX_STATUS_LIST(VX_STATUS_NAME)
#undef VX_STATUS_NAME
  }
  return "VX_E_INTERNAL";
}

failure sys_failure(int sys, std::string_view what, std::string_view path) {
  failure f;
  f.sys = sys;
  f.path = path;
  f.code = errc::IO;
  f.message.append(what);
  if (!path.empty()) f.message.append(" ").append(text::escape(path, true));
  f.message.append(": ").append(std::generic_category().message(sys));
  if (sys == EMFILE || sys == ENFILE) {
    f.code = errc::FDS;
    f.message.append("; raise the limit with `ulimit -n 4096`");
  } else if (sys == ENOMEM) {
    f.code = errc::NO_MEMORY;
  }
  return f;
}

tl::unexpected<failure> fail_sys(int sys, std::string_view what, std::string_view path) {
  return tl::unexpected<failure>(sys_failure(sys, what, path));
}

}  // namespace vx
