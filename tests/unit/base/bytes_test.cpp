#include "base/bytes.hpp"

#include <doctest/doctest.h>

using namespace vx;

TEST_CASE("what the writer wrote the reader reads back, in order") {
  byte_writer w;
  w.u8(0xab);
  w.u16(0x1234);
  w.u32(0xdeadbeef);
  w.u64(0x0102030405060708);
  w.i64(-5);
  w.text32("hi");
  w.text32("");
  w.raw("zz");
  byte_reader r(w.str());
  CHECK(r.u8() == 0xab);
  CHECK(r.u16() == 0x1234);
  CHECK(r.u32() == 0xdeadbeef);
  CHECK(r.u64() == 0x0102030405060708);
  CHECK(r.i64() == -5);
  CHECK(r.text32() == "hi");
  CHECK(r.text32().empty());
  CHECK(r.raw(2) == "zz");
  CHECK(r.at_end());
  CHECK(r.ok());
}

TEST_CASE("integers are little-endian whatever wrote them") {
  byte_writer w;
  w.u16(0x0102);
  w.u32(0x03040506);
  CHECK(w.str() == std::string("\x02\x01\x06\x05\x04\x03", 6));
}

TEST_CASE("reading past the end is a sticky error that yields zeros and empty views") {
  byte_reader r("\x01\x02");
  CHECK(r.u32() == 0);
  CHECK_FALSE(r.ok());
  CHECK(r.u8() == 0);
  CHECK(r.text32().empty());
  CHECK_FALSE(r.ok());
  SUBCASE("a counted text longer than what is left is an error, not a truncation") {
    byte_reader t(
        std::string_view("\xff\xff\xff\xff"
                         "abc",
                         7));
    CHECK(t.text32().empty());
    CHECK_FALSE(t.ok());
  }
}

TEST_CASE("hexadecimal goes there and back") {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::string hex = to_hex(as_bytes(all));
  CHECK(hex.size() == 512);
  CHECK(hex.substr(0, 8) == "00010203");
  CHECK(hex.substr(508) == "feff");
  std::string back(256, '\0');
  CHECK(from_hex(hex, std::as_writable_bytes(std::span(back))));
  CHECK(back == all);
}

TEST_CASE("digests parse from either case and refuse anything else, leaving the output alone") {
  digest128 d;
  REQUIRE(digest128::parse("318e9fc70b7482a14f6aae60f17d3d30", d));
  CHECK(d.hex() == "318e9fc70b7482a14f6aae60f17d3d30");
  digest128 upper;
  CHECK(digest128::parse("318E9FC70B7482A14F6AAE60F17D3D30", upper));
  CHECK(upper == d);
  for (const char* bad :
       {"", "31", "318e9fc70b7482a14f6aae60f17d3d3", "318e9fc70b7482a14f6aae60f17d3d300", "318e9fc70b7482a14f6aae60f17d3d3g",
        "0x8e9fc70b7482a14f6aae60f17d3d30", " 18e9fc70b7482a14f6aae60f17d3d30"}) {
    CAPTURE(bad);
    digest128 same = d;
    CHECK_FALSE(digest128::parse(bad, same));
    CHECK(same == d);
  }
}

TEST_CASE("digests order as their bytes do") {
  digest128 a, b;
  REQUIRE(digest128::parse("00000000000000000000000000000001", a));
  REQUIRE(digest128::parse("80000000000000000000000000000000", b));
  CHECK(a < b);
  CHECK(b > a);
}
