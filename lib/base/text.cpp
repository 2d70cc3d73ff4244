#include "base/text.hpp"

#include "base/utf8.hpp"

namespace vx::text {
namespace {

constexpr std::string_view k_hex = "0123456789abcdef";

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_shell_safe(char c) noexcept {
  if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

void append_byte(std::string& out, unsigned char byte) {
  out.append("\\x");
  out.push_back(k_hex[byte >> 4]);
  out.push_back(k_hex[byte & 15]);
}

}  // namespace

bool is_utf8(std::string_view raw) noexcept {
  for (std::size_t i = 0; i < raw.size();) {
    const std::size_t n = utf8_length(raw, i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

std::string escape(std::string_view raw, bool controls) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    const std::size_t n = utf8_length(raw, i);
    const auto byte = static_cast<unsigned char>(raw[i]);
    // C1 controls (U+0080 to U+009F) drive terminals too.
    const bool control =
        byte < 0x20 || byte == 0x7f || (n == 2 && byte == 0xc2 && static_cast<unsigned char>(raw[i + 1]) < 0xa0);
    if (n == 0) {
      append_byte(out, byte);
      ++i;
    } else if (controls && control) {
      for (std::size_t k = 0; k < n; ++k) append_byte(out, static_cast<unsigned char>(raw[i + k]));
      i += n;
    } else {
      out.append(raw.substr(i, n));
      i += n;
    }
  }
  return out;
}

std::string shell_quote(std::string_view arg) {
  bool safe = !arg.empty();
  for (const char c : arg) safe = safe && is_shell_safe(c);
  if (safe) return std::string(arg);
  std::string out = "'";
  for (const char c : arg) {
    if (c == '\'') {
      out.append("'\\''");
    } else {
      out.push_back(c);
    }
  }
  out.push_back('\'');
  return out;
}

std::string_view trim(std::string_view s) noexcept {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t found = s.find(at);
    out.push_back(s.substr(0, found));
    if (found == std::string_view::npos) return out;
    s.remove_prefix(found + 1);
  }
}

bool has_surrounding_space(std::string_view s) noexcept { return !s.empty() && (is_space(s.front()) || is_space(s.back())); }

bool star_match(std::string_view pattern, std::string_view word) noexcept {
  std::size_t p = 0, w = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (w < word.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = w;
    } else if (p < pattern.size() && pattern[p] == word[w]) {
      ++p;
      ++w;
    } else if (star != std::string_view::npos) {
      p = star + 1;  // only the last star ever needs to take more
      w = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

// The index after the escape sequence that starts at `i` (an ESC), or npos when it does not end.
std::size_t sequence_end(std::string_view raw, std::size_t i) noexcept {
  const std::size_t n = raw.size();
  if (i + 1 >= n) return n;
  const char kind = raw[i + 1];
  i += 2;
  if (kind == '[') {  // CSI: parameters and intermediates, then one final byte
    while (i < n && raw[i] >= 0x20 && raw[i] <= 0x3f) ++i;
    return i < n && raw[i] >= 0x40 && raw[i] <= 0x7e ? i + 1 : i;
  }
  if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {  // a string up to BEL or ST
    while (i < n && raw[i] != '\a' && raw[i] != '\x1b') ++i;
    if (i < n && raw[i] == '\a') return i + 1;
    return i + 1 < n && raw[i + 1] == '\\' ? i + 2 : i;
  }
  if (kind >= 0x20 && kind <= 0x2f) {  // intermediates, then one final byte
    while (i < n && raw[i] >= 0x20 && raw[i] <= 0x2f) ++i;
    return i < n && raw[i] >= 0x30 && raw[i] <= 0x7e ? i + 1 : i;
  }
  return kind >= 0x30 && kind <= 0x7e ? i : i - 1;  // two bytes, or a lone ESC
}

}  // namespace

std::string strip_escapes(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    const std::size_t esc = std::min(raw.find('\x1b', i), raw.size());
    out.append(raw.substr(i, esc - i));
    i = esc < raw.size() ? sequence_end(raw, esc) : esc;
  }
  return out;
}

}  // namespace vx::text
