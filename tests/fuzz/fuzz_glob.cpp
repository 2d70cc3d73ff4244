// The glob compiler and matcher. The first line is a path, every further line an entry of the list. What the validator
// accepts must compile; the matcher must agree with itself; the overlap test must never deny a path that both sides match.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.hpp"
#include "base/text.hpp"
#include "glob/glob.hpp"

namespace {

namespace glob = vx::glob;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_pruning(const glob::matcher& compiled, std::string_view path) {
  if (!compiled.match(path)) return;
  check(compiled.positive(path) && !compiled.negative(path));
  for (std::string_view dir = vx::path::parent(path);; dir = vx::path::parent(dir)) {
    check(compiled.may_match_below(dir));
    if (dir.empty()) break;
  }
}

void check_overlap(const glob::matcher& compiled, std::string_view path) {
  for (const glob::pattern& a : compiled.positives()) {
    for (const glob::pattern& b : compiled.positives()) {
      const bool meet = glob::may_meet(a, b);
      check(meet == glob::may_meet(b, a));
      check(meet || !(glob::matches(a, path) && glob::matches(b, path)));
      check(meet || !glob::provably_overlap(a, b));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 600) return 0;  // longer input finds nothing new and hides what is slow
  const auto lines = vx::text::split({reinterpret_cast<const char*>(data), size}, '\n');
  std::vector<std::string> entries(lines.begin() + 1, lines.end());
  if (entries.size() > 8) return 0;
  bool acceptable = true;
  for (const std::string& entry : entries) {
    acceptable = vx::glob::check_entry(entry, glob::side::input).has_value() && acceptable;
    (void)glob::check_entry(entry, glob::side::output);
    (void)glob::normalize(entry);
    (void)glob::parse(entry);
  }
  (void)glob::check_list(entries, glob::side::input);
  const auto compiled = glob::matcher::compile(entries);
  check(compiled.has_value() || !acceptable);
  const std::string_view path = lines.front();
  if (!compiled || !vx::is_rel_path(path)) return 0;
  check_pruning(*compiled, path);
  check_overlap(*compiled, path);
  return 0;
}
