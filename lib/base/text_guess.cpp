// Guessing what was meant, and naming a few of many.
#include <algorithm>

#include "base/text.hpp"

namespace vx::text {

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t cap) noexcept {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > cap) return cap + 1;
  // Names beyond this are not typing slips; the rows then live on the stack.
  constexpr std::size_t k_longest = 255;
  if (a.size() > k_longest) return a == b ? 0 : cap + 1;
  std::size_t row[k_longest + 1];
  for (std::size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    std::size_t diagonal = row[0];
    std::size_t best = row[0] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({replaced, row[i] + 1, row[i - 1] + 1});
      best = std::min(best, row[i]);
    }
    if (best > cap) return cap + 1;
  }
  return std::min(row[a.size()], cap + 1);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates, std::size_t limit) {
  const std::string* best = nullptr;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate, limit);
    if (distance == 0) return std::nullopt;
    if (distance > limit) continue;
    if (distance < best_distance || (distance == best_distance && candidate < *best)) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::nullopt : std::optional<std::string>(*best);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto guess = nearest(word, candidates);
  return guess ? " (did you mean " + escape(*guess, true) + "?)" : std::string();
}

std::string list_some(std::span<const std::string> names, std::size_t shown) {
  std::string out;
  const std::size_t n = std::min(names.size(), shown);
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) out.append(", ");
    out.append(names[i]);
  }
  if (names.size() > n) {
    if (n > 0) out.append(" and ");
    out.append(std::to_string(names.size() - n)).append(" more");
  }
  return out;
}

}  // namespace vx::text
