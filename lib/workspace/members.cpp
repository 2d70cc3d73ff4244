#include "workspace/members.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/bytes.hpp"
#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "workspace/manifest.hpp"
#include "workspace/worktree.hpp"

namespace vx::workspace {

namespace {

enum class place : std::uint8_t { inside, root, outside };

/// Drops ".", empty and ".." segments lexically.
place normalize(std::string_view entry, std::string& out) {
  if (entry.starts_with('/')) return place::outside;
  std::vector<std::string_view> parts;
  for (const std::string_view part : text::split(entry, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return place::outside;
    } else {
      parts.pop_back();
    }
  }
  out.clear();
  for (const std::string_view part : parts) {
    if (!out.empty()) out += '/';
    out += part;
  }
  return out.empty() ? place::root : place::inside;
}

/// The plain text of a literal pattern: `\[` stands for `[`.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

bool never_entered(std::string_view name) noexcept { return name == "node_modules" || name == ".git" || name == ".vx"; }

bool passes_hidden_store(std::string_view dir) {
  const auto parts = text::split(dir, '/');
  return std::any_of(parts.begin(), parts.end(), never_entered);
}

/// One path segment of a pattern.
struct segment {
  enum class kind : std::uint8_t { literal, star, globstar, wild } what = kind::literal;
  std::string text;              ///< literal: the name
  glob::member_matcher matcher;  ///< wild: asked with "d/<name>", so that a leading '!' is no negation

  bool match(const std::string& name) const {
    if (what == kind::star) return !name.starts_with('.');
    return matcher.match("d/" + name);
  }
};

struct pattern {
  std::vector<segment> segments;
  bool globstar = false;
  bool below_star = false;  ///< one wildcard segment, the last, no globstar
};

result<pattern> parse_pattern(std::string_view text) {
  pattern p;
  std::size_t wild = 0;
  for (const std::string_view part : text::split(text, '/')) {
    segment s;
    if (part.size() > 1 && part.find_first_not_of('*') == std::string_view::npos) {
      if (!p.segments.empty() && p.segments.back().what == segment::kind::globstar) continue;
      s.what = segment::kind::globstar;
      p.globstar = true;
    } else if (part == "*") {
      s.what = segment::kind::star;
      ++wild;
    } else if (glob::member_pattern_is_literal(part)) {
      s.text = unescape(part);
    } else {
      s.what = segment::kind::wild;
      ++wild;
      VX_TRY_LET(s.matcher, glob::member_matcher::compile({"d/" + std::string(part)}));
    }
    p.segments.push_back(std::move(s));
  }
  p.below_star = !p.globstar && wild == 1 && p.segments.back().what != segment::kind::literal;
  return p;
}

/// The sub-directories of one directory, listed once however many patterns ask.
struct listing {
  struct child {
    std::string name;
    bool link;
  };
  std::vector<child> children;
  bool marker = false;  ///< holds a package.json or a vx.config.*
};

class walk {
 public:
  walk(const std::string& root, int root_fd, const member_globs& globs) : root_(root), root_fd_(root_fd), globs_(globs) {}

  status run(const pattern& p) {
    stack_.clear();
    seen_.clear();
    stack_.push_back({"", 0, false});
    while (!stack_.empty()) {
      const state s = std::move(stack_.back());
      stack_.pop_back();
      VX_TRY(step(p, s));
    }
    return {};
  }

  std::unordered_map<std::string, candidate> found;

 private:
  struct state {
    std::string dir;
    std::size_t at;
    bool via_link;
  };

  void emit(const pattern& p, const state& s) {
    if (s.dir.empty()) return;  // the root is listed by "." alone
    auto [it, fresh] = found.try_emplace(s.dir, candidate{s.dir, p.below_star, s.via_link});
    if (!fresh) it->second.below_star = it->second.below_star && p.below_star;
  }

  status step(const pattern& p, const state& s) {
    if (s.at == p.segments.size()) {
      emit(p, s);
      return {};
    }
    const segment& seg = p.segments[s.at];
    if (seg.what == segment::kind::literal) {
      const std::string dir = path::join(s.dir, seg.text);
      if (never_entered(seg.text)) return {};
      bool link = s.via_link;
      if (s.at + 1 < p.segments.size() && !link) {
        VX_TRY_LET(link, is_link(dir));
      }
      stack_.push_back({dir, s.at + 1, link});
      return {};
    }
    VX_TRY_LET(const listing* here, list(s.dir));
    if (here == nullptr) return {};
    if (seg.what == segment::kind::globstar) return deep(p, s, *here);
    for (const listing::child& c : here->children) {
      if (!seg.match(c.name)) continue;
      const std::string dir = path::join(s.dir, c.name);
      bool link = s.via_link;
      if (c.link) {
        if (p.globstar) continue;
        if (s.at + 1 < p.segments.size()) link = true;
      }
      if (s.at + 1 < p.segments.size() && repeats_the_repository(dir)) continue;
      stack_.push_back({dir, s.at + 1, link});
    }
    return {};
  }

