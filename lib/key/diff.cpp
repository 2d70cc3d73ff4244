#include "key/diff.hpp"

#include <tuple>

namespace vx::key {
namespace {

bool before(const component& a, const component& b) { return std::tie(a.kind, a.name) < std::tie(b.kind, b.name); }

}  // namespace

std::string_view change_name(change c) noexcept {
  switch (c) {
    case change::changed: return "changed";
    case change::added: return "added";
    case change::removed: return "removed";
  }
  return "changed";
}

component_diff diff(const std::vector<component>& old_ones, const std::vector<component>& new_ones) {
  component_diff out;
  auto a = old_ones.begin();
  auto b = new_ones.begin();
  while (a != old_ones.end() || b != new_ones.end()) {
    if (b == new_ones.end() || (a != old_ones.end() && before(*a, *b))) {
      out.changes.push_back({a->kind, a->name, change::removed, a->digest, {}});
      ++a;
    } else if (a == old_ones.end() || before(*b, *a)) {
      out.changes.push_back({b->kind, b->name, change::added, {}, b->digest});
      ++b;
    } else {
      if (a->digest == b->digest) {
        ++out.unchanged;
      } else {
        out.changes.push_back({b->kind, b->name, change::changed, a->digest, b->digest});
      }
      ++a;
      ++b;
    }
  }
  return out;
}

std::string shown_digest(component_kind kind, const std::string& digest) {
  using enum component_kind;
  const bool salted = kind == forward || kind == env || kind == runtime || kind == ws_runtime || kind == host;
  return salted ? digest.substr(0, 8) : digest;
}

}  // namespace vx::key
