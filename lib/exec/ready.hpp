// Readiness of a persistent task (run.md 12.1): an ECMAScript pattern, matched in linear time against each line of its output.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace vx::exec {

/// The pattern in RE2's syntax with ECMAScript's meaning (no flags). Fails with INVALID and one line that names what is
/// unsupported or wrong, and its byte offset.
result<std::string> translate_ecmascript(std::string_view pattern);

/// Watches both streams. Lines end at LF, CRLF or CR; the unfinished line at the end is tested as well; terminal escapes are
/// taken out of the tested text only.
class ready_scanner {
 public:
  static result<ready_scanner> compile(std::string_view pattern);
  ready_scanner(ready_scanner&&) noexcept;
  ~ready_scanner();
  /// True once a line has matched; feed nothing after that.
  bool feed(int stream, std::string_view chunk);

 private:
  struct regex;
  struct lane {
    std::string partial;    ///< the unfinished line, at most its last 64 KiB
    bool after_cr = false;  ///< a LF that comes now belongs to the CR
  };
  explicit ready_scanner(std::unique_ptr<regex> compiled);
  bool matches(std::string_view line) const;

  std::unique_ptr<regex> regex_;
  std::array<lane, 2> lanes_;
};

}  // namespace vx::exec
