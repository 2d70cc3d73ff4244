#include <locale.h>
#include <stdlib.h>
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // strtod_l on macOS
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/json.hpp"
#include "base/text.hpp"

#include <rapidjson/error/error.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace vx::json {
namespace {

namespace rj = rapidjson;

// The nearest double whatever the host's locale says about decimal points; infinity beyond the range, 0 below it.
double to_double(const char* text) noexcept {
  const locale_t plain = ::newlocale(LC_ALL_MASK, "C", locale_t{});
  const double d = ::strtod_l(text, nullptr, plain);
  ::freelocale(plain);
  return d;
}

// Builds the document from parser events. The parser reports the end of each token; its start is found by walking
// forward from the end of the one before over white space, separators and comments, which costs one pass in all.
class builder {
 public:
  /// `in` reads `text` from `skip` on.
  builder(std::string_view text, std::size_t skip, rj::MemoryStream& in, const parse_options& options)
      : text_(text), in_(in), options_(options), skip_(skip), last_end_(skip) {}

  bool Null() { return scalar(value()); }
  bool Bool(bool b) { return scalar(value(b)); }
  // Numbers arrive as text: RapidJSON's own conversion reads "0e40" by counting the leading zeros of zero.
  bool RawNumber(const char* s, rj::SizeType n, bool) {
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(s, s + n, whole);
    if (error == std::errc() && end == s + n) return scalar(value(whole));
    const double d = to_double(s);
    if (std::isinf(d)) return refuse("a number beyond what a double holds", static_cast<std::uint32_t>(next_token()));
    return scalar(value(d));
  }
  bool Int(int) { return false; }  // never called: see k_strict
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  bool String(const char* s, rj::SizeType n, bool) {
    const std::uint32_t at = token_start();
    if (!whole_characters({s, n}, at)) return false;
    return put(value(std::string(s, n)), at);
  }

  bool Key(const char* s, rj::SizeType n, bool) {
    const std::uint32_t at = token_start();
    if (!whole_characters({s, n}, at)) return false;
    stack_.back().key.assign(s, n);
    stack_.back().key_at = at;
    return true;
  }

  bool StartObject() { return open(value(object())); }
  bool StartArray() { return open(value(array())); }
  bool EndArray(rj::SizeType) { return close(); }
  bool EndObject(rj::SizeType) {
    if (!check_duplicates(stack_.back())) return false;
    return close();
  }

  value take() { return std::move(root_); }
  bool failed() const noexcept { return !error_.message.empty(); }
  parse_error take_error() { return std::move(error_); }
  /// Where a token that could not be read begins.
  std::size_t pending_token() const { return next_token(); }

 private:
  struct frame {
    value container;
    std::vector<member> members;  // of an object under construction
    std::string key;
    std::uint32_t key_at = 0;
  };

  std::size_t tell() const { return skip_ + in_.Tell(); }

  // The first token after the last one seen.
  std::size_t next_token() const {
    std::size_t i = last_end_;
    while (i < text_.size()) {
      const char c = text_[i];
      if (c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',' || c == ':') {
        ++i;
      } else if (c != '/' || !options_.comments || i + 1 >= text_.size()) {
        break;
      } else if (text_[i + 1] == '/') {
        i = std::min(text_.find('\n', i), text_.size());
      } else if (text_[i + 1] == '*') {
        const std::size_t end = text_.find("*/", i + 2);
        i = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        break;
      }
    }
    return i;
  }

  // Offset of the scalar or name that just ended; remembers its end.
  std::uint32_t token_start() {
    const std::size_t at = next_token();
    last_end_ = tell();
    return static_cast<std::uint32_t>(at);
  }

  // Offset of a bracket; the parser reports it before or after taking it.
  std::uint32_t bracket() {
    const std::size_t at = next_token();
    last_end_ = at + 1;
    return static_cast<std::uint32_t>(at);
  }

  bool scalar(value v) {
    const std::uint32_t at = token_start();
    return put(std::move(v), at);
  }

  bool put(value v, std::uint32_t at) {
    v.at = at;
    if (stack_.empty()) {
      root_ = std::move(v);
    } else if (frame& top = stack_.back(); top.container.is_array()) {
      top.container.as_array().push_back(std::move(v));
    } else {
      top.members.push_back({std::move(top.key), std::move(v), top.key_at});
      top.key.clear();
    }
    return true;
  }

  bool open(value container) {
    container.at = bracket();
    if (stack_.size() >= options_.max_depth) {
      return refuse("nested deeper than " + std::to_string(options_.max_depth) + " levels", container.at);
    }
    stack_.push_back({std::move(container), {}, {}, 0});
    return true;
  }

  bool close() {
    bracket();
    frame done = std::move(stack_.back());
    stack_.pop_back();
    if (done.container.is_object()) done.container.as_object().adopt(std::move(done.members));
    const std::uint32_t at = done.container.at;
    return put(std::move(done.container), at);
  }

  // An escaped surrogate without its partner was encoded as if it were a character: ED A0..BF.
  bool whole_characters(std::string_view s, std::uint32_t at) {
    for (std::size_t i = s.find('\xed'); i != std::string_view::npos; i = s.find('\xed', i + 1)) {
      if (i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) >= 0xa0) return refuse("lone surrogate", at);
    }
    return true;
  }

