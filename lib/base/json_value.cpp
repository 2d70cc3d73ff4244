#include <algorithm>

#include "base/json.hpp"

namespace vx::json {

object::object() noexcept = default;
object::object(const object&) = default;
object::object(object&&) noexcept = default;
object& object::operator=(const object&) = default;
object& object::operator=(object&&) noexcept = default;
object::~object() = default;

value& object::set(std::string name, value v) {
  if (value* found = find(name)) {
    *found = std::move(v);
    return *found;
  }
  return add(std::move(name), std::move(v));
}

value& object::add(std::string name, value v) {
  members_.push_back({std::move(name), std::move(v), 0});
  return members_.back().val;
}

const value* object::find(std::string_view name) const noexcept {
  for (const member& m : members_) {
    if (m.name == name) return &m.val;
  }
  return nullptr;
}

value* object::find(std::string_view name) noexcept {
  for (member& m : members_) {
    if (m.name == name) return &m.val;
  }
  return nullptr;
}

bool object::erase(std::string_view name) {
  return std::erase_if(members_, [&](const member& m) { return m.name == name; }) != 0;
}

void object::adopt(std::vector<member> members) noexcept { members_ = std::move(members); }

std::size_t object::size() const noexcept { return members_.size(); }
std::vector<member>::const_iterator object::begin() const noexcept { return members_.begin(); }
std::vector<member>::const_iterator object::end() const noexcept { return members_.end(); }
std::vector<member>::iterator object::begin() noexcept { return members_.begin(); }
std::vector<member>::iterator object::end() noexcept { return members_.end(); }

const value* value::get(std::string_view name) const noexcept {
  const auto* members = std::get_if<json::object>(&data_);
  return members == nullptr ? nullptr : members->find(name);
}

namespace {

bool equal_objects(const object& a, const object& b) {
  if (a.size() != b.size()) return false;
  std::vector<const member*> left, right;
  left.reserve(a.size());
  right.reserve(b.size());
  for (const member& m : a) left.push_back(&m);
  for (const member& m : b) right.push_back(&m);
  const auto by_name = [](const member* x, const member* y) { return x->name < y->name; };
  std::stable_sort(left.begin(), left.end(), by_name);
  std::stable_sort(right.begin(), right.end(), by_name);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i]->name != right[i]->name || !equal(left[i]->val, right[i]->val)) return false;
  }
  return true;
}

}  // namespace

bool equal(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_int() && b.is_int() ? a.as_int() == b.as_int() : a.as_double() == b.as_double();
  }
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case type::boolean: return a.as_bool() == b.as_bool();
    case type::string: return a.as_string() == b.as_string();
    case type::array:
      return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(), equal);
    case type::object: return equal_objects(a.as_object(), b.as_object());
    default: return true;
  }
}

}  // namespace vx::json
