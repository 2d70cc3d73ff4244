#include "workspace/semver.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vx::workspace::semver {

namespace {

constexpr std::uint64_t k_max_number = (std::uint64_t{1} << 53) - 1;  // npm refuses numbers a double cannot hold

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_numeric(std::string_view id) noexcept { return !id.empty() && std::all_of(id.begin(), id.end(), is_digit); }

bool is_identifier(std::string_view id) noexcept {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  if (!is_numeric(text) || text.size() > 16 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t n = 0;
  for (const char c : text) n = n * 10 + static_cast<std::uint64_t>(c - '0');
  if (n > k_max_number) return std::nullopt;
  return n;
}

bool parse_identifiers(std::string_view text, std::vector<std::string>& out) {
  for (const std::string_view id : text::split(text, '.')) {
    if (!is_identifier(id) || (is_numeric(id) && id.size() > 1 && id[0] == '0')) return false;
    out.emplace_back(id);
  }
  return true;
}

/// A version whose trailing parts may be missing or wildcards: "1", "1.x", "*".
struct partial {
  std::array<std::uint64_t, 3> number{};
  int given = 0;                ///< leading parts that are numbers, 0 to 3
  bool after_wildcard = false;  ///< "1.x.2": only ^, ~ and hyphen ranges take it
  std::vector<std::string> pre;
  version floor() const { return {number, given == 3 ? pre : std::vector<std::string>{}}; }
};

std::optional<partial> parse_partial(std::string_view text) {
  while (!text.empty() && (text[0] == 'v' || text[0] == '=' || is_space(text[0]))) text.remove_prefix(1);
  partial p;
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    for (const std::string_view id : text::split(text.substr(plus + 1), '.')) {
      if (!is_identifier(id)) return std::nullopt;
    }
    text = text.substr(0, plus);
  }
  std::string_view pre;
  bool has_pre = false;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    pre = text.substr(dash + 1);
    has_pre = true;
    text = text.substr(0, dash);
  }
  if (text.empty()) return has_pre ? std::nullopt : std::optional<partial>(p);
  const auto parts = text::split(text, '.');
  if (parts.size() > 3) return std::nullopt;
  bool wild = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "x" || parts[i] == "X" || parts[i] == "*") {
      wild = true;
      continue;
    }
    const auto n = parse_number(parts[i]);
    if (!n) return std::nullopt;
    if (wild) {
      p.after_wildcard = true;
      continue;
    }
    p.number[i] = *n;
    p.given = static_cast<int>(i) + 1;
  }
  if (has_pre && (parts.size() < 3 || !parse_identifiers(pre, p.pre))) return std::nullopt;
  return p;
}

/// The lowest version of the next block: part `at` raised by one, the rest zero, as the pre-release "-0" so that no pre-release
/// of the bound itself slips under it.
version block_end(const partial& p, int at) {
  version v;
  for (int i = 0; i < at; ++i) v.number[static_cast<std::size_t>(i)] = p.number[static_cast<std::size_t>(i)];
  v.number[static_cast<std::size_t>(at)] = p.number[static_cast<std::size_t>(at)] + 1;
  v.pre = {"0"};
  return v;
}

version release(version v) {
  v.pre.clear();
  return v;
}

}  // namespace

std::optional<version> parse_version(std::string_view text) {
  const auto p = parse_partial(text::trim(text));
  if (!p || p->given != 3) return std::nullopt;
  return version{p->number, p->pre};
}