  bool check_duplicates(frame& f) {
    std::vector<std::uint32_t> order(f.members.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int c = f.members[a].name.compare(f.members[b].name);
      return c != 0 ? c < 0 : a < b;
    });
    std::size_t first = 0, second = f.members.size();  // the earliest repetition
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (f.members[order[i]].name != f.members[order[i - 1]].name) continue;
      if (!options_.refuse_duplicates) return keep_last(f, order);
      if (order[i] < second) {
        first = order[i - 1];
        second = order[i];
      }
    }
    if (second == f.members.size()) return true;
    const position at = locate(text_, f.members[first].at);
    return refuse("duplicate key \"" + text::escape(f.members[first].name, true) + "\" (first at " + std::to_string(at.line) +
                      ":" + std::to_string(at.column) + ")",
                  f.members[second].at);
  }

  // JavaScript's way: the first member's place, the last one's value.
  static bool keep_last(frame& f, const std::vector<std::uint32_t>& order) {
    std::vector<bool> drop(f.members.size());
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i + 1;
      while (end < order.size() && f.members[order[end]].name == f.members[order[i]].name) drop[order[end++]] = true;
      if (end - i > 1) f.members[order[i]].val = std::move(f.members[order[end - 1]].val);
      i = end;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < f.members.size(); ++i) {
      if (drop[i]) continue;
      if (kept != i) f.members[kept] = std::move(f.members[i]);
      ++kept;
    }
    f.members.resize(kept);
    return true;
  }

  bool refuse(std::string message, std::uint32_t at) {
    error_ = {std::move(message), at};
    return false;
  }

  std::string_view text_;
  rj::MemoryStream& in_;
  const parse_options& options_;
  std::vector<frame> stack_;
  value root_;
  std::size_t skip_, last_end_;
  parse_error error_;
};

const char* explain(rj::ParseErrorCode code) noexcept {
  switch (code) {
    case rj::kParseErrorDocumentEmpty: return "the document is empty";
    case rj::kParseErrorDocumentRootNotSingular: return "text after the end of the document";
    case rj::kParseErrorValueInvalid: return "expected a value";
    case rj::kParseErrorObjectMissName: return "expected a member name in double quotes";
    case rj::kParseErrorObjectMissColon: return "expected ':' after the member name";
    case rj::kParseErrorObjectMissCommaOrCurlyBracket: return "expected ',' or '}'";
    case rj::kParseErrorArrayMissCommaOrSquareBracket: return "expected ',' or ']'";
    case rj::kParseErrorStringUnicodeEscapeInvalidHex: return "expected four hexadecimal digits after \\u";
    case rj::kParseErrorStringUnicodeSurrogateInvalid: return "lone surrogate";
    case rj::kParseErrorStringEscapeInvalid: return "no such escape, or a raw control character in a string";
    case rj::kParseErrorStringMissQuotationMark: return "a string without an end";
    case rj::kParseErrorStringInvalidEncoding: return "not UTF-8";
    case rj::kParseErrorNumberTooBig: return "a number beyond what a double holds";
    case rj::kParseErrorNumberMissFraction: return "expected a digit after the decimal point";
    case rj::kParseErrorNumberMissExponent: return "expected a digit in the exponent";
    default: return "a syntax error";
  }
}

constexpr std::string_view k_mark = "\xef\xbb\xbf";  // byte-order mark

constexpr unsigned k_strict = rj::kParseNumbersAsStringsFlag | rj::kParseValidateEncodingFlag | rj::kParseIterativeFlag;
constexpr unsigned k_relaxed = k_strict | rj::kParseCommentsFlag | rj::kParseTrailingCommasFlag;

// Of a token that is wrong as a whole, its beginning; else where the parser stopped.
std::size_t place(const rj::ParseResult& outcome, const builder& handler, std::size_t skip, std::size_t size) {
  const bool whole = outcome.Code() == rj::kParseErrorStringMissQuotationMark || outcome.Code() == rj::kParseErrorValueInvalid;
  const std::size_t stopped = std::min(skip + outcome.Offset(), size);
  return whole ? std::min(handler.pending_token(), stopped) : stopped;
}

}  // namespace

tl::expected<value, parse_error> parse(std::string_view text, const parse_options& options) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) return tl::unexpected(parse_error{"more than 4 GiB", 0});
  const std::size_t skip = options.comments && text.starts_with(k_mark) ? k_mark.size() : 0;
  const std::string_view body = text.substr(skip);
  rj::MemoryStream in(body.data(), body.size());
  rj::Reader reader;
  builder handler(text, skip, in, options);
  const rj::ParseResult outcome = options.comments ? reader.Parse<k_relaxed>(in, handler) : reader.Parse<k_strict>(in, handler);
  if (handler.failed()) return tl::unexpected(handler.take_error());
  if (outcome.IsError()) {
    return tl::unexpected(
        parse_error{explain(outcome.Code()), static_cast<std::uint32_t>(place(outcome, handler, skip, text.size()))});
  }
  if (in.Tell() < body.size()) {  // the parser takes a NUL for the end
    return tl::unexpected(parse_error{"a NUL byte", static_cast<std::uint32_t>(skip + in.Tell())});
  }
  return handler.take();
}

position locate(std::string_view text, std::uint32_t offset) noexcept {
  const std::string_view before = text.substr(0, std::min<std::size_t>(offset, text.size()));
  position out;
  out.line += static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  const std::size_t mark = before.starts_with(k_mark) ? k_mark.size() : 0;  // has no width
  out.column +=
      static_cast<std::uint32_t>(newline == std::string_view::npos ? before.size() - mark : before.size() - newline - 1);
  return out;
}

}  // namespace vx::json
