// A slow, plain reading of the task-glob dialect to compare the matcher with, and generators of random patterns and paths.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace vx::test {

inline std::vector<std::string> split_path(const std::string& s) {
  std::vector<std::string> out(1);
  for (const char c : s) {
    if (c == '/')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

inline bool ref_segment(const char* p, const char* n) {
  if (*p == '\0') return *n == '\0';
  if (*p == '*') return ref_segment(p + 1, n) || (*n != '\0' && ref_segment(p, n + 1));
  if (*n == '\0') return false;
  return (*p == '?' || *p == *n) && ref_segment(p + 1, n + 1);
}

inline bool ref_segments(const std::vector<std::string>& p, std::size_t i, const std::vector<std::string>& n, std::size_t j) {
  if (i == p.size()) return j == n.size();
  if (p[i] == "**") return ref_segments(p, i + 1, n, j) || (j < n.size() && ref_segments(p, i, n, j + 1));
  return j < n.size() && ref_segment(p[i].c_str(), n[j].c_str()) && ref_segments(p, i + 1, n, j + 1);
}

/// ASCII only; no escapes.
inline std::vector<std::string> ref_expand(const std::string& s) {
  const std::size_t open = s.find('{');
  if (open == std::string::npos) return {s};
  std::vector<std::string> arms(1);
  int depth = 0;
  std::size_t i = open;
  for (;; ++i) {
    if (s[i] == '{' && depth++ == 0) continue;
    if (s[i] == '}' && --depth == 0) break;
    if (s[i] == ',' && depth == 1)
      arms.emplace_back();
    else
      arms.back() += s[i];
  }
  std::vector<std::string> out;
  for (const std::string& arm : arms) {
    for (std::string& e : ref_expand(s.substr(0, open) + arm + s.substr(i + 1))) out.push_back(std::move(e));
  }
  return out;
}

inline bool ref_match(const std::string& entry, const std::string& path) {
  for (std::string text : ref_expand(entry)) {
    const bool wild = text.find_first_of("*?") != std::string::npos;
    std::vector<std::string> segments;
    for (const std::string& s : split_path(text)) {
      if (!s.empty() && s != ".") segments.push_back(s);
    }
    if (!wild || text.back() == '/') segments.emplace_back("**");
    if (ref_segments(segments, 0, split_path(path), 0)) return true;
  }
  return false;
}

class random_text {
 public:
  explicit random_text(unsigned seed) : rng_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng_); }
  bool chance(std::size_t percent) { return below(100) < percent; }

  std::string name() {
    std::string s;
    const std::size_t n = 1 + below(3);
    for (std::size_t i = 0; i < n; ++i) s += "ab."[below(5) == 0 ? 2 : below(2)];
    return s == "." || s == ".." ? "a" : s;
  }
  std::string path() {
    std::string s = name();
    for (std::size_t n = below(4); n > 0; --n) s += "/" + name();
    return s;
  }
  std::string segment() {
    switch (below(8)) {
      case 0:
      case 1: return "**";
      case 2: return "*";
      case 3: return "*" + name();
      case 4: return name() + "*";
      case 5: return chance(50) ? "?" : "a?*";
      default: return name();
    }
  }
  std::string glob(bool braces) {
    std::string s = segment();
    for (std::size_t n = below(4); n > 0; --n) s += "/" + segment();
    if (braces && chance(25)) s += "/{" + segment() + "," + segment() + "/" + segment() + "}";
    if (braces && chance(10)) s = "{" + name() + "," + name() + "}" + s;
    if (chance(8)) s += "/";
    return s;
  }

 private:
  std::mt19937 rng_;
};

}  // namespace vx::test
