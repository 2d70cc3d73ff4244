#include "run/json_line.hpp"

#include <charconv>

namespace vx::run {

json_line& json_line::ms(std::string_view name, std::int64_t ns) {
  key(name);
  const std::int64_t micros = (ns < 0 ? 0 : ns + 500) / 1000;
  out_ += std::to_string(micros / 1000);
  const std::int64_t part = micros % 1000;
  if (part == 0) return *this;
  char digits[4] = {static_cast<char>('0' + part / 100), static_cast<char>('0' + part / 10 % 10),
                    static_cast<char>('0' + part % 10), 0};
  std::string_view shown(digits, 3);
  while (shown.back() == '0') shown.remove_suffix(1);
  out_.push_back('.');
  out_ += shown;
  return *this;
}

}  // namespace vx::run
