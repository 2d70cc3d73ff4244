#include "key/digest.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "support/temp_dir.hpp"

using namespace vx;
using namespace vx::key;

TEST_CASE("known answers") {
  CHECK(xxh3_128("").hex() == "99aa06d3014798d86001c324468d497f");
  CHECK(xxh3_64("") == 0x2d06800538d394c2ULL);
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(git_blob_id("", object_format::sha1).hex() == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  CHECK(git_blob_id("1\n", object_format::sha1).hex() == "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d");
  CHECK(git_blob_id("", object_format::sha256).hex() == "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813");
}

TEST_CASE("streaming equals one go, whatever the pieces") {
  std::string data;
  for (int i = 0; i < 5000; ++i) data += static_cast<char>(i * 7);
  for (const std::size_t step : {1U, 3U, 240U, 256U, 1000U, 5000U}) {
    xxh3_stream s;
    for (std::size_t at = 0; at < data.size(); at += step) s.update(std::string_view(data).substr(at, step));
    CHECK(s.finish() == xxh3_128(data));
    s.reset();
    CHECK(s.finish() == xxh3_128(""));
    s.update("a");
    CHECK(s.finish() == xxh3_128("a"));
  }
  CHECK(xxh3_stream().finish() == xxh3_128(""));
}

TEST_CASE("object ids parse and print") {
  oid id;
  CHECK(oid::parse("d00491fd7e5bb6fa28c517a0bb32b8b506539d4d", id));
  CHECK(id.size == 20);
  CHECK(id.hex() == "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d");
  CHECK(oid::from_raw(id.view()) == id);
  const oid before = id;
  for (const char* bad : {"", "d0", "d00491fd7e5bb6fa28c517a0bb32b8b506539d4", "g00491fd7e5bb6fa28c517a0bb32b8b506539d4d"})
    CHECK_FALSE(oid::parse(bad, id));
  CHECK(id == before);
  CHECK(oid::parse(std::string(64, 'a'), id));
  CHECK(id.size == 32);
  CHECK(oid::from_raw("short").size == 0);
}

TEST_CASE("a file hashes as git hashes it") {
  const test::temp_dir dir;
  for (const std::size_t n : {0U, 1U, 65535U, 65536U, 65537U, 131072U, 300000U}) {
    std::string content;
    for (std::size_t i = 0; i < n; ++i) content += static_cast<char>(i % 251);
    dir.write("f", content);
    for (const object_format format : {object_format::sha1, object_format::sha256}) {
      const unique_fd fd(::open((dir / "f").c_str(), O_RDONLY | O_CLOEXEC));
      const auto id = git_blob_id_fd(fd.get(), n, format);
      REQUIRE(id);
      CHECK(*id == git_blob_id(content, format));
    }
  }
  CHECK(dir.sh("git hash-object f").substr(0, 40) == git_blob_id(dir.read("f"), object_format::sha1).hex());
}

TEST_CASE("a file of another length is no identity") {
  const test::temp_dir dir;
  dir.write("f", std::string(70000, 'x'));
  for (const std::uint64_t promised : {0U, 1U, 65536U, 69999U, 70001U, 200000U}) {
    const unique_fd fd(::open((dir / "f").c_str(), O_RDONLY | O_CLOEXEC));
    const auto id = git_blob_id_fd(fd.get(), promised, object_format::sha1);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == errc::CORRUPT);
  }
  const auto closed = git_blob_id_fd(-1, 1, object_format::sha1);
  REQUIRE_FALSE(closed);
  CHECK(closed.error().sys == EBADF);
}
