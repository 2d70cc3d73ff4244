// The refusals of the task-glob dialect that need no more than the entries themselves.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "glob/glob.hpp"
#include "glob/syntax.hpp"

namespace vx::glob {

using detail::quoted;

namespace {

/// Placeholders other runners expand; here they would be names of files.
status check_tokens(std::string_view entry, std::string_view body) {
  struct token {
    std::string_view text;
    bool at_root;  // the rest is a path from the workspace root
  };
  static constexpr std::array k_tokens = {token{"$TURBO_ROOT$", true}, token{"{workspaceRoot}", true},
                                          token{"{projectRoot}", false}};
  if (body.find("$TURBO_DEFAULT$") != std::string_view::npos) {
    return fail(errc::CONFIG, quoted(entry) + " is another runner's token: write \"**\"");
  }
  for (const token& t : k_tokens) {
    if (!body.starts_with(t.text)) {
      if (body.find(t.text) == std::string_view::npos) continue;
      return fail(errc::CONFIG,
                  quoted(entry) + " holds " + std::string(t.text) + ", another runner's token: write the plain path");
    }
    std::string_view rest = body.substr(t.text.size());
    while (rest.starts_with('/')) rest.remove_prefix(1);
    const std::string path = quoted(rest.empty() ? std::string_view("**") : rest);
    return fail(errc::CONFIG, quoted(entry) + " begins with another runner's token: write " + path +
                                  (t.at_root ? " in workspaceFiles" : ", which is relative to the project"));
  }
  if (body.find("{projectName}") != std::string_view::npos || body.find("{options.") != std::string_view::npos) {
    return fail(errc::CONFIG, quoted(entry) + " holds another runner's token: write the plain path");
  }
  return {};
}

status check_drive(std::string_view entry, std::string_view body) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (body.size() < 2 || body[1] != ':' || !letter(body[0])) return {};
  if (body.size() > 2 && body[2] != '/' && body[2] != '\\') return {};
  return fail(errc::CONFIG,
              quoted(entry) + " begins with a drive letter: write a path relative to the project with forward slashes");
}

status check_extglob(std::string_view entry, std::string_view body) {
  for (std::size_t i = 0; i + 1 < body.size(); ++i) {
    if (body[i] == '\\') {
      ++i;
      continue;
    }
    if (body[i + 1] != '(' || std::string_view("@+*?!").find(body[i]) == std::string_view::npos) continue;
    const std::size_t close = body.find(')', i + 2);
    if (close == std::string_view::npos) continue;
    std::string names(body.substr(i + 2, close - i - 2));
    std::replace(names.begin(), names.end(), '|', ',');
    const bool several = names.find(',') != std::string::npos;
    std::string advice;
    if (body[i] == '!') {
      advice = "write what to keep, and what to leave out as separate \"!\" entries";
    } else {
      const std::string group = several ? "{" + names + "}" : names;
      const std::string better =
          (entry.starts_with('!') ? "!" : "") + std::string(body.substr(0, i)) + group + std::string(body.substr(close + 1));
      advice = "write " + quoted(better) + " or separate entries";
    }
    return fail(errc::CONFIG, quoted(entry) + " holds an extended glob group: " + advice);
  }
  return {};
}

/// The part of the first lone set, for the advice: "{b}.ts" -> "b.ts" or "\{b\}.ts".
status refuse_lone_alternative(std::string_view entry) {
  std::string plain;
  std::string escaped;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    const char c = entry[i];
    if (c == '\\' && i + 1 < entry.size()) {
      plain.append(entry, i, 2);
      escaped.append(entry, i, 2);
      ++i;
    } else if (c == '{' || c == '}') {
      escaped += '\\';
      escaped += c;
    } else {
      plain += c;
      escaped += c;
    }
  }
  return fail(errc::CONFIG, quoted(entry) + " holds a brace set with one alternative: write \"" + plain + "\", or \"" +
                                escaped + "\" for literal braces");
}

bool reaches_private(const pattern& p) noexcept {
  for (std::string_view rest = p.text; !rest.empty();) {
    const std::string_view s = detail::take_front(rest);
    if (s == ".git" || s == ".vx") return true;
  }
  return false;
}

}  // namespace

status check_entry(std::string_view entry, side of) {
  if (text::trim(entry).empty()) return fail(errc::CONFIG, "an empty entry selects nothing: remove it");
  std::string_view body = entry;
  if (body.starts_with('!')) body.remove_prefix(1);
  VX_TRY(check_tokens(entry, body));
  if (body.starts_with('^')) {
    return fail(errc::CONFIG, quoted(entry) + " begins with \"^\", which belongs in dependsOn: name files here, tasks there");
  }
  VX_TRY(check_drive(entry, body));
  VX_TRY(check_extglob(entry, body));
  VX_TRY_LET(const detail::parsed_entry parsed, detail::parse_entry(entry));
  if (of == side::input && parsed.lone_alternative) return refuse_lone_alternative(entry);
  if (of == side::output && !parsed.negated) {
    for (const pattern& p : parsed.patterns) {
      if (reaches_private(p))
        return fail(errc::CONFIG, quoted(entry) + " lies in .git or .vx, which are never outputs: write another directory");
    }
  }
  return {};
}

status check_list(const std::vector<std::string>& entries, side of) {
  std::vector<detail::parsed_entry> all;
  all.reserve(entries.size());
  bool positive = entries.empty();
  for (const std::string& e : entries) {
    VX_TRY_LET(detail::parsed_entry parsed, detail::parse_entry(e));
    positive = positive || !parsed.negated;
    all.push_back(std::move(parsed));
  }
  if (!positive) return fail(errc::CONFIG, "only \"!\" entries select nothing: add a positive entry such as \"**\"");
  if (of == side::output) return {};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const detail::parsed_entry& e = all[i];
    if (e.negated || e.braces || !e.patterns.front().literal) continue;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (!all[j].negated) continue;
      for (const pattern& n : all[j].patterns) {
        if (!matches(n, e.patterns.front().text)) continue;
        return fail(errc::CONFIG, quoted(entries[i]) + " can never be an input because " + quoted(entries[j]) +
                                      " takes it back: remove one of them");
      }
    }
  }
  return {};
}

}  // namespace vx::glob
