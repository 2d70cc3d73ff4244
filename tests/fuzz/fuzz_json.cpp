// Both JSON dialects on any bytes: no crash, positions inside the text, and what was accepted is written and read back equal.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void try_dialect(std::string_view text, bool comments) {
  vx::json::parse_options options;
  options.comments = comments;
  const auto parsed = vx::json::parse(text, options);
  if (!parsed) {
    check(parsed.error().offset <= text.size() && !parsed.error().message.empty());
    check(vx::json::locate(text, parsed.error().offset).line >= 1);
    return;
  }
  check(parsed->at < text.size());
  const std::string written = vx::json::write(*parsed);
  const auto again = vx::json::parse(written);
  check(again.has_value());
  check(vx::json::equal(*parsed, *again));
  const std::string canonical = vx::json::write_canonical(*parsed);
  const auto third = vx::json::parse(canonical);
  check(third.has_value());
  check(vx::json::write_canonical(*third) == canonical);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_dialect(text, false);
  try_dialect(text, true);
  return 0;
}
