// Writes one JSON object straight into a string: event records are built by the thousand, without a document in between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace vx::run {

class json_line {
 public:
  json_line() { out_.push_back('{'); }
  json_line& text(std::string_view name, std::string_view v) {
    key(name);
    json::write_string(out_, v);
    return *this;
  }
  json_line& number(std::string_view name, std::int64_t v) {
    key(name);
    out_ += std::to_string(v);
    return *this;
  }
  json_line& boolean(std::string_view name, bool v) {
    key(name);
    out_ += v ? "true" : "false";
    return *this;
  }
  json_line& null(std::string_view name) {
    key(name);
    out_ += "null";
    return *this;
  }
  /// Milliseconds with three decimals at most, from nanoseconds.
  json_line& ms(std::string_view name, std::int64_t ns);
  /// A value that is JSON text already.
  json_line& raw(std::string_view name, std::string_view json_text) {
    key(name);
    out_ += json_text;
    return *this;
  }
  /// A member whose name is not ours: a label, a task id.
  json_line& named(std::string_view name, std::string_view json_text) {
    if (out_.size() > 1) out_.push_back(',');
    json::write_string(out_, name);
    out_.push_back(':');
    out_ += json_text;
    return *this;
  }
  json_line& named_text(std::string_view name, std::string_view v) {
    std::string quoted;
    json::write_string(quoted, v);
    return named(name, quoted);
  }
  std::string finish() {
    out_.push_back('}');
    return std::move(out_);
  }

 private:
  /// Names of ours need no escaping.
  void key(std::string_view name) {
    if (out_.size() > 1) out_.push_back(',');
    out_.push_back('"');
    out_ += name;
    out_ += "\":";
  }
  std::string out_;
};

/// A JSON array of already written values.
class json_list {
 public:
  json_list() { out_.push_back('['); }
  json_list& raw(std::string_view json_text) {
    if (out_.size() > 1) out_.push_back(',');
    out_ += json_text;
    return *this;
  }
  json_list& text(std::string_view v) {
    if (out_.size() > 1) out_.push_back(',');
    json::write_string(out_, v);
    return *this;
  }
  std::string finish() {
    out_.push_back(']');
    return std::move(out_);
  }

 private:
  std::string out_;
};

}  // namespace vx::run
