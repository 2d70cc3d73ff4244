// Questions between two patterns, answered over their segments: a pattern is its literal head and then segments, and a
// literal or `P/**` ends in a globstar. Sets of positions are bit masks, so nothing here allocates but the witness.
#include <array>
#include <cstdint>

#include "base/path.hpp"
#include "glob/glob.hpp"
#include "glob/segments.hpp"
#include "glob/syntax.hpp"

namespace vx::glob {

using detail::below;
using detail::is_within;
using detail::segment;
using detail::unit_at;

namespace {

constexpr std::size_t k_max_segments = 63;  // positions 0..63 fit a mask
constexpr std::size_t k_max_units = 255;

/// The segments after the literal head. `fits` is false for patterns longer than the masks; every answer is then the safe one.
struct tail {
  std::array<segment, k_max_segments> at;
  std::size_t size = 0;
  bool fits = true;

  explicit tail(const pattern& p) noexcept : tail(p, p.prefix) {}
  /// The segments below `from`, a directory at or above the literal head.
  tail(const pattern& p, std::string_view from) noexcept {
    for (std::string_view rest = below(p.prefix, from); !rest.empty();) {
      add({segment::kind::exact, 0, detail::take_front(rest)});
    }
    if (p.literal) {
      add(segment::of("**"));
      return;
    }
    for (std::string_view rest = below(p.text, p.prefix); !rest.empty();) add(segment::of(detail::take_front(rest)));
  }
  void add(const segment& s) noexcept {
    if (size < k_max_segments)
      at[size++] = s;
    else
      fits = false;
  }
  bool globstar(std::size_t i) const noexcept { return at[i].is == segment::kind::globstar; }

  /// Adds the positions reachable without taking a segment.
  std::uint64_t spread(std::uint64_t set) const noexcept {
    for (std::size_t i = 0; i < size; ++i) {
      if ((set >> i & 1U) != 0 && globstar(i)) set |= std::uint64_t{1} << (i + 1);
    }
    return set;
  }
  /// Positions after the segments of the literal path `rest`.
  std::uint64_t after(std::string_view rest) const noexcept {
    std::uint64_t set = spread(1);
    while (!rest.empty()) {
      const std::string_view name = detail::take_front(rest);
      std::uint64_t next = 0;
      for (std::size_t i = 0; i < size; ++i) {
        if ((set >> i & 1U) == 0) continue;
        if (globstar(i)) {
          next |= std::uint64_t{1} << i;
        } else if (at[i].match(name)) {
          next |= std::uint64_t{1} << (i + 1);
        }
      }
      set = spread(next);
    }
    return set;
  }
};

/// Units of one segment pattern, or false when it is too long or mixes '?' with bytes that are no UTF-8 (then a '?' may
/// take a byte that belongs to a longer unit, and only the bytes of a name decide).
struct units {
  std::array<std::string_view, k_max_units> at;
  std::size_t size = 0;
  bool fits = true;

