// ECMAScript regular expressions (no flags, with the web's lenient corners) into RE2's syntax. Everything that RE2 would read
// differently is spelled out; what no linear-time matcher can do is refused by name.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "exec/ready.hpp"

namespace vx::exec {
namespace {

constexpr std::uint32_t k_last = 0x10FFFF;
constexpr std::uint32_t k_max_repeat = 1000;  // RE2's bound on counted repetition

// Members of the class escapes as they stand inside brackets. \s is ECMAScript's: white space and line terminators of Unicode.
constexpr std::string_view k_digit = "0-9";
constexpr std::string_view k_not_digit = "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}";
constexpr std::string_view k_word = "0-9A-Za-z_";
constexpr std::string_view k_not_word = "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}";
constexpr std::string_view k_space =
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
constexpr std::string_view k_not_space =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"
    "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";

std::string_view class_members(char letter) {
  switch (letter) {
    case 'd': return k_digit;
    case 'D': return k_not_digit;
    case 'w': return k_word;
    case 'W': return k_not_word;
    case 's': return k_space;
    case 'S': return k_not_space;
    default: return {};
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// One member of a bracketed class, or one escape outside of it.
struct atom {
  std::uint32_t code = 0;
  std::string_view members;  // not empty: a class escape instead of a character
};

class translator {
 public:
  explicit translator(std::string_view pattern) : in_(pattern) {}

  result<std::string> run() {
    if (!text::is_utf8(in_)) return fail(errc::INVALID, "the pattern is not valid UTF-8");
    while (at_ < in_.size()) VX_TRY(term());
    if (!groups_.empty()) return wrong("missing )", groups_.back());
    return std::move(out_);
  }

 private:
  using failed = tl::unexpected<failure>;

  failed wrong(std::string_view what, std::size_t at) const {
    return fail(errc::INVALID, fmt::format("invalid regular expression: {} at offset {}", what, at));
  }
  failed unsupported(std::string_view what, std::string_view spelling, std::size_t at) const {
    return fail(errc::INVALID,
                fmt::format("{} {} at offset {} is not supported: the pattern is matched in linear time", what, spelling, at));
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool ahead(std::string_view word) const { return in_.substr(at_).starts_with(word); }

  void emit(std::uint32_t code) {
    if (code < 0x80 && (is_digit(static_cast<char>(code)) || is_letter(static_cast<char>(code)))) {
      out_ += static_cast<char>(code);
    } else {
      out_ += fmt::format("\\x{{{:x}}}", code);
    }
  }

  status term() {
    switch (peek()) {
      case '(': return group();
      case ')':
        if (groups_.empty()) return wrong("unmatched )", at_);
        groups_.pop_back();
        copy(1, true);
        return {};
      case '|': copy(1, false); return {};
      case '^':
      case '$': copy(1, false); return {};
      case '.':
        out_ += "[^\\n\\r\\x{2028}\\x{2029}]";
        ++at_;
        repeatable_ = true;
        return {};
      case '[': return bracketed();
      case '\\': return escape();
      case '*':
      case '+':
      case '?': return quantifier(std::string(1, peek()), 1);
      case '{': return braces();
      default:
        emit(character());
        repeatable_ = true;
        return {};
    }
  }

  void copy(std::size_t n, bool repeatable) {
    out_ += in_.substr(at_, n);
    at_ += n;
    repeatable_ = repeatable;
  }

  status group() {
    const std::size_t start = at_;
    if (ahead("(?=") || ahead("(?!")) return unsupported("look-ahead", in_.substr(at_, 3), at_);
    if (ahead("(?<=") || ahead("(?<!")) return unsupported("look-behind", in_.substr(at_, 4), at_);
    if (ahead("(?<")) {
      at_ += 3;
      VX_TRY(group_name(start));
    } else if (ahead("(?:")) {
      at_ += 3;
    } else if (ahead("(?")) {
      return wrong("invalid group", at_);
    } else {
      ++at_;
    }
    out_ += "(?:";
    groups_.push_back(start);
    repeatable_ = false;
    return {};
  }

  status group_name(std::size_t start) {
    const std::size_t close = in_.find('>', at_);
    const std::string_view name = in_.substr(at_, close == std::string_view::npos ? 0 : close - at_);
    const auto fits = [](char c) {
      return is_letter(c) || is_digit(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
    };
    if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), fits))
      return wrong("invalid group name", start);
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return wrong("duplicate group name", start);
    names_.push_back(name);
    at_ = close + 1;
    return {};
  }

  status quantifier(std::string spelling, std::size_t length) {
    if (!repeatable_) return wrong("nothing to repeat", at_);
    at_ += length;
    out_ += spelling;
    if (peek() == '?') copy(1, false);
    repeatable_ = false;
    return {};
  }

  /// {n}, {n,}, {n,m}; any other brace is a plain character.
  status braces() {
    const std::size_t start = at_;
    const std::size_t close = in_.find('}', at_);
    const std::string_view body = in_.substr(at_ + 1, close == std::string_view::npos ? 0 : close - at_ - 1);
    const std::size_t comma = body.find(',');
    const std::string_view low = body.substr(0, comma);
    const std::string_view high = comma == std::string_view::npos ? low : body.substr(comma + 1);
    const auto digits = [](std::string_view s) { return std::all_of(s.begin(), s.end(), is_digit); };
    if (low.empty() || !digits(low) || !digits(high)) {
      emit(static_cast<unsigned char>(peek()));
      ++at_;
      repeatable_ = true;
      return {};
    }
    const auto number = [](std::string_view s) { return text::parse_uint(s).value_or(std::uint64_t{1} << 62); };
    if (!high.empty() && number(high) < number(low)) return wrong("numbers out of order in {}", start);
    if (number(low) > k_max_repeat || (!high.empty() && number(high) > k_max_repeat)) {
      return fail(errc::INVALID,
                  fmt::format("a repetition of more than {} at offset {} is not supported: the pattern is matched in "
                              "linear time",
                              k_max_repeat, start));
    }
    std::string spelling = fmt::format("{{{}", number(low));
    if (comma != std::string_view::npos) spelling += ',';
    if (comma != std::string_view::npos && !high.empty()) spelling += fmt::format("{}", number(high));
    return quantifier(spelling + '}', close + 1 - at_);
  }

  /// The code point at hand; the pattern is valid UTF-8.
  std::uint32_t character() {
    const auto lead = static_cast<unsigned char>(in_[at_]);
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    std::uint32_t code = more == 0 ? lead : lead & (0x3FU >> more);
    ++at_;
    for (int i = 0; i < more; ++i, ++at_) code = (code << 6) | (static_cast<unsigned char>(in_[at_]) & 0x3FU);
    return code;
  }

  std::optional<std::uint32_t> hex(std::size_t from, std::size_t n) const {
    if (from + n > in_.size()) return std::nullopt;
    std::uint32_t code = 0;
    for (const char c : in_.substr(from, n)) {
      const int value = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (value < 0) return std::nullopt;
      code = code * 16 + static_cast<std::uint32_t>(value);
    }
    return code;
  }

  status escape() {
    const std::size_t start = at_;
    const char c = peek(1);
    if (c == 'b' || c == 'B') {
      copy(2, false);
      return {};
    }
    if (c >= '1' && c <= '9') {
      std::size_t n = 2;
      while (is_digit(peek(n))) ++n;
      return unsupported("the back-reference", in_.substr(start, n), start);
    }
    if (c == 'k') return unsupported("the back-reference", "\\k", start);
    VX_TRY_LET(const atom one, escaped_atom());
    if (one.members.empty()) {
      emit(one.code);
    } else {
      out_ += '[';
      out_ += one.members;
      out_ += ']';
    }
    repeatable_ = true;
    return {};
  }

  /// An escape that stands for a character or a class, in brackets or outside.
  result<atom> escaped_atom() {
    const std::size_t start = at_;
    ++at_;
    if (at_ >= in_.size()) return wrong("\\ at the end of the pattern", start);
    const char c = peek();
    if (const std::string_view members = class_members(c); !members.empty()) {
      ++at_;
      return atom{0, members};
    }
    switch (c) {
      case 't': ++at_; return atom{'\t', {}};
      case 'n': ++at_; return atom{'\n', {}};
      case 'v': ++at_; return atom{'\v', {}};
      case 'f': ++at_; return atom{'\f', {}};
      case 'r': ++at_; return atom{'\r', {}};
      case 'c': return control_escape();
      case 'x':
      case 'u': return code_escape(start);
      case 'p':
      case 'P':
        if (peek(1) != '{') break;
        return unsupported_flag(c, start);
      default: break;
    }
    if (c >= '0' && c <= '7') return octal_escape();
    return atom{character(), {}};
  }

  /// \cX is a control character; otherwise the backslash itself is meant.
  result<atom> control_escape() {
    if (!is_letter(peek(1))) return atom{'\\', {}};
    const auto code = static_cast<std::uint32_t>(peek(1)) & 0x1FU;
    at_ += 2;
    return atom{code, {}};
  }

  result<atom> code_escape(std::size_t start) {
    const char c = peek();
    if (c == 'u' && peek(1) == '{') return unsupported_flag(c, start);
    const std::size_t digits = c == 'x' ? 2 : 4;
    std::optional<std::uint32_t> code = hex(at_ + 1, digits);
    if (!code) return atom{character(), {}};
    at_ += 1 + digits;
    if (*code >= 0xD800 && *code <= 0xDBFF && ahead("\\u")) {
      const std::optional<std::uint32_t> low = hex(at_ + 2, 4);
      if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
        at_ += 6;
        return atom{0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00), {}};
      }
    }
    if (*code >= 0xD800 && *code <= 0xDFFF) return wrong("half of a surrogate pair", start);
    return atom{*code, {}};
  }

