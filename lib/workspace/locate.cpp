// Where a refusal is in the file: exact offsets for JSON, a search for the keys in order for JavaScript and TypeScript.
#include <algorithm>

#include "workspace/schema.hpp"

namespace vx::workspace::schema {
namespace {

bool is_json_file(std::string_view file) noexcept { return file.ends_with(".json") || file.ends_with(".jsonc"); }

bool ident(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/// `name` used as a property key at or after `from`: bare or quoted, followed by ':' or by what ends a shorthand property.
std::size_t find_key(std::string_view text, std::size_t from, std::string_view name) noexcept {
  for (std::size_t at = text.find(name, from); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const char before = at == 0 ? '\n' : text[at - 1];
    std::size_t next = at + name.size();
    const bool quoted = before == '"' || before == '\'' || before == '`';
    if (quoted) {
      if (next >= text.size() || text[next] != before) continue;
      ++next;
    } else if (ident(before) || before == '.' || (next < text.size() && ident(text[next]))) {
      continue;
    }
    while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
    if (next < text.size() && (text[next] == ':' || (!quoted && (text[next] == ',' || text[next] == '}' || text[next] == '('))))
      return at;
  }
  return std::string_view::npos;
}

/// The refused string as a literal. The text between the quotes must be the value as it is: escapes are not undone.
std::size_t find_literal(std::string_view text, std::size_t from, std::string_view value) noexcept {
  if (value.empty()) return std::string_view::npos;
  for (std::size_t at = text.find(value, from); at != std::string_view::npos; at = text.find(value, at + 1)) {
    if (at == 0 || at + value.size() >= text.size()) continue;
    const char q = text[at - 1];
    if ((q == '"' || q == '\'' || q == '`') && text[at + value.size()] == q) return at - 1;
  }
  return std::string_view::npos;
}

std::size_t find_in_script(const refusal& r, std::string_view text) noexcept {
  std::size_t at = 0;
  std::size_t last = std::string_view::npos;
  for (const step& s : r.where) {
    if (s.is_index) continue;
    last = find_key(text, at, s.name);
    if (last == std::string_view::npos) break;
    at = last + s.name.size();
  }
  const std::size_t literal = find_literal(text, last == std::string_view::npos ? 0 : at, r.quoted);
  return literal != std::string_view::npos ? literal : last;
}

std::string frame(std::string_view text, std::uint32_t line, std::uint32_t column) {
  std::size_t start = 0;
  for (std::uint32_t n = 1; n < line && start != std::string_view::npos; ++n) {
    start = text.find('\n', start);
    if (start != std::string_view::npos) ++start;
  }
  if (start == std::string_view::npos) return {};
  std::string_view row = text.substr(start, text.find('\n', start) - start);
  if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
  constexpr std::size_t k_widest = 200;
  std::size_t caret = column - 1;
  if (row.size() > k_widest) {  // a minified file: the part around the caret
    const std::size_t cut = std::min(caret > 40 ? caret - 40 : 0, row.size());
    row = row.substr(cut, k_widest);
    caret -= cut;
  }
  std::string out(row);
  out += '\n';
  for (std::size_t i = 0; i < std::min(caret, row.size()); ++i) {
    if ((static_cast<unsigned char>(row[i]) & 0xC0) == 0x80) continue;  // one column a code point
    out += row[i] == '\t' ? '\t' : ' ';
  }
  out += '^';
  return out;
}

std::string details(std::string_view file, std::uint32_t line, std::uint32_t column, std::string_view field,
                    std::string_view text) {
  json::object o;
  o.add("file", file);
  if (line != 0) {
    o.add("line", line);
    o.add("column", column);
  }
  if (!field.empty()) o.add("field", field);
  if (line != 0) {
    if (std::string f = frame(text, line, column); !f.empty()) o.add("frame", std::move(f));
  }
  return json::write(json::value(std::move(o)));
}

}  // namespace

failure located_failure(std::string_view file, std::string_view text, std::uint32_t line, std::uint32_t column,
                        std::string_view field, std::string_view message) {
  failure f;
  f.code = errc::CONFIG;
  f.path = file;
  f.message = std::string(file);
  if (line != 0) f.message += ':' + std::to_string(line) + ':' + std::to_string(column);
  f.message += ": ";
  f.message += message;
  f.details = details(file, line, column, field, text);
  return f;
}

failure file_failure(std::string_view file, std::string_view message) { return located_failure(file, {}, 0, 0, {}, message); }

failure to_failure(const refusal& r, std::string_view file, std::string_view text) {
  const std::string field = field_path(r.where);
  const std::string message = (r.label.empty() ? field : r.label) + (r.what.starts_with(':') ? "" : " ") + r.what;
  if (!r.located || text.empty()) return located_failure(file, text, 0, 0, field, message);
  std::size_t at = r.offset;
  if (!is_json_file(file)) at = find_in_script(r, text);
  if (at == std::string_view::npos || at > text.size()) return located_failure(file, text, 0, 0, field, message);
  const json::position p = json::locate(text, static_cast<std::uint32_t>(at));
  return located_failure(file, text, p.line, p.column, field, message);
}

}  // namespace vx::workspace::schema
