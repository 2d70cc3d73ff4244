#include "base/result.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <memory>

using namespace vx;

namespace {

result<int> half(int n) {
  if (n % 2 != 0) return fail(errc::INVALID, "odd");
  return n / 2;
}

result<int> quarter(int n) {
  VX_TRY_LET(const int once, half(n));
  VX_TRY_LET(const int twice, half(once));
  return twice;
}

status check_even(int n) {
  VX_TRY(half(n));
  return {};
}

result<std::unique_ptr<int>> boxed(int n) {
  VX_TRY_LET(std::unique_ptr<int> p, result<std::unique_ptr<int>>(std::make_unique<int>(n)));
  return p;
}

}  // namespace

TEST_CASE("the macros hand failures on and move values out") {
  CHECK(quarter(8) == 2);
  CHECK(quarter(6).error().message == "odd");
  CHECK(quarter(5).error().code == errc::INVALID);
  CHECK(check_even(2));
  CHECK_FALSE(check_even(3));
  CHECK(**boxed(7) == 7);
}

TEST_CASE("every status has a name of its own") {
  CHECK(status_name(errc::ok) == "VX_OK");
  CHECK(status_name(errc::IO) == "VX_E_IO");
  CHECK(status_name(errc::CACHE_VERSION) == "VX_E_CACHE_VERSION");
  CHECK(status_name(static_cast<errc>(9999)) == "VX_E_INTERNAL");
  CHECK(static_cast<int>(errc::FDS) == 21);
}

TEST_CASE("a failed system call names operation, path and reason") {
  const failure f = sys_failure(ENOENT, "cannot open", "a\x1b/b");
  CHECK(f.code == errc::IO);
  CHECK(f.sys == ENOENT);
  CHECK(f.path == "a\x1b/b");
  CHECK(f.message == "cannot open a\\x1b/b: No such file or directory");
  CHECK(sys_failure(EIO, "cannot poll", "").message == "cannot poll: Input/output error");
}

TEST_CASE("exhausted descriptors have a code and an advice, exhausted memory a code") {
  for (const int e : {EMFILE, ENFILE}) {
    CHECK(sys_failure(e, "cannot open", "x").code == errc::FDS);
    CHECK(sys_failure(e, "cannot open", "x").message.find("ulimit -n 4096") != std::string::npos);
  }
  CHECK(sys_failure(ENOMEM, "cannot start", "x").code == errc::NO_MEMORY);
}
