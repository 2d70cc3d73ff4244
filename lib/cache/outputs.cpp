// Listing outputs and judging the links at and above the roots they are declared by (cache.md 5.1, 5.2).
#include "cache/outputs.hpp"

#include <errno.h>

#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/owned_walk.hpp"
#include "cache/row_blobs.hpp"
#include "cache/stamps.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

output_row row_of(const found& f, space which) {
  output_row r;
  r.space = which;
  r.path = f.path;
  r.mode = static_cast<std::uint16_t>(f.st.mode & 0777);
  switch (f.kind) {
    case fs::kind::file:
      r.kind = 'f';
      r.mtime = f.st.mtime;
      r.size = f.st.size;
      break;
    case fs::kind::link:
      r.kind = 'l';
      r.mode = 0777;
      break;
    case fs::kind::dir: r.kind = 'd'; break;
    default: r.kind = 'x'; break;
  }
  return r;
}

/// Judges one declared pattern against the links on its way.
class root_check {
 public:
  root_check(const scope_space& s, int base) : s_(s), base_(base) {}

  status pattern(const glob::pattern& p) {
    const bool owns_root = p.literal || is_subtree(p);
    const std::string& reach = p.literal ? p.text : p.prefix;
    for (std::size_t end = reach.find('/'); !reach.empty(); end = reach.find('/', end + 1)) {
      const std::string at = reach.substr(0, end);
      VX_TRY_LET(const fs::stat_info st, fs::lstat_at(base_, at));
      const bool last = end == std::string::npos;
      if (st.kind == fs::kind::link) return last && owns_root ? owned_link(at) : link_above(p, at);
      if (st.kind != fs::kind::dir || last) break;
    }
    return {};
  }

 private:
  /// Where the link leads, root-relative to the base when inside it.
  bool inside(const std::string& at, std::string& where) const {
    const auto base = fs::real_path(s_.base_path());
    if (!base) return false;
    auto real = fs::real_path(path::join(s_.base_path(), at));
    if (!real) {
      // Dangling: the text decides.
      const auto target = fs::read_link_at(base_, at);
      if (!target) return false;
      const std::string text = target->starts_with('/') ? *target : path::join(path::join(*base, path::parent(at)), *target);
      real = path::normalize(text);
    }
    where = *real;
    if (!path::is_within(*real, *base)) return false;
    where = path::relative_to(*real, *base);
    return true;
  }

  status owned_link(const std::string& at) const {
    std::string where;
    if (inside(at, where)) return {};
    const char* outside = s_.which() == space::project ? "the project" : "the workspace";
    return fail(errc::REFUSED, "outputs: " + text::escape(s_.from_root(at)) + " is a link that leads outside " + outside +
                                   " (" + text::escape(where) + "); remove the link or declare another path");
  }

  status link_above(const glob::pattern& p, const std::string& at) const {
    std::string where;
    const bool in = inside(at, where);
    const std::string rest = p.text.substr(std::min(p.text.size(), at.size()));
    std::string advice = in ? "; declare " + text::escape(where + rest) + " instead" : "; remove the link";
    return fail(errc::REFUSED, "outputs: " + text::escape(s_.from_root(at)) + " is a link (to " + text::escape(where) +
                                   ") above the declared " + text::escape(p.text) + advice);
  }

  const scope_space& s_;
  int base_;
};

}  // namespace

result<std::vector<output_row>> list_outputs(const output_scope& scope) {
  VX_TRY_LET(stamped_outputs all, list_stamped(scope));
  return std::move(all.rows);
}

result<stamped_outputs> list_stamped(const output_scope& scope) {
  stamped_outputs out;
  std::vector<output_row>& rows = out.rows;
  for (const space which : {space::project, space::workspace}) {
    const scope_space s(scope, which);
    if (!s.declares_any()) continue;
    auto base = open_anchor(s.base_path());
    if (!base) {
      if (base.error().sys == ENOENT) continue;
      return fail(std::move(base).error());
    }
    walk_options options;
    options.stat_files = true;
    VX_TRY_LET(const std::vector<found> all, walk_owned(s, base->get(), options));
    for (const found& f : all) {
      if (f.kind == fs::kind::dir && !f.empty && (f.st.mode & 0777) == 0755) continue;  // implied by what it holds
      output_row r = row_of(f, which);
      if ((mutated("no-output-links") && r.kind == 'l') || (mutated("no-empty-dirs") && f.empty)) continue;
      if (r.kind == 'l') {
        auto target = fs::read_link_at(base->get(), f.path);
        if (!target) return fail(std::move(target).error());
        r.target = std::move(*target);
      }
      rows.push_back(std::move(r));
      out.stamps.push_back(stamp_of(f.st));
    }
  }
  return out;
}

bool matched_nothing(const output_scope& scope, const std::vector<output_row>& rows) {
  if (!scope.declares_any()) return false;
  if (rows.empty()) return true;
  const scope_space project(scope, space::project), workspace(scope, space::workspace);
  return std::all_of(rows.begin(), rows.end(), [&](const output_row& r) {
    return r.kind == 'd' && (r.space == space::project ? project : workspace).is_wildcard_root(r.path);
  });
}

status check_owned_roots(const output_scope& scope) {
  if (mutated("no-root-check")) return {};
  for (const space which : {space::project, space::workspace}) {
    const scope_space s(scope, which);
    if (!s.declares_any()) continue;
    const auto base = open_anchor(s.base_path());
    if (!base) continue;  // nothing is there to be a link
    root_check check(s, base->get());
    for (const glob::pattern& p : s.match().positives()) VX_TRY(check.pattern(p));
  }
  return {};
}

}  // namespace vx::cache
