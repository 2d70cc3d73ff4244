// vx::result<T>: a value or a failure. The library never throws; see style.md 4.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/status.hpp"

namespace vx {

/// Why something could not be done. `message` is one line, lower case, without a final period, and names
/// the thing, the place and the way out; it is shown to people as it stands.
struct failure {
  errc code = errc::INTERNAL;
  int sys = 0;  ///< errno, 0 when no system call failed
  std::string message;
  std::string path;     ///< the file at fault, when there is one
  std::string details;  ///< a JSON object for callers that want more (cycle path, source position), or empty
};

template <class T>
using result = tl::expected<T, failure>;

using status = result<void>;

/// return fail(errc::CONFIG, "...");
[[nodiscard]] inline tl::unexpected<failure> fail(errc code, std::string message) {
  return tl::unexpected<failure>(failure{code, 0, std::move(message), {}, {}});
}
[[nodiscard]] inline tl::unexpected<failure> fail(failure f) { return tl::unexpected<failure>(std::move(f)); }

/// A failed system call: "<what> <path>: <strerror>". EMFILE and ENFILE become FDS and advise `ulimit -n 4096`;
/// ENOENT stays IO: callers that expect absence test `sys`.
[[nodiscard]] tl::unexpected<failure> fail_sys(int sys, std::string_view what, std::string_view path);
[[nodiscard]] failure sys_failure(int sys, std::string_view what, std::string_view path);

}  // namespace vx

#define VX_CAT_(a, b) a##b
#define VX_CAT(a, b) VX_CAT_(a, b)

/// Evaluates a result<> expression; returns its failure from the enclosing function.
#define VX_TRY(expr)                                                    \
  do {                                                                  \
    if (auto vx_try_ = (expr); !vx_try_) {                              \
      return tl::unexpected<::vx::failure>(std::move(vx_try_).error()); \
    }                                                                   \
  } while (0)

#define VX_TRY_LET_(tmp, decl, expr)                                      \
  auto tmp = (expr);                                                      \
  if (!tmp) return tl::unexpected<::vx::failure>(std::move(tmp).error()); \
  decl = std::move(tmp).value()

/// VX_TRY_LET(std::string raw, read_file(...)); declares `raw` or returns the failure.
#define VX_TRY_LET(decl, expr) VX_TRY_LET_(VX_CAT(vx_try_let_, __LINE__), decl, expr)
