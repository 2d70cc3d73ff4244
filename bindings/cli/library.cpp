#include "cli/library.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace vx::cli {

refusal to_refusal(vx_error* error) {
  refusal out{document_code(vx_status_name(vx_error_code(error))), vx_error_message(error), vx_error_path(error),
              vx_error_details_json(error)};
  if (out.message.empty()) out.message = "no reason was given";
  vx_error_free(error);
  return out;
}

std::variant<std::string, refusal> working_directory() {
  char* raw = ::getcwd(nullptr, 0);
  if (raw == nullptr)
    return refusal{"VX_E_FS", std::string("the current directory can't be read: ") + std::strerror(errno), "", ""};
  std::string out(raw);
  std::free(raw);
  return out;
}

std::variant<workspace_handle, refusal> open_workspace(const std::string& cwd) {
  vx_workspace_options options = VX_WORKSPACE_OPTIONS_INIT;
  options.cwd = cwd.c_str();
  vx_workspace* raw = nullptr;
  vx_error* error = nullptr;
  if (vx_workspace_open(cwd.c_str(), &options, &raw, &error) != VX_OK) return to_refusal(error);
  return workspace_handle(raw);
}

std::variant<cancel_handle, refusal> new_cancel() {
  vx_cancel* raw = nullptr;
  vx_error* error = nullptr;
  if (vx_cancel_new(&raw, &error) != VX_OK) return to_refusal(error);
  return cancel_handle(raw);
}

}  // namespace vx::cli
