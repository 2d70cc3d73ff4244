#include "base/near_names.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vx::text {
namespace {

std::string folded(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

}  // namespace

std::vector<std::string> near_names(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t k_limit = 2, k_most = 3, k_contains = k_limit + 1;
  constexpr std::size_t k_shortest = 3;  // shorter names are part of anything
  const std::string plain = folded(word);
  std::vector<std::pair<std::size_t, const std::string*>> ranked;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate, k_limit);
    if (distance == 0) continue;
    const std::string other = folded(candidate);
    const bool holds = (plain.size() >= k_shortest && other.find(plain) != std::string::npos) ||
                       (other.size() >= k_shortest && plain.find(other) != std::string::npos);
    if (distance <= k_limit)
      ranked.emplace_back(distance, &candidate);
    else if (holds)
      ranked.emplace_back(k_contains, &candidate);
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : *a.second < *b.second; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(ranked.size(), k_most); ++i) out.push_back(*ranked[i].second);
  return out;
}

std::string did_you_mean_some(std::string_view word, std::span<const std::string> candidates) {
  const std::vector<std::string> near = near_names(word, candidates);
  if (near.empty()) return {};
  std::string out = " (did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) out += i + 1 == near.size() ? " or " : ", ";
    out += escape(near[i], true);
  }
  return out + "?)";
}

}  // namespace vx::text
