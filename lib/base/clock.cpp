#include "base/clock.hpp"

#include <time.h>

#include <cstdio>

#include "base/bytes.hpp"
#include "base/platform.hpp"

namespace vx {
namespace {

std::int64_t read_clock(clockid_t id) noexcept {
  struct ::timespec ts {};
  ::clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

// Days since 1970 to a civil date, proleptic Gregorian; no locale, no time zone tables.
struct civil {
  std::int64_t year;
  unsigned month, day;
};

civil civil_of(std::int64_t days) noexcept {
  days += 719468;  // from 0000-03-01, so that the leap day ends the year
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const auto doe = static_cast<unsigned>(days - era * 146097);
  const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const unsigned mp = (5 * doy + 2) / 153;
  const unsigned month = mp < 10 ? mp + 3 : mp - 9;
  return {static_cast<std::int64_t>(yoe) + era * 400 + (month <= 2 ? 1 : 0), month, doy - (153 * mp + 2) / 5 + 1};
}

}  // namespace

std::int64_t wall_ns() noexcept { return read_clock(CLOCK_REALTIME); }
std::int64_t mono_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

void random_bytes(void* out, std::size_t n) noexcept { platform::random_bytes(out, n); }

run_id new_run_id() noexcept {
  run_id id;
  random_bytes(id.data(), id.size());
  const auto ms = static_cast<std::uint64_t>(wall_ns() / 1'000'000);
  for (unsigned i = 0; i < 6; ++i) id[i] = static_cast<std::byte>(ms >> (40 - 8 * i));
  id[6] = (id[6] & std::byte{0x0f}) | std::byte{0x70};  // version 7
  id[8] = (id[8] & std::byte{0x3f}) | std::byte{0x80};  // RFC variant
  return id;
}

std::string format_run_id(const run_id& id) {
  std::string out = to_hex(id);
  for (const std::size_t dash : {8, 13, 18, 23}) out.insert(dash, 1, '-');
  return out;
}

bool parse_run_id(std::string_view text, run_id& out) noexcept {
  if (text.size() != 36) return false;
  char hex[32];
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return false;
    if (!dash) hex[n++] = text[i];
  }
  return from_hex({hex, n}, out);
}

std::string format_iso_ms(std::int64_t wall_ns) {
  std::int64_t ms = wall_ns / 1'000'000;
  if (wall_ns % 1'000'000 < 0) --ms;
  std::int64_t days = ms / 86'400'000;
  std::int64_t rest = ms % 86'400'000;
  if (rest < 0) {
    rest += 86'400'000;
    --days;
  }
  const civil date = civil_of(days);
  char out[48];
  const int n = std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year), date.month,
                              date.day, static_cast<int>(rest / 3'600'000), static_cast<int>(rest / 60'000 % 60),
                              static_cast<int>(rest / 1000 % 60), static_cast<int>(rest % 1000));
  return {out, static_cast<std::size_t>(n)};
}

}  // namespace vx