  status deep(const pattern& p, const state& s, const listing& here) {
    if (!seen_.insert(std::to_string(s.at) + ':' + s.dir).second) return {};
    // Without a marker file in it the directory itself is no member.
    if (s.at + 1 < p.segments.size() || here.marker) stack_.push_back({s.dir, s.at + 1, s.via_link});
    for (const listing::child& c : here.children) {
      if (c.link || c.name.starts_with('.')) continue;
      std::string dir = path::join(s.dir, c.name);
      const auto& out = globs_.excluded_trees;
      if (std::find(out.begin(), out.end(), dir) != out.end()) continue;
      stack_.push_back({std::move(dir), s.at, s.via_link});
    }
    return {};
  }

  result<bool> is_link(const std::string& dir) {
    if (const auto it = links_.find(dir); it != links_.end()) return it->second;
    auto st = fs::lstat_at(root_fd_, dir);
    if (!st) return fail(unreadable(std::move(st).error()));
    return links_[dir] = st->kind == fs::kind::link;
  }

  /// A linked worktree of the same repository repeats every package: nothing in it is a member.
  bool repeats_the_repository(const std::string& dir) {
    const auto st = fs::lstat_at(root_fd_, dir + "/.git");
    return st && st->kind == fs::kind::file && worktree_.is_linked(root_, dir);
  }

  /// Null: there is no such directory.
  result<const listing*> list(const std::string& dir) {
    if (const auto it = listings_.find(dir); it != listings_.end()) return it->second ? &*it->second : nullptr;
    auto entries = fs::list_dir_at(root_fd_, dir.empty() ? "." : dir);
    auto& slot = listings_[dir];
    if (!entries) {
      failure f = std::move(entries).error();
      if (f.sys == ENOENT || f.sys == ENOTDIR) return nullptr;
      return fail(unreadable(std::move(f)));
    }
    for (const fs::dir_entry& e : *entries) {
      if (e.name == ".git" && e.kind == fs::kind::file && !dir.empty() && worktree_.is_linked(root_, dir)) return nullptr;
    }
    slot.emplace();
    for (fs::dir_entry& e : *entries) {
      if (e.name == "package.json" || e.name.starts_with("vx.config.")) slot->marker = true;
      if (never_entered(e.name)) continue;
      if (e.kind == fs::kind::dir) {
        slot->children.push_back({std::move(e.name), false});
      } else if (e.kind == fs::kind::link) {
        const auto st = fs::stat_at(root_fd_, path::join(dir, e.name));
        if (st && st->kind == fs::kind::dir) slot->children.push_back({std::move(e.name), true});
      }
    }
    return &*slot;
  }

  const std::string& root_;
  int root_fd_;
  const member_globs& globs_;
  worktree_check worktree_;
  std::vector<state> stack_;
  std::unordered_set<std::string> seen_;
  std::unordered_map<std::string, std::optional<listing>> listings_;
  std::unordered_map<std::string, bool> links_;
};

}  // namespace

bool member_globs::lists(std::string_view dir, std::string_view marker) const noexcept {
  return any && !passes_hidden_store(dir) && matcher.match(dir) && !matcher.excluded(dir, marker);
}

result<member_globs> compile_members(const member_list& list, std::string_view root) {
  member_globs out;
  out.file = list.file;
  out.field = list.field;
  const std::string where = list.file + ": `" + list.field + "` ";
  std::vector<std::string> entries;
  bool root_excluded = false;
  for (const std::string& raw : list.entries) {
    std::string_view body = raw;
    const bool negated = body.starts_with('!');
    if (negated) body.remove_prefix(1);
    if (body.empty()) return fail(errc::CONFIG, where + "has an empty entry");
    std::string text;
    switch (normalize(body, text)) {
      case place::outside:
        if (negated) continue;  // takes out what could not be in
        return fail(errc::CONFIG,
                    where + "names a member outside the workspace: \"" + raw + "\" does not lie in " + std::string(root));
      case place::root:
        (negated ? root_excluded : out.root_listed) = true;
        if (!negated) {
          out.any = true;
          out.literals.emplace_back();
        }
        continue;
      case place::inside: break;
    }
    if (!negated) {
      out.any = true;
      if (glob::member_pattern_is_literal(text)) out.literals.push_back(unescape(text));
    }
    if (negated && glob::member_pattern_is_literal(text)) out.excluded_trees.push_back(unescape(text));
    entries.push_back(negated ? "!" + text : text);
  }
  if (root_excluded) out.root_listed = false;
  auto matcher = glob::member_matcher::compile(entries);
  if (!matcher) {
    failure f = std::move(matcher).error();
    f.code = errc::CONFIG;
    f.message = where + f.message;
    return fail(std::move(f));
  }
  out.matcher = std::move(*matcher);
  return out;
}

result<std::vector<candidate>> expand_members(const std::string& root, int root_fd, const member_globs& globs) {
  walk w(root, root_fd, globs);
  for (const std::string& text : globs.matcher.positives()) {
    std::string clean;
    if (normalize(text, clean) == place::outside) {
      return fail(errc::CONFIG, globs.file + ": `" + globs.field + "` names a member outside the workspace: \"" + text + "\"");
    }
    VX_TRY_LET(const pattern p, parse_pattern(clean));
    VX_TRY(w.run(p));
  }
  std::vector<candidate> out;
  out.reserve(w.found.size());
  for (auto& [dir, c] : w.found) out.push_back(std::move(c));
  std::sort(out.begin(), out.end(), [](const candidate& a, const candidate& b) { return a.dir < b.dir; });
  return out;
}

}  // namespace vx::workspace
