// An answer of the control plane that carries its document in "result". Pure; for .cpp files only.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json_read.hpp"

namespace vx::cli {

/// A JSON value as one line.
inline std::string compact_json(const json_value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

/// An answer, as text for people, as the document for programs, and the lines for standard error.
struct answer_view {
  std::string text;
  std::string document;  ///< "result" alone
  std::vector<std::string> notices;
};

/// `render` takes the whole answer and its "result". nullopt: no such answer.
template <class Render>
std::optional<answer_view> read_answer(std::string_view json, Render render) {
  rapidjson::Document root;
  root.Parse(json.data(), json.size());
  if (root.HasParseError() || !root.IsObject()) return std::nullopt;
  const json_value* result = read_member(root, "result");
  if (result == nullptr) return std::nullopt;
  answer_view out;
  out.notices = read_texts(root, "notices");
  out.document = compact_json(*result);
  out.text = render(static_cast<const json_value&>(root), *result, out);
  return out;
}

}  // namespace vx::cli