  result<atom> octal_escape() {
    std::uint32_t code = 0;
    for (int i = 0; i < 3 && peek() >= '0' && peek() <= '7' && code * 8 + static_cast<std::uint32_t>(peek() - '0') <= 0xFF;
         ++i, ++at_) {
      code = code * 8 + static_cast<std::uint32_t>(peek() - '0');
    }
    return atom{code, {}};
  }

  failed unsupported_flag(char letter, std::size_t at) const {
    return fail(errc::INVALID,
                fmt::format("\\{}{{...}} at offset {} needs the flag u, and the pattern has no flags", letter, at));
  }

  result<atom> class_atom() {
    if (peek() != '\\') return atom{character(), {}};
    if (peek(1) == 'b') {
      at_ += 2;
      return atom{'\b', {}};
    }
    return escaped_atom();
  }

  status bracketed() {
    const std::size_t start = at_;
    ++at_;
    const bool negated = peek() == '^';
    if (negated) ++at_;
    std::string body;
    std::swap(body, out_);
    while (at_ < in_.size() && peek() != ']') {
      const std::size_t from = at_;
      VX_TRY_LET(const atom low, class_atom());
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= in_.size()) {
        member(low);
        continue;
      }
      ++at_;
      VX_TRY_LET(const atom high, class_atom());
      if (!low.members.empty() || !high.members.empty()) {  // no range: the hyphen is itself
        member(low);
        emit('-');
        member(high);
        continue;
      }
      if (high.code < low.code) return wrong("range out of order in class", from);
      emit(low.code);
      out_ += '-';
      emit(high.code);
    }
    if (at_ >= in_.size()) return wrong("missing ]", start);
    ++at_;
    std::swap(body, out_);
    // [] matches nothing and [^] anything; RE2 would read the bracket after it as a member.
    const bool complement = negated != body.empty();
    if (body.empty()) body = fmt::format("\\x{{0}}-\\x{{{:x}}}", k_last);
    out_ += complement ? "[^" : "[";
    out_ += body;
    out_ += ']';
    repeatable_ = true;
    return {};
  }

  void member(const atom& one) {
    if (one.members.empty()) {
      emit(one.code);
    } else {
      out_ += one.members;
    }
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  bool repeatable_ = false;          // a quantifier may follow
  std::vector<std::size_t> groups_;  // offsets of the open ones
  std::vector<std::string_view> names_;
};

}  // namespace

result<std::string> translate_ecmascript(std::string_view pattern) { return translator(pattern).run(); }

}  // namespace vx::exec
