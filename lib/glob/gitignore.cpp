#include "glob/gitignore.hpp"

#include "glob/classes.hpp"
#include "glob/syntax.hpp"

namespace vx::glob {

using detail::k_ignore_rules;

namespace {

/// Trailing spaces do not count unless a backslash stands before them.
std::string_view trim_spaces(std::string_view line) noexcept {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      end = ++i + 1;
    } else if (line[i] != ' ') {
      end = i + 1;
    }
  }
  return line.substr(0, end);
}

/// "\/" is a plain separator.
std::string plain_slashes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != '/') out.push_back(text[i]);
      ++i;
    }
    out.push_back(text[i]);
  }
  return out;
}

}  // namespace

ignore_file ignore_file::parse(std::string_view text) {
  ignore_file out;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t eol = text.find('\n');
    std::string_view line = text.substr(0, eol);
    text = eol == std::string_view::npos ? std::string_view{} : text.substr(eol + 1);
    if (line.starts_with('#')) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim_spaces(line);
    rule r{{}, false, false, false};
    if (line.starts_with('!')) {
      r.negated = true;
      line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
      r.dir_only = true;
      line.remove_suffix(1);
    }
    if (line.empty()) continue;
    r.anchored = line.find('/') != std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    r.pattern = plain_slashes(line);
    out.rules_.push_back(std::move(r));
  }
  return out;
}

ignore_file::verdict ignore_file::check(std::string_view path, bool is_dir) const noexcept {
  std::string_view rest = path;
  const std::string_view name = path.empty() ? path : detail::take_back(rest);
  for (auto r = rules_.rbegin(); r != rules_.rend(); ++r) {
    if (r->dir_only && !is_dir) continue;
    const bool hit = r->anchored ? detail::class_path_match(r->pattern, path, k_ignore_rules)
                                 : detail::class_match(r->pattern, name, k_ignore_rules);
    if (hit) return r->negated ? verdict::included : verdict::ignored;
  }
  return verdict::none;
}

}  // namespace vx::glob
