#include "key/diff.hpp"

#include <doctest/doctest.h>

using namespace vx::key;
using enum vx::key::component_kind;

namespace {

std::string told(const component_diff& d) {
  std::string out;
  for (const component_change& c : d.changes) {
    out += std::string(change_name(c.what)) + " " + std::string(component_kind_name(c.kind)) + " " + c.name + " " + c.before +
           ">" + c.after + ";";
  }
  return out + std::to_string(d.unchanged);
}

}  // namespace

TEST_CASE("a diff joins by kind and name, in their order") {
  const std::vector<component> a = {{env, "A", "1"}, {env, "B", "1"}, {file, "x", "1"}, {file, "z", "1"}};
  const std::vector<component> b = {
      {platform, "platform", "p"}, {env, "A", "2"}, {env, "B", "1"}, {file, "y", "1"}, {file, "z", "1"}};
  CHECK(told(diff(a, b)) == "added platform platform >p;changed env A 1>2;removed file x 1>;added file y >1;2");
  CHECK(told(diff(a, a)) == "4");
  CHECK(told(diff({}, {})) == "0");
  CHECK(told(diff({}, a)).ends_with("added file z >1;0"));
}

TEST_CASE("items that share a name are paired in order") {
  CHECK(told(diff({{host, "h", "1"}, {host, "h", "2"}}, {{host, "h", "1"}, {host, "h", "3"}, {host, "h", "4"}})) ==
        "changed host h 2>3;added host h >4;1");
}

TEST_CASE("digests of values are cut, identities are not") {
  CHECK(shown_digest(env, "0123456789abcdef") == "01234567");
  CHECK(shown_digest(env, "unset") == "unset");
  CHECK(shown_digest(file, "0123456789abcdef") == "0123456789abcdef");
}
