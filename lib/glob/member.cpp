// The dialect of package lists, `projects` and filter paths: character classes, and wildcards that leave hidden names alone.
#include <algorithm>
#include <array>

#include "base/path.hpp"
#include "base/text.hpp"
#include "glob/classes.hpp"
#include "glob/glob.hpp"
#include "glob/syntax.hpp"

namespace vx::glob {

using detail::k_member_rules;
using detail::quoted;

namespace {

constexpr std::array<std::string_view, 3> k_skipped = {"node_modules", ".git", ".vx"};

bool passes_skipped(std::string_view dir) noexcept {
  for (std::string_view rest = dir; !rest.empty();) {
    if (std::find(k_skipped.begin(), k_skipped.end(), detail::take_front(rest)) != k_skipped.end()) return true;
  }
  return false;
}

bool plain_names(std::string_view names) noexcept {
  return !names.empty() && names.find_first_of("*?[]{}()!\\/") == std::string_view::npos;
}

/// What to write for a group that is one whole segment of plain names; "" when there is no exact rewrite.
std::string extglob_rewrite(std::string_view body, std::size_t at, std::size_t close, bool leading) {
  const std::string_view names = body.substr(at + 2, close - at - 2);
  std::string_view before = body.substr(0, at);
  const std::string_view after = body.substr(close + 1);
  const bool whole = (before.empty() || before.ends_with('/')) && (after.empty() || after.starts_with('/'));
  if (!whole || !plain_names(names)) return {};
  if (body[at] == '@') {
    std::string list(names);
    std::replace(list.begin(), list.end(), '|', ',');
    const std::string group = list.find(',') == std::string::npos ? list : "{" + list + "}";
    return quoted(std::string(before) + group + std::string(after));
  }
  if (body[at] != '!') return {};
  std::string out = leading ? "" : quoted(std::string(before) + "*" + std::string(after));
  for (const std::string_view name : text::split(names, '|')) {
    if (!out.empty()) out += ", ";
    out += quoted("!" + std::string(before) + std::string(name) + std::string(after));
  }
  return out;
}

status refuse_extglob(std::string_view entry) {
  for (std::size_t i = 0; i + 1 < entry.size(); ++i) {
    if (entry[i] == '\\') {
      ++i;
      continue;
    }
    if (entry[i + 1] != '(' || std::string_view("@+*?!").find(entry[i]) == std::string_view::npos) continue;
    const std::size_t close = entry.find(')', i + 2);
    if (close == std::string_view::npos) continue;
    const std::string better = extglob_rewrite(entry, i, close, i == 0);
    return fail(errc::CONFIG, quoted(entry) + " holds an extended glob group: write " +
                                  (better.empty() ? std::string("brace sets such as {a,b}, or separate entries") : better));
  }
  return {};
}

/// Segments without "." and doubled slashes; "." for the root itself.
std::string normal_member(std::string_view raw) {
  std::string out;
  for (std::string_view rest = raw; !rest.empty();) {
    const std::string_view s = detail::take_front(rest);
    if (s.empty() || s == ".") continue;
    if (!out.empty()) out.push_back('/');
    out += s;
  }
  return out.empty() ? "." : out;
}

std::string unescaped(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    out.push_back(pattern[i]);
  }
  return out;
}

status add_entry(std::string_view entry, std::vector<std::string>& positives, std::vector<std::string>& negatives) {
  if (text::trim(entry).empty()) return fail(errc::CONFIG, "an empty entry selects nothing: remove it");
  if (entry.find('\0') != std::string_view::npos)
    return fail(errc::CONFIG, quoted(entry) + " holds a NUL byte, which no path can: remove it");
  VX_TRY(refuse_extglob(entry));
  std::string_view body = entry;
  const bool negated = body.starts_with('!');
  if (negated) body.remove_prefix(1);
  VX_TRY_LET(const std::vector<std::string> expanded, detail::expand_braces(body, nullptr));
  for (const std::string& raw : expanded) {
    std::string normal = normal_member(raw);
    bool outside = raw.starts_with('/');
    for (std::string_view rest = normal; !rest.empty();) {
      if (detail::take_front(rest) == "..") outside = true;
    }
    if (outside)
      return fail(errc::CONFIG,
                  quoted(entry) + " lies outside the workspace root: move the package below the root, or remove the entry");
    (negated ? negatives : positives).push_back(std::move(normal));
  }
  return {};
}

}  // namespace

result<member_matcher> member_matcher::compile(const std::vector<std::string>& entries) {
  member_matcher m;
  for (const std::string& e : entries) VX_TRY(add_entry(e, m.positives_, m.negatives_));
  return m;
}

bool member_matcher::match(std::string_view dir) const noexcept {
  if (passes_skipped(dir)) return false;
  const bool root = dir.empty() || dir == ".";
  return std::any_of(positives_.begin(), positives_.end(), [&](const std::string& p) {
    if (p == ".") return root;
    return detail::class_path_match(p, root ? std::string_view{} : dir, k_member_rules);
  });
}

const std::vector<std::string>& member_matcher::positives() const noexcept { return positives_; }

bool member_matcher::excluded(std::string_view dir, std::string_view marker) const noexcept {
  const bool root = dir.empty() || dir == ".";
  return std::any_of(negatives_.begin(), negatives_.end(), [&](const std::string& n) {
    if (n == ".") return root;
    if (member_pattern_is_literal(n))
      return !root && detail::is_within(dir, n.find('\\') == std::string::npos ? n : unescaped(n));
    // The directory, and the file that made it a candidate: "!**/test/**" must reach packages/test itself.
    if (detail::class_path_match(n, root ? std::string_view{} : dir, k_member_rules)) return true;
    if (root) return detail::class_path_match(n, marker, k_member_rules);
    return detail::class_path_match(n, path::join(dir, marker), k_member_rules);
  });
}

bool member_matcher::may_match_below(std::string_view dir) const noexcept {
  if (passes_skipped(dir)) return false;
  if (dir.empty() || dir == ".") return !positives_.empty();
  return std::any_of(positives_.begin(), positives_.end(),
                     [&](const std::string& p) { return p != "." && detail::class_may_match_below(p, dir, k_member_rules); });
}

bool member_pattern_is_literal(std::string_view pattern) noexcept {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (std::string_view("*?[{").find(pattern[i]) != std::string_view::npos) {
      return false;
    }
  }
  return true;
}

bool member_pattern_has_globstar(std::string_view pattern) noexcept {
  for (std::string_view rest = pattern; !rest.empty();) {
    const std::string_view s = detail::take_front(rest);
    if (s.size() >= 2 && s.find_first_not_of('*') == std::string_view::npos) return true;
  }
  return false;
}

}  // namespace vx::glob
