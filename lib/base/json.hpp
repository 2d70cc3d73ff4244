// An ordered JSON document value with source positions, a strict and a JSONC parser, and writers.
// The only JSON type that crosses module borders; parsing is RapidJSON's, kept in the .cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace vx::json {

enum class type : std::uint8_t { null, boolean, integer, number, string, array, object };

class value;
using array = std::vector<value>;

struct member;

/// Members in source order. Lookup is linear: configs are small; documents are built, not searched.
class object {
 public:
  object() noexcept;  // out of line, all of them: a member is complete only below
  object(const object&);
  object(object&&) noexcept;
  object& operator=(const object&);
  object& operator=(object&&) noexcept;
  ~object();
  value& set(std::string name, value v);  ///< replaces an existing member
  value& add(std::string name, value v);  ///< appends without looking
  const value* find(std::string_view name) const noexcept;
  value* find(std::string_view name) noexcept;
  bool erase(std::string_view name);
  void adopt(std::vector<member> members) noexcept;  ///< takes all members; names must differ
  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  std::vector<member>::const_iterator begin() const noexcept;
  std::vector<member>::const_iterator end() const noexcept;
  std::vector<member>::iterator begin() noexcept;
  std::vector<member>::iterator end() noexcept;

 private:
  std::vector<member> members_;
};

class value {
 public:
  value() noexcept = default;  // null
  value(std::nullptr_t) noexcept {}
  value(bool b) noexcept : data_(b) {}
  template <class I>
  requires(std::is_integral_v<I> && !std::is_same_v<I, bool>) value(I i)
  noexcept : data_(static_cast<std::int64_t>(i)) {}
  value(double d) noexcept : data_(d) {}
  value(std::string s) noexcept : data_(std::move(s)) {}
  value(std::string_view s) : data_(std::string(s)) {}
  value(const char* s) : data_(std::string(s)) {}
  value(json::array a) noexcept : data_(std::move(a)) {}
  value(json::object o) noexcept : data_(std::move(o)) {}

  json::type type() const noexcept { return static_cast<json::type>(data_.index()); }
  bool is_null() const noexcept { return type() == json::type::null; }
  bool is_bool() const noexcept { return type() == json::type::boolean; }
  bool is_int() const noexcept { return type() == json::type::integer; }
  bool is_number() const noexcept { return is_int() || type() == json::type::number; }
  bool is_string() const noexcept { return type() == json::type::string; }
  bool is_array() const noexcept { return type() == json::type::array; }
  bool is_object() const noexcept { return type() == json::type::object; }

  bool as_bool() const { return std::get<bool>(data_); }
  std::int64_t as_int() const { return std::get<std::int64_t>(data_); }
  double as_double() const { return is_int() ? static_cast<double>(as_int()) : std::get<double>(data_); }
  const std::string& as_string() const { return std::get<std::string>(data_); }
  const json::array& as_array() const { return std::get<json::array>(data_); }
  json::array& as_array() { return std::get<json::array>(data_); }
  const json::object& as_object() const { return std::get<json::object>(data_); }
  json::object& as_object() { return std::get<json::object>(data_); }

  /// Member of an object, or nullptr (also when this is no object).
  const value* get(std::string_view name) const noexcept;

  std::uint32_t at = 0;  ///< byte offset of the value in the parsed text; 0 for built values

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, json::array, json::object> data_;
};

struct member {
  std::string name;
  value val;
  std::uint32_t at = 0;  ///< byte offset of the name
};

/// Where a parse failed. Lines and columns count from 1; columns count bytes.
struct position {
  std::uint32_t line = 1, column = 1;
};
position locate(std::string_view text, std::uint32_t offset) noexcept;

struct parse_options {
  bool comments = false;          ///< JSONC: // and /* */ comments, trailing commas, byte-order mark
  bool refuse_duplicates = true;  ///< duplicate member names fail with both positions
  std::uint32_t max_depth = 512;
};

struct parse_error {
  std::string message;  ///< "expected a value", "duplicate key \"a\" (first at 3:5)", "not UTF-8", "lone surrogate" ...
  std::uint32_t offset = 0;
};

/// Integers that fit int64 are `integer`; other numbers `number`. Text must be UTF-8; a lone surrogate escape is refused.
tl::expected<value, parse_error> parse(std::string_view text, const parse_options& options = {});

/// Compact, members in their order. Strings that are not UTF-8 are written with \xNN spelled as text ("\\xff").
std::string write(const value& v);
void write_to(std::string& out, const value& v);
std::string write_pretty(const value& v);  ///< two-space indent, final newline left to the caller
/// Canonical form (keys.md 3.6): members sorted bytewise, no white space, only '"', '\' and bytes below 0x20 escaped.
std::string write_canonical(const value& v);
void write_string(std::string& out, std::string_view s);

/// Deep equality, member order ignored.
bool equal(const value& a, const value& b);

}  // namespace vx::json
