// Reading fields of RapidJSON values: absent and of another type than asked for are the same. For .cpp files only.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vx::cli {

using json_value = rapidjson::Value;

inline const json_value* read_member(const json_value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

inline std::string read_text(const json_value& object, const char* name) {
  const json_value* v = read_member(object, name);
  return v != nullptr && v->IsString() ? std::string(v->GetString(), v->GetStringLength()) : std::string();
}

inline bool read_flag(const json_value& object, const char* name, bool fallback = false) {
  const json_value* v = read_member(object, name);
  return v != nullptr && v->IsBool() ? v->GetBool() : fallback;
}

inline double read_number(const json_value& object, const char* name, double fallback = 0) {
  const json_value* v = read_member(object, name);
  return v != nullptr && v->IsNumber() ? v->GetDouble() : fallback;
}

inline std::uint32_t read_count(const json_value& object, const char* name, std::uint32_t fallback = 0) {
  const json_value* v = read_member(object, name);
  return v != nullptr && v->IsUint() ? v->GetUint() : fallback;
}

inline std::int64_t read_whole(const json_value& object, const char* name) {
  const json_value* v = read_member(object, name);
  return v == nullptr ? 0 : v->IsInt64() ? v->GetInt64() : v->IsDouble() ? static_cast<std::int64_t>(v->GetDouble()) : 0;
}

inline int read_integer(const json_value& object, const char* name) {
  const json_value* v = read_member(object, name);
  return v != nullptr && v->IsInt() ? v->GetInt() : 0;
}

inline std::vector<std::string> read_texts(const json_value& object, const char* name) {
  std::vector<std::string> out;
  const json_value* v = read_member(object, name);
  if (v == nullptr || !v->IsArray()) return out;
  for (const auto& item : v->GetArray()) {
    if (item.IsString()) out.emplace_back(item.GetString(), item.GetStringLength());
  }
  return out;
}

}  // namespace vx::cli