  explicit units(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t n = unit_at(text, i);
      if (size == k_max_units || (n == 1 && static_cast<unsigned char>(text[i]) >= 0x80)) {
        fits = false;
        return;
      }
      at[size++] = text.substr(i, n);
      i += n;
    }
  }
  bool star(std::size_t i) const noexcept { return at[i] == "*"; }
  bool any(std::size_t i) const noexcept { return at[i] == "?"; }
};

enum class answer : std::uint8_t { no, yes, unknown };

answer segments_meet(std::string_view a, std::string_view b) noexcept {
  if (a == b || a == "*" || b == "*") return answer::yes;
  const units x(a);
  const units y(b);
  if (!x.fits || !y.fits) return answer::unknown;
  std::array<bool, k_max_units + 1> row{};  // row[j]: x[i..] meets y[j..]
  for (std::size_t i = x.size + 1; i-- > 0;) {
    std::array<bool, k_max_units + 1> next = row;
    for (std::size_t j = y.size + 1; j-- > 0;) {
      bool meets = i == x.size && j == y.size;
      if (i < x.size && x.star(i)) {
        meets = next[j] || (j < y.size && row[j + 1]);
      } else if (j < y.size && y.star(j)) {
        meets = row[j + 1] || (i < x.size && next[j]);
      } else if (i < x.size && j < y.size) {
        meets = next[j + 1] && (x.any(i) || y.any(j) || x.at[i] == y.at[j]);
      }
      row[j] = meets;
    }
  }
  return row[0] ? answer::yes : answer::no;
}

bool segment_covers(const segment& outer, const segment& inner) noexcept {
  if (outer.is == segment::kind::any || outer.text == inner.text) return true;
  if (inner.is == segment::kind::exact) return outer.match(inner.text);
  const units x(outer.text);
  const units y(inner.text);
  if (!x.fits || !y.fits) return false;
  std::array<bool, k_max_units + 1> row{};  // row[j]: x[i..] covers y[j..]
  for (std::size_t i = x.size + 1; i-- > 0;) {
    std::array<bool, k_max_units + 1> next = row;
    for (std::size_t j = y.size + 1; j-- > 0;) {
      bool holds = i == x.size && j == y.size;
      if (i < x.size && x.star(i)) {
        holds = next[j] || (j < y.size && row[j + 1]);
      } else if (i < x.size && j < y.size && !y.star(j)) {
        holds = next[j + 1] && (x.any(i) || (!y.any(j) && x.at[i] == y.at[j]));
      }
      row[j] = holds;
    }
  }
  return row[0];
}

/// Is there a path that two tails match from the positions given? Fills reach[i]: positions j of b from which (i, j) succeeds.
using reach_table = std::array<std::uint64_t, k_max_segments + 1>;

reach_table meeting_positions(const tail& a, const tail& b) noexcept {
  reach_table reach{};
  for (std::size_t i = a.size + 1; i-- > 0;) {
    for (std::size_t j = b.size + 1; j-- > 0;) {
      const auto ok = [&](std::size_t p, std::size_t q) { return (reach[p] >> q & 1U) != 0; };
      bool meets = i == a.size && j == b.size;
      if (i < a.size && a.globstar(i)) {
        meets = ok(i + 1, j) || (j < b.size && ok(i, j + 1));
      } else if (j < b.size && b.globstar(j)) {
        meets = ok(i, j + 1) || (i < a.size && ok(i + 1, j));
      } else if (i < a.size && j < b.size) {
        meets = ok(i + 1, j + 1) && segments_meet(a.at[i].text, b.at[j].text) != answer::no;
      }
      if (meets) reach[i] |= std::uint64_t{1} << j;
    }
  }
  return reach;
}

/// Orders two patterns so that `deep` has the longer literal head; false when the heads part.
bool order_by_head(const pattern*& shallow, const pattern*& deep) noexcept {
  if (shallow->prefix.size() > deep->prefix.size()) std::swap(shallow, deep);
  return is_within(deep->prefix, shallow->prefix);
}

/// A name that both segment patterns match: walks the table of segments_meet forward, putting "x" where nothing is said.
bool common_name(std::string_view a, std::string_view b, std::string& out) {
  const units x(a);
  const units y(b);
  if (!x.fits || !y.fits) return false;
  std::vector<std::vector<char>> ok(x.size + 1, std::vector<char>(y.size + 1, 0));
  for (std::size_t i = x.size + 1; i-- > 0;) {
    for (std::size_t j = y.size + 1; j-- > 0;) {
      bool meets = i == x.size && j == y.size;
      if (i < x.size && x.star(i))
        meets = ok[i + 1][j] || (j < y.size && ok[i][j + 1]);
      else if (j < y.size && y.star(j))
        meets = ok[i][j + 1] || (i < x.size && ok[i + 1][j]);
      else if (i < x.size && j < y.size)
        meets = ok[i + 1][j + 1] && (x.any(i) || y.any(j) || x.at[i] == y.at[j]);
      ok[i][j] = meets ? 1 : 0;
    }
  }
  if (!ok[0][0]) return false;
  std::string name;
  const auto put = [&name](std::string_view unit) { name += unit == "?" || unit == "*" ? std::string_view("x") : unit; };
  for (std::size_t i = 0, j = 0; i < x.size || j < y.size;) {
    if (i < x.size && x.star(i)) {
      if (ok[i + 1][j]) {
        ++i;
      } else {
        put(y.at[j++]);
      }
    } else if (j < y.size && y.star(j)) {
      if (ok[i][j + 1]) {
        ++j;
      } else {
        put(x.at[i++]);
      }
    } else {
      put(x.any(i) ? y.at[j] : x.at[i]);
      ++i;
      ++j;
    }
  }
  if (name.empty() || name == "." || name == "..") {
    const bool front = !a.empty() && a.front() == '*' && !b.empty() && b.front() == '*';
    name = front ? "x" + name : name + "x";
  }
  out += name;
  return true;
}

/// A path that goes on from positions (i, j) for at least one segment.
bool continue_witness(const tail& a, const tail& b, const reach_table& reach, std::size_t i, std::size_t j, std::string& out) {
  const auto ok = [&](std::size_t p, std::size_t q) { return (reach[p] >> q & 1U) != 0; };
  bool taken = false;
  while (i < a.size || j < b.size) {
    const bool star_a = i < a.size && a.globstar(i);
    const bool star_b = j < b.size && b.globstar(j);
    if (star_a && star_b) {
      if (!taken && i + 1 == a.size && j + 1 == b.size) {
        out += "/x";
        return true;
      }
      if (ok(i + 1, j))
        ++i;
      else
        ++j;
    } else if (star_a || star_b) {
      std::size_t& star = star_a ? i : j;
      std::size_t& other = star_a ? j : i;
      const tail& t = star_a ? b : a;
      const bool drop = star_a ? ok(i + 1, j) : ok(i, j + 1);
      if (drop && (taken || other < t.size)) {
        ++star;
      } else if (other < t.size) {
        out += '/';
        if (!common_name("*", t.at[other++].text, out)) return false;
        taken = true;
      } else {
        return false;
      }
    } else {
      if (i == a.size || j == b.size) return false;
      out += '/';
      if (!common_name(a.at[i++].text, b.at[j++].text, out)) return false;
      taken = true;
    }
  }
  return taken;
}

std::size_t least_segments(const tail& t, std::size_t from) noexcept {
  std::size_t n = 0;
  for (std::size_t i = from; i < t.size; ++i) n += t.globstar(i) ? 0U : 1U;
  return n;
}

/// When t[from..] is one or more globstars and single stars only: the least number of segments it takes. Else none.
bool takes_any_of_at_least(const tail& t, std::size_t from, std::size_t& least) noexcept {
  bool open = false;
  least = 0;
  for (std::size_t i = from; i < t.size; ++i) {
    if (t.globstar(i))
      open = true;
    else if (t.at[i].is == segment::kind::any)
      ++least;
    else
      return false;
  }
  return open;
}

bool tail_covers(const tail& outer, const tail& inner) noexcept {
  std::array<std::uint64_t, k_max_segments + 1> row{};  // row[i] bit j: outer[i..] covers inner[j..]
  for (std::size_t i = outer.size + 1; i-- > 0;) {
    std::size_t least = 0;
    const bool open = takes_any_of_at_least(outer, i, least);
    for (std::size_t j = inner.size + 1; j-- > 0;) {
      const auto ok = [&](std::size_t p, std::size_t q) { return (row[p] >> q & 1U) != 0; };
      bool holds = i == outer.size && j == inner.size;
      if (open && least_segments(inner, j) >= least) {
        holds = true;
      } else if (i < outer.size && outer.globstar(i)) {
        holds = ok(i + 1, j) || (j < inner.size && ok(i, j + 1));
      } else if (i < outer.size && j < inner.size && !inner.globstar(j)) {
        holds = ok(i + 1, j + 1) && segment_covers(outer.at[i], inner.at[j]);
      }
      if (holds) row[i] |= std::uint64_t{1} << j;
    }
  }
  return (row[0] & 1U) != 0;
}

}  // namespace

