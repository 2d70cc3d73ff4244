#include "glob/syntax.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vx::glob {

using detail::has_wildcard;

namespace {

constexpr std::string_view k_escapable = "[]{}!\\";

bool is_escape(std::string_view raw, std::size_t at) noexcept {
  return raw[at] == '\\' && at + 1 < raw.size() && k_escapable.find(raw[at + 1]) != std::string_view::npos;
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (is_escape(raw, i)) ++i;
    out.push_back(raw[i]);
  }
  return out;
}

bool has_brace(std::string_view raw) noexcept {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (is_escape(raw, i)) {
      ++i;
    } else if (raw[i] == '{' || raw[i] == '}') {
      return true;
    }
  }
  return false;
}

/// "**" alone stays; every other run of stars is one star.
std::string squeeze_stars(std::string_view segment) {
  if (segment == "**") return std::string(segment);
  std::string out;
  for (const char c : segment) {
    if (c != '*' || out.empty() || out.back() != '*') out.push_back(c);
  }
  return out;
}

/// Drops empty and "." segments, joins neighbouring globstars, writes a trailing slash as what it means.
std::string normal_segments(std::string_view text) {
  const bool directory = !text.empty() && text.back() == '/';
  const bool wild = has_wildcard(text);
  std::vector<std::string> segments;
  std::size_t stars = 0;
  std::size_t globstars = 0;
  const auto add = [&](std::string_view raw) {
    std::string s = wild ? squeeze_stars(raw) : std::string(raw);
    if (s == "**") {
      if (!segments.empty() && segments.back() == "**") return;
      ++globstars;
    } else if (s == "*") {
      ++stars;
    }
    segments.push_back(std::move(s));
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view s = detail::take_front(rest);
    if (!s.empty() && s != ".") add(s);
  }
  if (directory && wild) add("**");
  if (globstars > 0 && stars <= 1 && stars + globstars == segments.size()) return "**";  // one segment or more: every path
  std::string out;
  for (const std::string& s : segments) {
    if (!out.empty()) out.push_back('/');
    out += s;
  }
  return out;
}

bool climbs(std::string_view text) noexcept {
  for (std::string_view rest = text; !rest.empty();) {
    if (detail::take_front(rest) == "..") return true;
  }
  return false;
}

status check_escapes(std::string_view entry) {
  for (std::size_t i = 0; i < entry.size(); ++i) {
    if (entry[i] != '\\') continue;
    if (is_escape(entry, i)) {
      ++i;
      continue;
    }
    std::string better(entry);
    std::replace(better.begin(), better.end(), '\\', '/');
    return fail(errc::CONFIG,
                detail::quoted(entry) + " separates with a backslash: write forward slashes (" + detail::quoted(better) + ")");
  }
  return {};
}

/// One expansion: refused when it leaves the directory or is nothing.
status add_expansion(std::string_view entry, std::string_view raw, detail::parsed_entry& out) {
  if (out.braces && raw.starts_with('!')) {
    return fail(errc::CONFIG, detail::quoted(entry) + " negates inside a brace set: write separate entries");
  }
  if (raw.starts_with('/')) {
    return fail(errc::CONFIG, detail::quoted(entry) +
                                  " is an absolute path: write it relative to the project, or use workspaceFiles for files "
                                  "elsewhere in the workspace");
  }
  const std::string text = unescape(raw);
  if (climbs(text)) {
    return fail(errc::CONFIG, detail::quoted(entry) +
                                  " leaves the directory with \"..\": use workspaceFiles for files elsewhere in the "
                                  "workspace, or dependsOn for another project's task");
  }
  std::string normal = normal_segments(text);
  if (normal.empty()) return fail(errc::CONFIG, detail::quoted(entry) + " names the directory itself: write \"**\"");
  out.patterns.push_back(detail::make_pattern(std::move(normal)));
  return {};
}

}  // namespace

std::string detail::quoted(std::string_view entry) { return "\"" + text::escape(entry, true) + "\""; }

pattern detail::make_pattern(std::string text) {
  pattern p;
  p.literal = !has_wildcard(text);
  p.text = std::move(text);
  if (p.literal) {
    p.prefix = p.text;
    return p;
  }
  std::size_t end = 0;
  for (std::string_view rest = p.text; !rest.empty();) {
    const std::string_view s = take_front(rest);
    if (has_wildcard(s)) break;
    end = static_cast<std::size_t>(s.data() - p.text.data()) + s.size();
  }
  p.prefix = p.text.substr(0, end);
  return p;
}

