#include "workspace/pnpm_yaml.hpp"

#include <doctest/doctest.h>

using vx::workspace::parse_pnpm_yaml;

namespace {

std::string packages(const char* text) {
  const auto f = parse_pnpm_yaml(text, "pnpm-workspace.yaml");
  if (!f) return "!" + f.error().message;
  std::string out;
  for (const std::string& p : f->packages) out += p + ";";
  return out;
}

}  // namespace

TEST_CASE("the member list of a pnpm file") {
  CHECK(packages("packages:\n  - 'packages/*'\n  - apps/**\n  - \"!**/test/**\"\n") == "packages/*;apps/**;!**/test/**;");
  CHECK(packages("packages: [a, b]\n") == "a;b;");
  CHECK(packages("packages:\n") == "");
  CHECK(packages("packages: []\n") == "");
  CHECK(packages("catalog:\n  a: ^1\n") == "");
  CHECK(packages("") == "");
  CHECK(packages("# nothing but a comment\n") == "");
  CHECK(packages("x: &l [a, b]\npackages: *l\n") == "a;b;");
  CHECK(packages("packages:\n  - \"1\"\n") == "1;");
}

TEST_CASE("a pnpm file that is wrong is refused by file and field") {
  CHECK(packages("packages: a\n").find("`packages` must be an array of strings") != std::string::npos);
  CHECK(packages("packages: {a: b}\n").find("`packages` must be an array of strings") != std::string::npos);
  CHECK(packages("packages:\n  - 1\n").find("array of strings") != std::string::npos);
  CHECK(packages("packages:\n  - true\n").find("array of strings") != std::string::npos);
  CHECK(packages("packages:\n  - [a]\n").find("array of strings") != std::string::npos);
  CHECK(packages("- a\n- b\n").find("must be a mapping") != std::string::npos);
  CHECK(packages("just text\n").find("must be a mapping") != std::string::npos);
  const std::string parse = packages("packages:\n  - 'a\n");
  CHECK(parse.find("pnpm-workspace.yaml does not parse: ") != std::string::npos);
  CHECK(parse.find("3:1") != std::string::npos);
  CHECK(packages("packages: *nowhere\n").starts_with("!"));
}

TEST_CASE("an alias bomb costs nothing and deep nesting is refused") {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i)
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" +
            std::to_string(i - 1) + "]\n";
  CHECK(packages((bomb + "packages: [p]\n").c_str()) == "p;");
  CHECK(packages((std::string(500, '[') + std::string(500, ']')).c_str()).starts_with("!"));
}

TEST_CASE("catalogs of a pnpm file") {
  const auto f =
      parse_pnpm_yaml("catalog:\n  react: ^18\n  one: 1\ncatalogs:\n  old:\n    react: ^17\n  default:\n    vue: ^3\n", "f");
  REQUIRE(f);
  CHECK(f->catalogs.at("default").at("react") == "^18");
  CHECK(f->catalogs.at("default").at("one") == "1");
  CHECK(f->catalogs.at("default").at("vue") == "^3");
  CHECK(f->catalogs.at("old").at("react") == "^17");
  CHECK(f->catalogs_readable);
  CHECK_FALSE(parse_pnpm_yaml("catalog: [a]\n", "f")->catalogs_readable);
}
