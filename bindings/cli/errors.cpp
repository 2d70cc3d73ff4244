#include "cli/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/json_read.hpp"
#include "cli/request.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

struct position {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string frame;  ///< the source line and a caret, or empty
};

std::optional<position> position_in(const refusal& r) {
  rapidjson::Document root;
  root.Parse(r.details_json.data(), r.details_json.size());
  if (root.HasParseError() || !root.IsObject()) return std::nullopt;
  position out{read_text(root, "file"), read_count(root, "line"), read_count(root, "column"), read_text(root, "frame")};
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

/// The frame's lines, set off from the message.
std::string indented(std::string_view frame) {
  std::string out = "\n";
  while (!frame.empty()) {
    const std::size_t end = std::min(frame.find('\n'), frame.size());
    out += "  ";
    for (const char c : frame.substr(0, end)) out += c == '\t' ? '\t' : static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    out += '\n';
    frame.remove_prefix(std::min(end + 1, frame.size()));
  }
  return out;
}

}  // namespace

std::string refusal_text(const refusal& r, std::string_view verb, std::string_view cwd) {
  if (const auto at = position_in(r)) {
    const std::string shown = relative_to(at->file, cwd);
    std::string message = r.message;
    // The message may name the place itself; the line does so already.
    for (const std::string& prefix : {fmt::format("{}:{}:{}: ", at->file, at->line, at->column), at->file + ": "}) {
      if (message.starts_with(prefix)) message.erase(0, prefix.size());
    }
    return fmt::format("vx: {}:{}:{}: {}\n", printable(shown), at->line, at->column, printable(message)) +
           (at->frame.empty() ? std::string() : indented(at->frame));
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
