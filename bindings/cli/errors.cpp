#include "cli/errors.hpp"

#include <fmt/format.h>

#include "cli/json_read.hpp"
#include "cli/request.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

struct position {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string source;        ///< the line's text, when the details carry it
};

std::optional<position> position_in(const refusal& r) {
  rapidjson::Document root;
  root.Parse(r.details_json.data(), r.details_json.size());
  if (root.HasParseError() || !root.IsObject()) return std::nullopt;
  position out{read_text(root, "file"), read_count(root, "line"), read_count(root, "col"), read_text(root, "source")};
  if (out.column == 0) out.column = read_count(root, "column");
  if (out.file.empty()) out.file = r.path;
  if (out.file.empty() || out.line == 0) return std::nullopt;
  return out;
}

std::string relative_to(const std::string& path, std::string_view cwd) {
  if (path.starts_with('/') && path.size() > cwd.size() + 1 && path.starts_with(cwd) && path[cwd.size()] == '/') {
    return path.substr(cwd.size() + 1);
  }
  return path;
}

/// The source line and a caret under the column. Tabs become spaces so that the caret stands where the text is.
std::string frame_text(const position& at, std::string source) {
  std::string before = source.substr(0, at.column > 0 ? at.column - 1 : 0);
  std::string shown;
  for (const char c : source) shown += c == '\t' ? ' ' : c;
  if (shown.size() > 200) shown.resize(200);
  const std::string number = fmt::format("{}", at.line);
  return fmt::format("\n  {} | {}\n  {} | {}^\n", number, printable(shown), std::string(number.size(), ' '),
                     std::string(display_width(before), ' '));
}

}  // namespace

std::string refusal_text(const refusal& r, std::string_view verb, std::string_view cwd,
                         const std::function<std::optional<std::string>(const std::string&, std::size_t)>& read_line) {
  if (const auto at = position_in(r)) {
    const std::string shown = relative_to(at->file, cwd);
    std::string message = r.message;
    // The message may name the file itself; the position does so already.
    for (const std::string& prefix : {at->file + ": ", shown + ": "}) {
      if (message.starts_with(prefix)) message.erase(0, prefix.size());
    }
    std::string out = fmt::format("vx: {}:{}:{}: {}\n", printable(shown), at->line, at->column, printable(message));
    std::optional<std::string> source;
    if (!at->source.empty()) source = at->source;
    if (!source && at->file.starts_with('/')) source = read_line(at->file, at->line);
    if (!source && r.path.starts_with('/')) source = read_line(r.path, at->line);
    return source ? out + frame_text(*at, *source) : out;
  }
  const std::string head = verb.empty() || r.code == "VX_E_CONFIG" ? std::string("vx") : fmt::format("vx {}", verb);
  std::string out = fmt::format("{}: {}", head, printable(r.message));
  if (r.code == "VX_E_USAGE") out += verb.empty() ? " (see `vx --help`)" : fmt::format(" (see `vx {} --help`)", verb);
  return out + "\n";
}

std::string refusal_json(const refusal& r) {
  std::string out = "{\"ok\":false,\"error\":{\"code\":";
  append_json_string(out, r.code);
  out += ",\"message\":";
  append_json_string(out, printable(r.message));
  return out + "}}\n";
}

std::string document_code(std::string_view status_name) {
  if (status_name == "VX_E_INVALID") return "VX_E_USAGE";
  if (status_name == "VX_E_NOT_FOUND") return "VX_E_UNKNOWN_TASK";
  if (status_name == "VX_E_IO") return "VX_E_FS";
  return std::string(status_name);
}

}  // namespace vx::cli
