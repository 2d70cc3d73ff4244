#include "cli/block.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace vx::cli;

namespace {
std::vector<std::pair<int, std::string>> read(const output_block& block) {
  std::vector<std::pair<int, std::string>> out;
  block.each([&](int stream, std::string_view bytes) {
    if (out.empty() || out.back().first != stream) out.emplace_back(stream, "");
    out.back().second += bytes;
  });
  return out;
}
}  // namespace

TEST_CASE("a block keeps the order of both streams") {
  output_block block;
  CHECK(block.empty());
  block.append(1, "a");
  block.append(1, "b");
  block.append(2, "e");
  block.append(1, "");
  block.append(1, "c");
  CHECK(read(block) == std::vector<std::pair<int, std::string>>{{1, "ab"}, {2, "e"}, {1, "c"}});
  CHECK(block.size() == 4);
}

TEST_CASE("beyond its memory a block goes on in a file and reads back the same") {
  output_block small(100);
  output_block large;
  for (int i = 0; i < 5000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    small.append(i % 3 == 0 ? 2 : 1, line);
    large.append(i % 3 == 0 ? 2 : 1, line);
  }
  CHECK(small.spilled());
  CHECK_FALSE(large.spilled());
  CHECK(read(small) == read(large));
  output_block moved(std::move(small));
  CHECK(read(moved) == read(large));
}
