// Candidate pairs of glob patterns that could meet, without looking at all pairs: a pattern's literal head must begin the
// other's, and in a crowd of equal heads one literal tail must end the other's. Internal to workspace/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "glob/glob.hpp"

namespace vx::workspace {

struct indexed_pattern {
  const glob::pattern* p = nullptr;
  std::uint32_t owner = 0;  ///< an index of the caller's choosing
  std::string_view head() const noexcept {
    const std::string_view text = p->text;
    return p->literal ? text : text.substr(0, text.find_first_of("*?", p->prefix.size()));
  }
  std::string_view tail() const noexcept {
    const std::string_view text = p->text;
    return text.substr(text.find_last_of("*?") + 1);
  }
};

/// Patterns with one head. A literal owns a whole tree, so no tail rules it out.
class head_group {
 public:
  explicit head_group(std::string_view head) : head_(head) {}
  std::string_view head() const noexcept { return head_; }

  void add(const indexed_pattern& x) {
    if (x.p->literal) {
      loose_.push_back(x);
    } else {
      by_tail_[reversed(x.tail())].push_back(x);
    }
  }

  /// body(other) for everything here that may meet `x`; false ends the walk.
  template <class F>
  bool candidates(const indexed_pattern& x, F&& body) const {
    if (!each(loose_, body)) return false;
    if (x.p->literal) {
      for (const auto& [tail, list] : by_tail_) {
        if (!each(list, body)) return false;
      }
      return true;
    }
    const std::string tail = reversed(x.tail());
    for (std::size_t n = 0; n < tail.size(); ++n) {  // theirs ends ours
      const auto it = by_tail_.find(std::string_view(tail).substr(0, n));
      if (it != by_tail_.end() && !each(it->second, body)) return false;
    }
    for (auto it = by_tail_.lower_bound(tail); it != by_tail_.end() && it->first.starts_with(tail); ++it) {  // ours ends theirs
      if (!each(it->second, body)) return false;
    }
    return true;
  }

 private:
  static std::string reversed(std::string_view s) { return {s.rbegin(), s.rend()}; }
  template <class F>
  static bool each(const std::vector<indexed_pattern>& list, F& body) {
    return std::all_of(list.begin(), list.end(), [&](const indexed_pattern& y) { return body(y); });
  }
  std::string_view head_;
  std::vector<indexed_pattern> loose_;
  std::map<std::string, std::vector<indexed_pattern>, std::less<>> by_tail_;
};

/// body(a, b) for every candidate pair; false ends the walk, and the call.
template <class F>
bool join_patterns(std::vector<indexed_pattern> items, F&& body) {
  std::stable_sort(items.begin(), items.end(),
                   [](const indexed_pattern& a, const indexed_pattern& b) { return a.head() < b.head(); });
  std::vector<head_group> open;  // each head begins the next
  for (const indexed_pattern& x : items) {
    while (!open.empty() && !x.head().starts_with(open.back().head())) open.pop_back();
    for (const head_group& g : open) {
      if (!g.candidates(x, [&](const indexed_pattern& y) { return body(y, x); })) return false;
    }
    if (open.empty() || open.back().head() != x.head()) open.emplace_back(x.head());
    open.back().add(x);
  }
  return true;
}

}  // namespace vx::workspace
