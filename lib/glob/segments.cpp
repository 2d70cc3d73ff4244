#include "glob/segments.hpp"

#include "glob/syntax.hpp"

namespace vx::glob::detail {

namespace {

bool is_tail(unsigned char c) noexcept { return (c & 0xC0U) == 0x80U; }

}  // namespace

std::size_t unit_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned char lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return 1;
  if (lead < 0xE0) return left >= 2 && is_tail(byte(1)) ? 2 : 1;
  if (left < 3 || !is_tail(byte(1)) || !is_tail(byte(2))) return 1;
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 1 : 3;
  }
  if (left < 4 || !is_tail(byte(3))) return 1;
  const bool out_of_range = (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
  return out_of_range ? 1 : 4;
}

bool wild_match(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // where to resume after the last star
  std::size_t mark = 0;                       // what that star has taken so far
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      mark = n;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      n += unit_at(name, n);
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star;
      mark += unit_at(name, mark);  // whole units, so that a later '?' never sees half a character
      n = mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

segment segment::of(std::string_view text) noexcept {
  if (text == "**") return {kind::globstar, 0, text};
  if (text == "*") return {kind::any, 0, text};
  const std::size_t star = text.find('*');
  const bool question = text.find('?') != std::string_view::npos;
  if (star == std::string_view::npos && !question) return {kind::exact, 0, text};
  if (!question && text.find('*', star + 1) == std::string_view::npos)
    return {kind::ends, static_cast<std::uint32_t>(star), text};
  return {kind::wild, 0, text};
}

bool segment::match(std::string_view name) const noexcept {
  switch (is) {
    case kind::globstar:
    case kind::any: return true;
    case kind::exact: return name == text;
    case kind::ends: {
      const std::string_view head = text.substr(0, star);
      const std::string_view tail = text.substr(star + 1);
      return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
    }
    case kind::wild: return wild_match(text, name);
  }
  return false;
}

compiled::compiled(const pattern& p) : prefix_(p.prefix) {
  for (std::string_view rest = below(p.text, prefix_); !rest.empty();) segments_.push_back(segment::of(take_front(rest)));
  first_ = last_ = segments_.size();
  bool only_stars = true;
  for (std::size_t i = segments_.size(); i-- > 0;) {
    const segment::kind is = segments_[i].is;
    if (is == segment::kind::globstar) {
      if (last_ == segments_.size()) last_ = i;
      first_ = i;
      closed_ = closed_ || only_stars;
    } else if (is != segment::kind::any) {
      only_stars = false;
    }
  }
}

bool compiled::is_within_prefix(std::string_view path) const noexcept { return is_within(path, prefix_); }

bool compiled::match_below(std::string_view path) const noexcept {
  std::string_view rest = below(path, prefix_);
  const std::size_t n = segments_.size();
  for (std::size_t i = 0; i < first_; ++i) {
    if (rest.empty() || !segments_[i].match(take_front(rest))) return false;
  }
  if (first_ == n) return rest.empty();
  for (std::size_t i = n; i-- > last_ + 1;) {
    if (rest.empty() || !segments_[i].match(take_back(rest))) return false;
  }
  // Between two globstars the leftmost fit is the best one: what follows has the most left to choose from.
  for (std::size_t i = first_; i < last_;) {
    std::size_t end = i + 1;
    while (segments_[end].is != segment::kind::globstar) ++end;
    for (;;) {
      std::string_view probe = rest;
      std::size_t k = i + 1;
      while (k < end && !probe.empty() && segments_[k].match(take_front(probe))) ++k;
      if (k == end) {
        rest = probe;
        break;
      }
      if (rest.empty()) return false;
      take_front(rest);
    }
    i = end;
  }
  return true;
}

bool compiled::may_match_below(std::string_view dir) const noexcept {
  if (is_within(prefix_, dir)) return true;
  if (!is_within(dir, prefix_)) return false;
  std::string_view rest = below(dir, prefix_);
  for (const segment& s : segments_) {
    if (s.is == segment::kind::globstar || rest.empty()) return true;
    if (!s.match(take_front(rest))) return false;
  }
  return rest.empty();
}

}  // namespace vx::glob::detail