int compare(const version& a, const version& b) noexcept {
  if (a.number != b.number) return a.number < b.number ? -1 : 1;
  if (a.pre.empty() || b.pre.empty()) return static_cast<int>(a.pre.empty()) - static_cast<int>(b.pre.empty());
  const std::size_t n = std::min(a.pre.size(), b.pre.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::string &x = a.pre[i], &y = b.pre[i];
    if (x == y) continue;
    const bool nx = is_numeric(x), ny = is_numeric(y);
    if (nx != ny) return nx ? -1 : 1;
    if (nx && x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return a.pre.size() == b.pre.size() ? 0 : a.pre.size() < b.pre.size() ? -1 : 1;
}

/// Turns the text of one alternative into comparators.
struct range_parser {
  using op = range::op;
  range::set& out;

  void add(op how, version bound) { out.push_back({how, std::move(bound)}); }
  void nothing() { add(op::lt, version{{0, 0, 0}, {"0"}}); }

  void caret(const partial& p) {
    if (p.given == 0) return;
    add(op::ge, p.floor());
    int at = 0;  // the leftmost non-zero part is the one that may not change
    while (at < p.given - 1 && p.number[static_cast<std::size_t>(at)] == 0) ++at;
    add(op::lt, block_end(p, at));
  }
  void tilde(const partial& p) {
    if (p.given == 0) return;
    add(op::ge, p.floor());
    add(op::lt, block_end(p, p.given == 1 ? 0 : 1));
  }
  void equal(const partial& p) {
    if (p.given == 3) return add(op::eq, p.floor());
    if (p.given == 0) return;
    add(op::ge, p.floor());
    add(op::lt, block_end(p, p.given - 1));
  }
  void relation(std::string_view how, const partial& p) {
    if (p.given == 3) return add(how == "<" ? op::lt : how == "<=" ? op::le : how == ">" ? op::gt : op::ge, p.floor());
    if (p.given == 0) {
      if (how == "<" || how == ">") nothing();
      return;
    }
    if (how == ">") return add(op::ge, release(block_end(p, p.given - 1)));
    if (how == ">=") return add(op::ge, p.floor());
    if (how == "<=") return add(op::lt, block_end(p, p.given - 1));
    version low = p.floor();
    low.pre = {"0"};
    add(op::lt, std::move(low));
  }
  void upper(const partial& p) {  // right side of a hyphen range
    if (p.given == 3) return add(op::le, p.floor());
    if (p.given > 0) add(op::lt, block_end(p, p.given - 1));
  }

  bool hyphen(std::string_view text, bool& matched) {
    const auto at = text.find(" - ");
    matched = at != std::string_view::npos;
    if (!matched) return true;
    const auto low = parse_partial(text::trim(text.substr(0, at))), high = parse_partial(text::trim(text.substr(at + 3)));
    if (!low || !high) return false;
    if (low->given > 0) add(op::ge, low->floor());
    upper(*high);
    return true;
  }

  bool parse(std::string_view text) {
    text = text::trim(text);
    bool done = false;
    if (!hyphen(text, done)) return false;
    if (done) return true;
    std::size_t i = 0;
    while (i < text.size()) {
      if (is_space(text[i])) {
        ++i;
        continue;
      }
      const std::size_t op_start = i;
      while (i < text.size() && std::string_view("<>=~^").find(text[i]) != std::string_view::npos) ++i;
      const std::string_view how = text.substr(op_start, i - op_start);
      while (i < text.size() && is_space(text[i])) ++i;  // ">= 1.2" is one comparator
      const std::size_t start = i;
      while (i < text.size() && !is_space(text[i])) ++i;
      const auto p = parse_partial(text.substr(start, i - start));
      if (!p || !one(how, *p)) return false;
    }
    return true;
  }

  bool one(std::string_view how, const partial& p) {
    if (p.after_wildcard && how != "^" && !how.starts_with('~')) return false;
    if (how.empty() || how == "=") {
      equal(p);
    } else if (how == "^") {
      caret(p);
    } else if (how == "~" || how == "~>") {
      tilde(p);
    } else if (how == "<" || how == "<=" || how == ">" || how == ">=") {
      relation(how, p);
    } else {
      return false;
    }
    return true;
  }
};

std::optional<range> range::parse(std::string_view text) {
  range r;
  std::size_t start = 0;
  while (true) {
    const auto bar = text.find("||", start);
    r.any_of_.emplace_back();
    range_parser parser{r.any_of_.back()};
    if (!parser.parse(text.substr(start, bar == std::string_view::npos ? bar : bar - start))) return std::nullopt;
    if (bar == std::string_view::npos) return r;
    start = bar + 2;
  }
}

bool range::contains(const version& v) const noexcept {
  const auto holds = [&](const comparator& c) {
    const int d = compare(v, c.bound);
    switch (c.how) {
      case op::lt: return d < 0;
      case op::le: return d <= 0;
      case op::gt: return d > 0;
      case op::ge: return d >= 0;
      case op::eq: return d == 0;
    }
    return false;
  };
  for (const set& all : any_of_) {
    if (!std::all_of(all.begin(), all.end(), holds)) continue;
    if (v.pre.empty()) return true;
    const bool named = std::any_of(all.begin(), all.end(),
                                   [&](const comparator& c) { return !c.bound.pre.empty() && c.bound.number == v.number; });
    if (named) return true;
  }
  return false;
}

}  // namespace vx::workspace::semver