result<std::vector<std::string>> detail::expand_braces(std::string_view raw, bool* lone_alternative) {
  const auto unpaired = [&] {
    return fail(errc::CONFIG, quoted(raw) + " holds an unclosed brace: close it, or write \\{ and \\} for literal braces");
  };
  std::vector<std::string> done;
  std::vector<std::string> open{std::string(raw)};  // a stack: the leftmost alternative on top
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    std::size_t begin = std::string::npos;
    std::size_t end = std::string::npos;
    std::vector<std::size_t> cuts;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size() && end == std::string::npos; ++i) {
      if (is_escape(text, i)) {
        ++i;
      } else if (text[i] == '{') {
        if (depth++ == 0) begin = i;
      } else if (text[i] == '}') {
        if (depth == 0) return unpaired();
        if (--depth == 0) end = i;
      } else if (text[i] == ',' && depth == 1) {
        cuts.push_back(i);
      }
    }
    if (depth != 0) return unpaired();
    if (begin == std::string::npos) {
      done.push_back(text);
      continue;
    }
    if (cuts.empty() && lone_alternative) *lone_alternative = true;
    if (done.size() + open.size() + cuts.size() + 1 > k_max_expansions) {
      return fail(errc::CONFIG, quoted(raw) + " expands to more than 1024 patterns: use wildcards or separate entries");
    }
    cuts.push_back(end);
    const std::size_t first = open.size();
    std::size_t from = begin + 1;
    for (const std::size_t cut : cuts) {
      open.push_back(text.substr(0, begin) + text.substr(from, cut - from) + text.substr(end + 1));
      from = cut + 1;
    }
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
  }
  return done;
}

result<detail::parsed_entry> detail::parse_entry(std::string_view entry) {
  if (text::trim(entry).empty()) return fail(errc::CONFIG, "an empty entry selects nothing: remove it");
  if (entry.find('\0') != std::string_view::npos)
    return fail(errc::CONFIG, quoted(entry) + " holds a NUL byte, which no path can: remove it");
  parsed_entry out;
  std::string_view body = entry;
  if (body.starts_with('!')) {
    out.negated = true;
    body.remove_prefix(1);
    if (body.starts_with('!')) {
      const std::string_view plain = body.substr(1);
      return fail(errc::CONFIG, quoted(entry) + " negates twice: write " + quoted(plain) + " or " + quoted(body));
    }
    if (text::trim(body).empty()) return fail(errc::CONFIG, "\"!\" negates nothing: write what to leave out after it");
  }
  VX_TRY(check_escapes(entry));
  out.braces = has_brace(body);
  if (!out.braces) {
    VX_TRY(add_expansion(entry, body, out));
    return out;
  }
  VX_TRY_LET(const std::vector<std::string> expanded, expand_braces(body, &out.lone_alternative));
  out.patterns.reserve(expanded.size());
  for (const std::string& raw : expanded) VX_TRY(add_expansion(entry, raw, out));
  return out;
}

std::string normalize(std::string_view entry) {
  std::string out;
  std::string_view body = entry;
  const bool negated = body.starts_with('!');
  if (negated) body.remove_prefix(1);
  const bool open = has_wildcard(body) || has_brace(body);
  const bool directory = !body.empty() && body.back() == '/';
  for (std::string_view rest = body; !rest.empty();) {
    const std::string_view s = detail::take_front(rest);
    if (s.empty() || s == ".") continue;
    if (!out.empty()) out.push_back('/');
    for (std::size_t i = 0; i < s.size(); ++i) {
      const bool plain_escape = is_escape(s, i) && (s[i + 1] == '[' || s[i + 1] == ']' || s[i + 1] == '!');
      if (plain_escape) {
        out.push_back(s[++i]);
      } else if (is_escape(s, i)) {
        out.append(s, i++, 2);
      } else {
        out.push_back(s[i]);
      }
    }
  }
  if (directory && open && out != "**" && !out.ends_with("/**")) out += "/**";
  if (out.empty()) out = body.empty() ? "" : ".";
  if (negated) return "!" + out;
  return out.starts_with('!') ? "\\" + out : out;
}

result<parsed> parse(std::string_view entry) {
  VX_TRY_LET(detail::parsed_entry e, detail::parse_entry(entry));
  return parsed{e.negated, std::move(e.patterns)};
}

pattern literal_pattern(std::string path) {
  pattern p;
  p.literal = true;
  p.prefix = path;
  p.text = std::move(path);
  return p;
}

pattern rebase(std::string_view dir, const pattern& p) {
  if (dir.empty()) return p;
  const auto below_dir = [dir](const std::string& text) {
    return text.empty() ? std::string(dir) : std::string(dir) + "/" + text;
  };
  return pattern{below_dir(p.text), p.literal, below_dir(p.prefix)};
}

}  // namespace vx::glob
