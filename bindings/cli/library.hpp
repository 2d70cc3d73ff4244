// The C API's handles with owners, and its failures as refusals.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "cli/errors.hpp"
#include "vx/vx.h"

namespace vx::cli {

struct handle_free {
  void operator()(vx_workspace* p) const noexcept { vx_workspace_free(p); }
  void operator()(vx_run* p) const noexcept { vx_run_free(p); }
  void operator()(vx_cancel* p) const noexcept { vx_cancel_free(p); }
};
using workspace_handle = std::unique_ptr<vx_workspace, handle_free>;
using run_handle = std::unique_ptr<vx_run, handle_free>;
using cancel_handle = std::unique_ptr<vx_cancel, handle_free>;

/// A buffer of the library, emptied at the end.
class buffer {
 public:
  buffer() = default;
  ~buffer() { vx_buf_dispose(&buf_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  vx_buf* out() noexcept { return &buf_; }
  std::string_view text() const noexcept { return {buf_.data == nullptr ? "" : buf_.data, buf_.size}; }

 private:
  vx_buf buf_ = VX_BUF_INIT;
};

/// Takes the error over.
refusal to_refusal(vx_error* error);

/// The process's working directory, absolute.
std::variant<std::string, refusal> working_directory();
std::variant<workspace_handle, refusal> open_workspace(const std::string& cwd);
std::variant<cancel_handle, refusal> new_cancel();

}  // namespace vx::cli
