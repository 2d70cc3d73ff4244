// Clocks and run ids. Nothing else in the library reads the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vx {

std::int64_t wall_ns() noexcept;  ///< nanoseconds since 1970, CLOCK_REALTIME
std::int64_t mono_ns() noexcept;  ///< nanoseconds of CLOCK_MONOTONIC

using run_id = std::array<std::byte, 16>;
/// UUIDv7 (RFC 9562): 48 bits of milliseconds, then random bits.
run_id new_run_id() noexcept;
std::string format_run_id(const run_id& id);  ///< 8-4-4-4-12, lower case
bool parse_run_id(std::string_view text, run_id& out) noexcept;
std::string format_iso_ms(std::int64_t wall_ns);  ///< 2026-11-02T10:11:12.131Z

/// Cryptographically random bytes (getrandom / arc4random).
void random_bytes(void* out, std::size_t n) noexcept;

}  // namespace vx
