#include "cache/row_blobs.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace vx;
using namespace vx::cache;

namespace {

std::vector<output_row> sample_rows() {
  output_row f;
  f.path = "dist/a\xff\nb";
  f.mode = 0;
  f.size = 7;
  f.mtime = {std::numeric_limits<std::int64_t>::min() / 2, 999'999'999};
  output_row l;
  l.kind = 'l';
  l.mode = 0777;
  l.path = "dist/l";
  l.target = "a/../x";
  output_row d;
  d.kind = 'd';
  d.mode = 0555;
  d.space = space::workspace;
  d.path = "gen";
  return {f, l, d};
}

}  // namespace

TEST_CASE("outputs survive their blob with odd names, modes and times") {
  const auto rows = sample_rows();
  const auto back = decode_outputs(encode_outputs(rows));
  REQUIRE(back);
  CHECK(same_rows(rows, *back));
  CHECK(decode_outputs(encode_outputs({}))->empty());
}

TEST_CASE("a flipped byte, a cut and a tail are refused in every blob") {
  std::vector<dir_row> dirs(2);
  dirs[0].path = "dist";
  dirs[0].ino = 5;
  dirs[1].state = dir_state::absent;
  dirs[1].path = "out";
  const std::string blobs[] = {
      encode_outputs(sample_rows()), encode_stamps({{1, 2}, {0, 0}}), encode_dirs(dirs),
      encode_components({{key::component_kind::env, "A", "x"}, {key::component_kind::file, "b", "y"}})};
  for (int kind = 0; kind < 4; ++kind) {
    const std::string& blob = blobs[kind];
    const auto accepted = [&](const std::string& b) {
      switch (kind) {
        case 0: return decode_outputs(b).has_value();
        case 1: return decode_stamps(b).has_value();
        case 2: return decode_dirs(b).has_value();
        default: return decode_components(b).has_value();
      }
    };
    CHECK(accepted(blob));
    for (std::size_t i = 0; i < blob.size(); ++i) {
      std::string bad = blob;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      CHECK_FALSE(accepted(bad));
      CHECK_FALSE(accepted(blob.substr(0, i)));
    }
    CHECK_FALSE(accepted(blob + '\0'));
  }
}

TEST_CASE("rows out of order or with a hostile path are refused even under a right digest") {
  auto rows = sample_rows();
  std::swap(rows[0], rows[1]);
  CHECK_FALSE(decode_outputs(encode_outputs(rows)));
  for (const char* path : {"../x", "/x", "a//b", "a/./b", ""}) {
    auto one = sample_rows();
    one.resize(1);
    one[0].path = path;
    CHECK_FALSE(decode_outputs(encode_outputs(one)));
  }
  auto twice = sample_rows();
  twice[1] = twice[0];
  CHECK_FALSE(decode_outputs(encode_outputs(twice)));
}

TEST_CASE("components are sorted, compressed when long and collapse their files when enormous") {
  std::vector<key::component> rows;
  for (int i = 999; i >= 0; --i) rows.push_back({key::component_kind::file, "src/" + std::to_string(i), std::string(40, 'a')});
  rows.push_back({key::component_kind::format, "vx-key-1", ""});
  const std::string blob = encode_components(rows);
  CHECK(blob.size() < 20'000);
  const auto back = decode_components(blob);
  REQUIRE(back);
  REQUIRE(back->size() == 1001);
  CHECK(back->front().kind == key::component_kind::format);
  CHECK(std::is_sorted(back->begin() + 1, back->end(), [](const auto& a, const auto& b) { return a.name < b.name; }));

  std::vector<key::component> huge;
  for (int i = 0; i < 60'000; ++i)
    huge.push_back({key::component_kind::file, "src/" + std::string(60, 'x') + std::to_string(i), std::string(40, 'a')});
  huge.push_back({key::component_kind::env, "A", "d"});
  const auto small = decode_components(encode_components(huge));
  REQUIRE(small);
  REQUIRE(small->size() == 2);
  CHECK((*small)[1].name == "(60000 files)");
}

TEST_CASE("a log keeps its order, merges neighbours and carries the dropped count") {
  const std::string nul("a\0b", 3);
  const auto back = decode_log(encode_log({{1, nul, 0}, {1, "c", 0}, {2, "\xff", 0}, {0, "", 77}, {1, "", 0}, {1, "end", 0}}));
  REQUIRE(back);
  REQUIRE(back->size() == 4);
  CHECK((*back)[0].bytes == nul + "c");
  CHECK((*back)[1].stream == 2);
  CHECK((*back)[2].dropped == 77);
  CHECK((*back)[3].bytes == "end");
  CHECK_FALSE(decode_log("\x01\xff\xff\xff\x7f"));
  CHECK_FALSE(decode_log(std::string("\x03\0\0\0\0", 5)));
}
