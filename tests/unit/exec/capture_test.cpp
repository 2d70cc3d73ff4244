#include "exec/capture.hpp"

#include <doctest/doctest.h>

#include <random>

#include "exec/mask.hpp"

using vx::exec::capture;
using vx::exec::captured;

namespace {
std::string shown(const std::vector<captured>& records) {
  std::string out;
  for (const captured& r : records) {
    if (!out.empty()) out += '|';
    out += r.stream == 0 ? "0:" + std::to_string(r.dropped) : std::to_string(r.stream) + ":" + r.bytes;
  }
  return out;
}
}  // namespace

TEST_CASE("records keep their order and adjacent ones of a stream are merged") {
  capture c;
  CHECK(c.empty());
  c.add(1, "a");
  c.add(1, "b");
  c.add(2, "c");
  c.add(1, "d");
  c.add(1, "");
  CHECK(c.total() == 4);
  CHECK_FALSE(c.empty());
  CHECK(shown(c.take()) == "1:ab|2:c|1:d");
  CHECK(c.empty());
  CHECK(shown(c.take()) == "");
}

TEST_CASE("head and tail are bounded and the middle is counted") {
  struct row {
    std::size_t head, tail;
    std::vector<std::pair<int, std::string>> chunks;
    const char* expected;
  };
  for (const row& r : {
           row{4, 4, {{1, "abcdefgh"}}, "1:abcdefgh"},
           row{4, 4, {{1, "abcd"}, {1, "efgh"}}, "1:abcdefgh"},
           row{4, 4, {{1, "abcdefghi"}}, "1:abcd|0:1|1:fghi"},
           row{4, 4, {{1, "ab"}, {2, "cd"}, {1, "efghij"}, {2, "kl"}}, "1:ab|2:cd|0:4|1:ij|2:kl"},
           row{4, 4, {{1, "ab\xC3\xA9"}, {1, "xxxx1234"}}, "1:ab\xC3\xA9|0:4|1:1234"},
           // The head would end inside a sequence.
           row{4, 4, {{1, "abc\xC3\xA9xxxx1234"}}, "1:abc|0:6|1:1234"},
           row{4, 4, {{1, "a\xF0\x9F\x98\x80xxxx1234"}}, "1:a|0:8|1:1234"},
           // The tail would begin inside one.
           row{2,
               4,
               {{1,
                 "abxxxx\xE2\x82\xAC"
                 "12"}},
               "1:ab|0:7|1:12"},
           // Nothing dropped: a sequence across the seam stays whole.
           row{4,
               4,
               {{1,
                 "abc\xC3\xA9"
                 "123"}},
               "1:abc\xC3\xA9"
               "123"},
           row{2, 2, {{1, "\xC3\xA9"}, {2, "zzzz"}}, "1:\xC3\xA9|0:2|2:zz"},
           // Bytes that are no UTF-8 are kept.
           row{2,
               2,
               {{1,
                 "\xFF\xFE"
                 "abc\xFF"}},
               "1:\xFF\xFE|0:2|1:c\xFF"},
           row{0, 2, {{1, "abc"}}, "0:1|1:bc"},
       }) {
    CAPTURE(r.expected);
    capture c(r.head, r.tail);
    for (const auto& [stream, bytes] : r.chunks) c.add(stream, bytes);
    CHECK(shown(c.take()) == r.expected);
  }
}

TEST_CASE("40 MiB leave the first and the last 8 MiB and a count") {
  capture c;
  std::string all;
  std::mt19937 random(1);
  while (all.size() < std::size_t{40} << 20) {
    std::string chunk(1 + random() % 65536, static_cast<char>('a' + all.size() % 26));
    c.add(1, chunk);
    all += chunk;
  }
  const std::size_t eight = std::size_t{8} << 20;
  const auto records = c.take();
  REQUIRE(records.size() == 3);
  CHECK((records[0].bytes == all.substr(0, eight)));
  CHECK(records[1].stream == 0);
  CHECK(records[1].dropped == all.size() - 2 * eight);
  CHECK((records[2].bytes == all.substr(all.size() - eight)));
}

TEST_CASE("nothing is lost or counted twice, whatever the chunks") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::size_t head = random() % 20, tail = random() % 20;
    capture c(head, tail);
    std::string all;
    for (unsigned i = 0; i < random() % 12; ++i) {
      const std::string chunk(random() % 9, static_cast<char>('a' + i));
      c.add(1 + static_cast<int>(random() % 2), chunk);
      all += chunk;
    }
    std::string kept;
    std::uint64_t dropped = 0;
    for (const captured& r : c.take()) {
      kept += r.bytes;
      dropped += r.dropped;
    }
    REQUIRE(kept.size() + dropped == all.size());
    REQUIRE(kept.size() == std::min(all.size(), head + tail));
  }
}

TEST_CASE("a secret that the bound would cut is masked before it is captured") {
  const vx::exec::mask m({"secret-value"});
  capture c(8, 8);
  vx::exec::output_masker masker(&m);
  const vx::exec::output_fn sink = [&](int stream, std::string_view bytes) { c.add(stream, bytes); };
  masker.push(1, "12345sec", 0, sink);
  masker.push(1, "ret-value----------------secret-", 0, sink);
  masker.push(1, "value678", 0, sink);
  masker.finish(sink);
  CHECK(shown(c.take()) == "1:12345***|0:14|1:--***678");
}
