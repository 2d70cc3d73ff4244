#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.hpp"
#include "base/text.hpp"

namespace vx::json {
namespace {

constexpr std::string_view k_hex = "0123456789abcdef";

void append_unicode(std::string& out, unsigned char c) {
  out.append("\\u00");
  out.push_back(k_hex[c >> 4]);
  out.push_back(k_hex[c & 15]);
}

// The short escape of a control character, or 0.
char short_escape(char c) noexcept {
  switch (c) {
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
  }
}

enum class style { compact, pretty, canonical };

void append_string(std::string& out, std::string_view s, bool canonical) {
  out.push_back('"');
  std::size_t start = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out.append(s.substr(start, i - start));
    start = i + 1;
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (const char letter = short_escape(c); letter != 0 && !canonical) {
      out.push_back('\\');
      out.push_back(letter);
    } else {
      append_unicode(out, static_cast<unsigned char>(c));
    }
  }
  out.append(s.substr(start));
  out.push_back('"');
}

// Whole numbers in plain decimal, others in the shortest form that reads back equal. The same value is the same
// text whether it was written 1e5, 100000.0 or 100000. JSON has no NaN and no infinity: null.
void append_double(std::string& out, double d) {
  if (!std::isfinite(d)) {
    out.append("null");
    return;
  }
  if (d == 0) {
    out.push_back('0');  // -0 as well
    return;
  }
  char buffer[400];
  if (std::trunc(d) == d) {
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr;
    out.append(buffer, end);
    return;
  }
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d).ptr;
  const std::string_view shortest(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t exponent = shortest.find("e-0");  // to_chars pads the exponent to two digits
  if (exponent == std::string_view::npos) {
    out.append(shortest);
  } else {
    out.append(shortest.substr(0, exponent + 2)).append(shortest.substr(exponent + 3));
  }
}

void append_int(std::string& out, std::int64_t i) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, i).ptr;
  out.append(buffer, end);
}

class writer {
 public:
  writer(std::string& out, style how) : out_(out), how_(how) {}

  void put(const value& v) {
    switch (v.type()) {
      case type::null: out_.append("null"); return;
      case type::boolean: out_.append(v.as_bool() ? "true" : "false"); return;
      case type::integer: return append_int(out_, v.as_int());
      case type::number: return append_double(out_, v.as_double());
      case type::string: return put_string(v.as_string());
      case type::array: return put_array(v.as_array());
      case type::object: return put_object(v.as_object());
    }
  }

 private:
  void put_string(std::string_view s) {
    if (how_ == style::canonical) return append_string(out_, s, true);
    write_string(out_, s);
  }

  void line() {
    if (how_ != style::pretty) return;
    out_.push_back('\n');
    out_.append(2 * depth_, ' ');
  }

  void put_array(const array& items) {
    if (items.empty()) {
      out_.append("[]");
      return;
    }
    out_.push_back('[');
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_.push_back(',');
      line();
      put(items[i]);
    }
    --depth_;
    line();
    out_.push_back(']');
  }

  void put_object(const object& members) {
    if (members.empty()) {
      out_.append("{}");
      return;
    }
    std::vector<const member*> order;
    order.reserve(members.size());
    for (const member& m : members) order.push_back(&m);
    if (how_ == style::canonical) {
      std::stable_sort(order.begin(), order.end(), [](const member* a, const member* b) { return a->name < b->name; });
    }
    out_.push_back('{');
    ++depth_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i != 0) out_.push_back(',');
      line();
      put_string(order[i]->name);
      out_.append(how_ == style::pretty ? ": " : ":");
      put(order[i]->val);
    }
    --depth_;
    line();
    out_.push_back('}');
  }

  std::string& out_;
  style how_;
  std::size_t depth_ = 0;
};

std::string write_as(const value& v, style how) {
  std::string out;
  writer(out, how).put(v);
  return out;
}

}  // namespace

void write_string(std::string& out, std::string_view s) {
  bool ascii = true;
  for (const char c : s) ascii = ascii && static_cast<unsigned char>(c) < 0x80;
  if (ascii || text::is_utf8(s)) return append_string(out, s, false);
  append_string(out, text::escape(s), false);
}

std::string write(const value& v) { return write_as(v, style::compact); }
void write_to(std::string& out, const value& v) { writer(out, style::compact).put(v); }
std::string write_pretty(const value& v) { return write_as(v, style::pretty); }
std::string write_canonical(const value& v) { return write_as(v, style::canonical); }

}  // namespace vx::json