bool may_meet(const pattern& a, const pattern& b) noexcept {
  const pattern* shallow = &a;
  const pattern* deep = &b;
  if (!order_by_head(shallow, deep)) return false;
  const tail s(*shallow);
  const tail d(*deep);
  if (!s.fits || !d.fits) return true;
  const std::uint64_t starts = s.after(below(deep->prefix, shallow->prefix));
  if (starts == 0) return false;
  const reach_table reach = meeting_positions(s, d);
  for (std::size_t i = 0; i <= s.size; ++i) {
    if ((starts >> i & 1U) != 0 && (reach[i] & 1U) != 0) return true;
  }
  return false;
}

bool provably_overlap(const pattern& a, const pattern& b) {
  if (a.text == b.text && a.literal == b.literal && a.prefix == b.prefix) return true;
  if (a.literal && matches(b, a.text)) return true;
  if (b.literal && matches(a, b.text)) return true;
  const pattern* shallow = &a;
  const pattern* deep = &b;
  if (!order_by_head(shallow, deep)) return false;
  const tail s(*shallow);
  const tail d(*deep);
  if (!s.fits || !d.fits) return false;
  const reach_table reach = meeting_positions(s, d);
  const std::uint64_t starts = s.after(below(deep->prefix, shallow->prefix));
  for (std::size_t i = 0; i <= s.size; ++i) {
    if ((starts >> i & 1U) == 0 || (reach[i] & 1U) == 0) continue;
    std::string witness = deep->prefix;
    if (!continue_witness(s, d, reach, i, 0, witness)) continue;
    if (witness.starts_with('/')) witness.erase(0, 1);
    if (is_rel_path(witness) && matches(a, witness) && matches(b, witness)) return true;
  }
  return false;
}

bool covers(const pattern& outer, const pattern& inner) {
  if (!is_within(inner.prefix, outer.prefix)) return false;
  const tail o(outer);
  const tail n(inner, outer.prefix);
  return o.fits && n.fits && tail_covers(o, n);
}

}  // namespace vx::glob
