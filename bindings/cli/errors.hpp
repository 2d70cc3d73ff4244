// A failure as text. Pure: the caller decides where it goes.
#pragma once

#include <string>
#include <string_view>

namespace vx::cli {

/// What a refusal says, whoever found it.
struct refusal {
  std::string code;          ///< "VX_E_USAGE"
  std::string message;       ///< one line
  std::string path;          ///< the file at fault, or empty
  std::string details_json;  ///< positions, or empty
};

/// The lines for standard error. `verb` is empty when no verb was given. `cwd` shortens paths.
std::string refusal_text(const refusal& r, std::string_view verb, std::string_view cwd);

/// {"ok":false,"error":{"code","message"}} and a line end.
std::string refusal_json(const refusal& r);

/// The code a document carries: the library's coarse codes in the command line's words.
std::string document_code(std::string_view status_name);

}  // namespace vx::cli
