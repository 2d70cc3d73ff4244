#include "run/locations.hpp"

#include <algorithm>
#include <array>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"

namespace vx::run {
namespace {

constexpr std::size_t k_most = 20;
constexpr std::size_t k_longest_path = 1024;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// What ends a path to its left: compilers write paths after white space, quotes or brackets.
bool ends_path(char c) noexcept {
  constexpr std::string_view k_ends = " \t\r\n\"'`()[]{}<>|,;=";
  return k_ends.find(c) != std::string_view::npos;
}

std::optional<std::uint32_t> number_at(std::string_view s, std::size_t& at) {
  const std::size_t from = at;
  while (at < s.size() && is_digit(s[at])) ++at;
  if (at == from || at - from > 7) return std::nullopt;
  std::uint32_t n = 0;
  for (std::size_t i = from; i < at; ++i) n = n * 10 + static_cast<std::uint32_t>(s[i] - '0');
  return n == 0 ? std::nullopt : std::optional(n);
}

/// The path that ends just before `end`.
std::string path_before(std::string_view line, std::size_t end) {
  std::size_t from = end;
  while (from > 0 && !ends_path(line[from - 1])) --from;
  std::string_view word = line.substr(from, end - from);
  if (word.starts_with("file://")) word.remove_prefix(7);
  return word.size() > k_longest_path ? std::string() : std::string(word);
}

class finder {
 public:
  explicit finder(const resolve_fn& resolve) : resolve_(resolve) {}

  void line(std::string_view text) {
    if (named(text)) return;
    for (std::size_t at = 1; at + 1 < text.size() && out_.size() < k_most; ++at) {
      if ((text[at] != ':' && text[at] != '(') || !is_digit(text[at + 1])) continue;
      at = numbered(text, at);
    }
  }
  bool full() const { return out_.size() >= k_most; }
  std::vector<location> take() { return std::move(out_); }

 private:
  /// `file:12`, `file:12:5`, `file(12,5)` with the sign at `at`. Returns where to go on.
  std::size_t numbered(std::string_view text, std::size_t at) {
    const char sign = text[at];
    std::size_t next = at + 1;
    const std::optional<std::uint32_t> row = number_at(text, next);
    if (!row) return next;
    std::optional<std::uint32_t> column;
    if (next + 1 < text.size() && text[next] == (sign == '(' ? ',' : ':') && is_digit(text[next + 1])) {
      std::size_t after = next + 1;
      column = number_at(text, after);
      next = after;
    }
    if (sign == '(' && (next >= text.size() || text[next] != ')')) return at;
    add(path_before(text, at), row, column);
    return next - 1;
  }

  /// Python's: File "a/b.py", line 3
  bool named(std::string_view text) {
    constexpr std::string_view k_head = "File \"", k_line = "\", line ";
    const std::size_t head = text.find(k_head);
    if (head == std::string_view::npos) return false;
    const std::size_t from = head + k_head.size(), end = text.find(k_line, from);
    if (end == std::string_view::npos || end - from > k_longest_path) return false;
    std::size_t at = end + k_line.size();
    const auto row = number_at(text, at);
    if (row) add(std::string(text.substr(from, end - from)), row, std::nullopt);
    return row.has_value();
  }

  void add(const std::string& written, std::optional<std::uint32_t> row, std::optional<std::uint32_t> column) {
    if (written.empty() || written.find('\0') != std::string::npos) return;
    std::optional<std::string> file = resolve_(written);
    if (!file) return;
    location found{std::move(*file), row, column};
    if (std::find(out_.begin(), out_.end(), found) == out_.end()) out_.push_back(std::move(found));
  }

  const resolve_fn& resolve_;
  std::vector<location> out_;
};

}  // namespace

std::vector<location> find_locations(std::string_view output, const resolve_fn& resolve) {
  finder f(resolve);
  for (const std::string_view line : text::split(output, '\n')) {
    if (f.full()) break;
    f.line(line);
  }
  return f.take();
}

resolve_fn resolve_below(std::string root, std::string project_dir) {
  return [root = std::move(root), dir = std::move(project_dir)](const std::string& written) -> std::optional<std::string> {
    std::vector<std::string> tries;
    if (written.front() == '/') {
      const std::string plain = path::normalize(written);
      if (!path::is_within(plain, root) || plain == root) return std::nullopt;
      tries.emplace_back(path::relative_to(plain, root));
    } else {
      for (const std::string& below : {dir, std::string()}) {
        std::string plain;
        if (path::normalize_within(path::join(below, written), plain) && !plain.empty()) tries.push_back(std::move(plain));
      }
    }
    for (std::string& name : tries) {
      const auto st = fs::stat_at(fs::k_cwd, path::join(root, name));
      if (st && st->kind == fs::kind::file) return std::move(name);
    }
    return std::nullopt;
  };
}

}  // namespace vx::run
