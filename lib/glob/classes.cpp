#include "glob/classes.hpp"

#include <array>
#include <cstdint>

#include "glob/segments.hpp"
#include "glob/syntax.hpp"

namespace vx::glob::detail {

namespace {

constexpr std::size_t k_none = std::string_view::npos;

/// A character (or byte) and how many bytes it takes.
struct unit {
  std::uint32_t code;
  std::size_t size;
};

unit read_unit(std::string_view text, std::size_t at, const class_rules& rules) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::size_t n = rules.characters ? unit_at(text, at) : 1;
  switch (n) {
    case 2: return {(byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
    case 3: return {(byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU), 3};
    case 4: return {(byte(0) & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU), 4};
    default: return {byte(0), 1};
  }
}

bool between(std::uint32_t c, char low, char high) noexcept {
  return c >= static_cast<unsigned char>(low) && c <= static_cast<unsigned char>(high);
}
bool is_alpha(std::uint32_t c) noexcept { return between(c, 'a', 'z') || between(c, 'A', 'Z'); }
bool is_digit(std::uint32_t c) noexcept { return between(c, '0', '9'); }
bool is_graph(std::uint32_t c) noexcept { return c > 0x20 && c < 0x7F; }

/// Named ASCII classes; nullptr when there is no such name.
using class_test = bool (*)(std::uint32_t);
class_test named_class(std::string_view name) noexcept {
  struct row {
    std::string_view name;
    class_test test;
  };
  static constexpr std::array k_rows = {
      row{"alnum", [](std::uint32_t c) { return is_alpha(c) || is_digit(c); }},
      row{"alpha", is_alpha},
      row{"blank", [](std::uint32_t c) { return c == ' ' || c == '\t'; }},
      row{"cntrl", [](std::uint32_t c) { return c < 0x20 || c == 0x7F; }},
      row{"digit", is_digit},
      row{"graph", is_graph},
      row{"lower", [](std::uint32_t c) { return between(c, 'a', 'z'); }},
      row{"print", [](std::uint32_t c) { return c == ' ' || is_graph(c); }},
      row{"punct", [](std::uint32_t c) { return is_graph(c) && !is_alpha(c) && !is_digit(c); }},
      row{"space", [](std::uint32_t c) { return c == ' ' || between(c, '\t', '\r'); }},
      row{"upper", [](std::uint32_t c) { return between(c, 'A', 'Z'); }},
      row{"xdigit", [](std::uint32_t c) { return is_digit(c) || between(c, 'a', 'f') || between(c, 'A', 'F'); }},
  };
  for (const row& r : k_rows) {
    if (r.name == name) return r.test;
  }
  return nullptr;
}

/// Reads the class at pattern[at] == '['. `end` is one past its ']' or k_none when it is malformed.
struct class_answer {
  bool matched;
  std::size_t end;
};
class_answer match_class(std::string_view pattern, std::size_t at, std::uint32_t c, const class_rules& rules) noexcept {
  std::size_t p = at + 1;
  const bool negated = p < pattern.size() && (pattern[p] == '!' || pattern[p] == '^');
  if (negated) ++p;
  bool matched = false;
  bool have_low = false;  // `low` may begin a range
  std::uint32_t low = 0;
  for (bool first = true;; first = false) {
    if (p >= pattern.size()) return {false, k_none};
    if (pattern[p] == ']' && !first) return {matched != negated, p + 1};
    if (pattern[p] == '-' && have_low && p + 1 < pattern.size() && pattern[p + 1] != ']') {
      ++p;
      if (pattern[p] == '\\' && ++p >= pattern.size()) return {false, k_none};
      const unit high = read_unit(pattern, p, rules);
      matched = matched || (c >= low && c <= high.code);
      have_low = false;
      p += high.size;
      continue;
    }
    if (pattern[p] == '[' && p + 1 < pattern.size() && pattern[p + 1] == ':') {
      const std::size_t close = pattern.find(']', p + 2);
      if (close == k_none) return {false, k_none};
      if (close > p + 2 && pattern[close - 1] == ':') {
        const class_test test = named_class(pattern.substr(p + 2, close - p - 3));
        if (test == nullptr) return {false, k_none};
        matched = matched || test(c);
        have_low = false;
        p = close + 1;
        continue;
      }
    }
    if (pattern[p] == '\\' && ++p >= pattern.size()) return {false, k_none};
    const unit u = read_unit(pattern, p, rules);
    matched = matched || u.code == c;
    low = u.code;
    have_low = true;
    p += u.size;
  }
}

bool is_globstar(std::string_view segment) noexcept { return segment.size() >= 2 && segment.find_first_not_of('*') == k_none; }
bool starts_wild(std::string_view segment) noexcept {
  return !segment.empty() && std::string_view("*?[").find(segment[0]) != k_none;
}

/// Segments no globstar passes through in the member dialect.
bool passable(std::string_view name, const class_rules& rules) noexcept { return rules.wild_dots || !name.starts_with('.'); }

}  // namespace

bool class_match(std::string_view pattern, std::string_view name, const class_rules& rules) noexcept {
  if (!rules.wild_dots && name.starts_with('.') && starts_wild(pattern)) return false;
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = k_none;
  std::size_t mark = 0;
  while (n < name.size()) {
    bool advanced = false;
    if (p < pattern.size()) {
      const char c = pattern[p];
      if (c == '*') {
        star = ++p;
        mark = n;
        continue;
      }
      const unit u = read_unit(name, n, rules);
      if (c == '?') {
        ++p;
        n += u.size;
        advanced = true;
      } else if (c == '[') {
        const class_answer a = match_class(pattern, p, u.code, rules);
        if (a.end == k_none && !rules.open_is_literal) return false;
        if (a.end == k_none ? name[n] == '[' : a.matched) {
          p = a.end == k_none ? p + 1 : a.end;
          n += u.size;
          advanced = true;
        }
      } else {
        const bool escaped = c == '\\';
        if (escaped && p + 1 == pattern.size()) return false;
        if (pattern[p + (escaped ? 1 : 0)] == name[n]) {
          p += escaped ? 2 : 1;
          ++n;
          advanced = true;
        }
      }
    }
    if (advanced) continue;
    if (star == k_none) return false;
    p = star;
    mark += read_unit(name, mark, rules).size;
    n = mark;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view take_pattern_segment(std::string_view& pattern, const class_rules& rules) noexcept {
  std::size_t i = 0;
  while (i < pattern.size() && pattern[i] != '/') {
    if (pattern[i] == '\\') {
      i += 2;
    } else if (pattern[i] == '[') {
      const std::size_t end = match_class(pattern, i, 0, rules).end;
      i = end == k_none ? i + 1 : end;
    } else {
      ++i;
    }
  }
  if (i >= pattern.size()) return std::exchange(pattern, std::string_view{});
  const std::string_view head = pattern.substr(0, i);
  pattern = pattern.substr(i + 1);
  return head;
}

bool class_path_match(std::string_view pattern, std::string_view path, const class_rules& rules) noexcept {
  std::string_view p = pattern;
  std::string_view rest = path;
  bool starred = false;
  std::string_view resume_pattern;  // after the last globstar
  std::string_view resume_path;     // what that globstar has not taken
  for (;;) {
    std::string_view next = p;
    const std::string_view segment = p.empty() ? std::string_view{} : take_pattern_segment(next, rules);
    if (is_globstar(segment)) {
      if (next.empty() && rules.last_takes_one && rest.empty()) {
        return false;  // nothing is left here, and earlier globstars would only have taken more
      }
      if (next.empty() && rules.wild_dots) return true;
      starred = true;
      p = resume_pattern = next;
      resume_path = rest;
      continue;
    }
    if (p.empty() && rest.empty()) return true;
    std::string_view after = rest;
    if (!p.empty() && !rest.empty() && class_match(segment, take_front(after), rules)) {
      p = next;
      rest = after;
      continue;
    }
    if (!starred || resume_path.empty() || !passable(take_front(resume_path), rules)) return false;
    p = resume_pattern;
    rest = resume_path;
  }
}

bool class_may_match_below(std::string_view pattern, std::string_view dir, const class_rules& rules) noexcept {
  std::string_view p = pattern;
  std::string_view rest = dir;
  while (!rest.empty()) {
    if (p.empty()) return false;
    const std::string_view segment = take_pattern_segment(p, rules);
    const std::string_view name = take_front(rest);
    if (is_globstar(segment)) {
      // Conservative: a hidden directory may still be named by what follows the globstar.
      return true;
    }
    if (!class_match(segment, name, rules)) return false;
  }
  return true;
}

}  // namespace vx::glob::detail
