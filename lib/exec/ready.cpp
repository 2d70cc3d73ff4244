#include "exec/ready.hpp"

#include <re2/re2.h>

#include "base/text.hpp"
#include "exec/process.hpp"

namespace vx::exec {
namespace {

constexpr std::size_t k_partial_max = std::size_t{64} << 10;

RE2::Options regex_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  return options;
}

/// Replaces bytes that are no UTF-8 by U+FFFD, as a decoder in front of an ECMAScript engine would.
std::string decoded(std::string_view raw) {
  std::string out;
  while (!raw.empty()) {
    std::size_t n = std::min<std::size_t>(4, raw.size());
    while (n > 0 && !text::is_utf8(raw.substr(0, n))) --n;
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      raw.remove_prefix(1);
    } else {
      out += raw.substr(0, n);
      raw.remove_prefix(n);
    }
  }
  return out;
}

}  // namespace

struct ready_scanner::regex {
  explicit regex(const std::string& pattern) : compiled(pattern, regex_options()) {}
  RE2 compiled;
};

ready_scanner::ready_scanner(std::unique_ptr<regex> compiled) : regex_(std::move(compiled)) {}
ready_scanner::ready_scanner(ready_scanner&&) noexcept = default;
ready_scanner::~ready_scanner() = default;

result<ready_scanner> ready_scanner::compile(std::string_view pattern) {
  VX_TRY_LET(const std::string translated, translate_ecmascript(pattern));
  auto compiled = std::make_unique<regex>(translated);
  if (!compiled->compiled.ok()) {
    // The translation is well-formed, so what is left are RE2's limits.
    return fail(errc::INVALID, "the pattern is too large to be matched in linear time: " + compiled->compiled.error());
  }
  return ready_scanner(std::move(compiled));
}

bool ready_scanner::matches(std::string_view line) const {
  std::string stripped;
  if (line.find('\x1b') != std::string_view::npos) {
    stripped = text::strip_escapes(line);
    line = stripped;
  }
  std::string valid;
  if (!text::is_utf8(line)) {
    valid = decoded(line);
    line = valid;
  }
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), regex_->compiled);
}

bool ready_scanner::feed(int stream, std::string_view chunk) {
  lane& one = lanes_[stream == 2 ? 1 : 0];
  while (!chunk.empty()) {
    if (one.after_cr && chunk.front() == '\n') chunk.remove_prefix(1);
    one.after_cr = false;
    const std::size_t end = chunk.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    const std::string_view rest = chunk.substr(0, end);
    bool ready = false;
    if (one.partial.empty()) {
      ready = matches(rest);
    } else {
      one.partial += rest;
      ready = matches(one.partial);
      one.partial.clear();
    }
    if (ready) return true;
    one.after_cr = chunk[end] == '\r';
    chunk.remove_prefix(end + 1);
  }
  if (chunk.empty()) return false;
  one.partial += chunk;
  if (one.partial.size() > k_partial_max) one.partial.erase(0, one.partial.size() - k_partial_max);
  return matches(one.partial);
}

std::string check_ready_pattern(std::string_view pattern) {
  const result<ready_scanner> compiled = ready_scanner::compile(pattern);
  return compiled ? std::string() : compiled.error().message;
}

}  // namespace vx::exec
