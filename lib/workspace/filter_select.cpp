#include "workspace/filter_select.hpp"

#include <algorithm>
#include <set>

#include "base/path.hpp"
#include "base/text.hpp"
#include "glob/glob.hpp"
#include "workspace/filter.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;
using set = std::vector<bool>;

bool empty(const set& s) { return std::find(s.begin(), s.end(), true) == s.end(); }
void unite(set& into, const set& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = into[i] || from[i];
}
void subtract(set& into, const set& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = into[i] && !from[i];
}
void intersect(set& into, const set& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = into[i] && from[i];
}

class evaluator {
 public:
  evaluator(loader& l, change_cache& changes) : ws_(l.ws()), changes_(changes) {}

  struct answer {
    set matched;  ///< by the subject alone
    set chosen;
  };

  result<answer> run(const filter& f) {
    answer a;
    VX_TRY_LET(a.matched, subject(f));
    a.chosen = a.matched;
    if (f.ref) {
      VX_TRY_LET(const change_set* changed, changes_.since(*f.ref));
      set c = changed->any() ? changed->projects() : set(ws_.projects.size());
      if (f.dependencies || f.dependents) unite(c, up(c));
      intersect(a.chosen, c);
    } else if (f.walks()) {
      walk(f, a);
    }
    return a;
  }

  std::vector<std::string> tags() const {
    std::set<std::string> all;
    for (const project& p : ws_.projects) {
      if (p.config != nullptr) all.insert(p.config->tags.begin(), p.config->tags.end());
    }
    return {all.begin(), all.end()};
  }

 private:
  void walk(const filter& f, answer& a) {
    if (f.dependents && f.dependencies) {
      unite(a.chosen, up(a.matched));
      unite(a.chosen, reachable(a.chosen, ws_.reach));
      if (f.without_self) subtract(a.chosen, a.matched);
      return;
    }
    const set walked = f.dependents ? up(a.matched) : reachable(a.matched, ws_.reach);
    if (f.without_self) {
      a.chosen = walked;
    } else {
      unite(a.chosen, walked);
    }
  }

  set up(const set& from) {
    if (dependents_.empty()) dependents_ = reversed(ws_.reach);
    return reachable(from, dependents_);
  }

  template <class Pred>
  set where(Pred pred) const {
    set out(ws_.projects.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = pred(ws_.projects[i]);
    return out;
  }

  set one(std::optional<id> p) const {
    set out(ws_.projects.size());
    if (p) out[*p] = true;
    return out;
  }

  result<set> subject(const filter& f) const {
    switch (f.what) {
      case filter::subject::any: return set(ws_.projects.size(), true);
      case filter::subject::root: return one(ws_.root_project);
      case filter::subject::tag:
        return where([&](const project& p) {
          return p.config != nullptr && std::any_of(p.config->tags.begin(), p.config->tags.end(),
                                                    [&](const std::string& tag) { return text::star_match(f.text, tag); });
        });
      case filter::subject::path: return at_path(f, f.text);
      case filter::subject::name: break;
    }
    if (f.text.find('*') == std::string::npos) {
      if (const auto p = ws_.find_project(f.text)) return one(p);
    } else if (set named = where([&](const project& p) { return text::star_match(f.text, p.name); }); !empty(named)) {
      return named;
    }
    // A slash outside a scope: a path without its "./".
    if (f.text.find('/') != std::string::npos && f.text[0] != '@') return at_path(f, f.text);
    return set(ws_.projects.size());
  }

  result<set> at_path(const filter& f, std::string_view where_at) const {
    std::string dir(where_at);
    while (dir.ends_with('/')) dir.pop_back();
    if (dir.empty()) return ws_.root_project ? one(ws_.root_project) : set(ws_.projects.size(), true);
    if (const auto p = ws_.project_at(dir)) return one(p);
    if (glob::member_pattern_is_literal(dir)) return where([&](const project& p) { return path::is_within(p.dir, dir); });
    auto globs = glob::member_matcher::compile({"./" + dir});
    if (!globs)
      return fail(errc::USAGE, "the filter \"" + text::escape(f.raw, true) + "\" is not taken: " + globs.error().message);
    return where([&](const project& p) { return !p.dir.empty() && globs->match(p.dir); });
  }

  const workspace& ws_;
  change_cache& changes_;
  std::vector<std::vector<id>> dependents_;
};

std::string quoted(const std::string& raw) { return "\"" + text::escape(raw, true) + "\""; }

/// Why a filter selects nothing, with what there is instead.
std::string explain_empty(const workspace& ws, const evaluator& e, const filter& f, const evaluator::answer& a) {
  if (!empty(a.matched)) {
    if (f.ref)
      return "the filter " + quoted(f.raw) + " selects nothing: none of its projects changed since " +
             text::escape(*f.ref, true);
    return "the filter " + quoted(f.raw) + " selects nothing: what it names has no " +
           (f.dependents ? "dependents" : "dependencies");
  }
  std::string out = "the filter " + quoted(f.raw) + " selects no project";
  if (f.what == filter::subject::tag) {
    const auto tags = e.tags();
    const std::string hint = text::did_you_mean(f.text, tags);
    return out + (!hint.empty()  ? hint
                  : tags.empty() ? "; no project has a tag"
                                 : "; there are the tags " + text::list_some(tags, 8));
  }
  if (f.what == filter::subject::root) return out + ": the workspace has no root project";
  std::vector<std::string> names = ws.project_names();
  const std::size_t full = names.size();
  for (std::size_t i = 0; i < full; ++i) {  // the unscoped form, answered with the whole name
    const auto slash = names[i].find('/');
    if (names[i].starts_with('@') && slash != std::string::npos &&
        text::edit_distance(f.text, std::string_view(names[i]).substr(slash + 1), 2) <= 2) {
      return out + " (did you mean " + text::escape(names[i], true) + "?)";
    }
  }
  const std::string hint = text::did_you_mean(f.text, names);
  return out + (!hint.empty() ? hint : names.empty() ? "; the workspace has none" : "; there are " + text::list_some(names, 8));
}

}  // namespace

result<const git_view*> change_cache::git() {
  if (!git_) {
    VX_TRY_LET(git_, git_view::open(env_, loader_.ws().root));
  }
  return &*git_;
}

result<const change_set*> change_cache::since(const std::string& ref) {
  auto& slot = sets_[ref];
  if (slot == nullptr) {
    VX_TRY(git::check_ref(ref));
    VX_TRY_LET(const git_view* view, git());
    VX_TRY_LET(change_set found, changes_since(loader_, *view, ref));
    slot = std::make_unique<change_set>(std::move(found));
  }
  return slot.get();
}

std::vector<std::vector<std::uint32_t>> reversed(const std::vector<std::vector<std::uint32_t>>& edges) {
  std::vector<std::vector<id>> out(edges.size());
  for (id from = 0; from < edges.size(); ++from) {
    for (const id to : edges[from]) out[to].push_back(from);
  }
  return out;
}

std::vector<bool> reachable(const std::vector<bool>& from, const std::vector<std::vector<std::uint32_t>>& edges) {
  std::vector<bool> out(edges.size());
  std::vector<id> stack;
  const auto step = [&](id n) {
    for (const id to : edges[n]) {
      if (out[to]) continue;
      out[to] = true;
      stack.push_back(to);
    }
  };
  for (id i = 0; i < edges.size(); ++i) {
    if (from[i]) step(i);
  }
  while (!stack.empty()) {
    const id n = stack.back();
    stack.pop_back();
    step(n);
  }
  return out;
}

result<filter_outcome> select_filters(loader& l, change_cache& changes, const std::vector<std::string>& filters,
                                      bool more_includes, std::vector<std::string>& notices) {
  std::vector<filter> parsed;
  bool includes = more_includes, load = false;
  for (const std::string& raw : filters) {
    VX_TRY_LET(filter f, parse_filter(raw));
    includes = includes || !f.exclude;
    load = load || f.needs_configs();
    parsed.push_back(std::move(f));
  }
  if (load) VX_TRY(l.load_all());
  const workspace& ws = l.ws();
  evaluator eval(l, changes);
  filter_outcome out;
  out.chosen.assign(ws.projects.size(), !includes);
  out.excluded.assign(ws.projects.size(), false);
  std::vector<std::string> dry;  // why filters selected nothing
  bool typo = false, diff_only = true;
  for (const filter& f : parsed) {
    VX_TRY_LET(const evaluator::answer a, eval.run(f));
    if (f.ref && !f.exclude) {
      out.by_diff = true;
      out.refs.push_back(*f.ref);
    }
    if (!f.exclude && !f.ref) diff_only = false;
    if (empty(a.chosen)) {
      typo = typo || (!f.exclude && empty(a.matched) && f.what != filter::subject::root);
      dry.push_back(explain_empty(ws, eval, f, a));
    }
    unite(f.exclude ? out.excluded : out.chosen, a.chosen);
  }
  const bool before = !empty(out.chosen);
  subtract(out.chosen, out.excluded);
  const bool refused = empty(out.chosen) && !more_includes && (typo || !(out.by_diff && diff_only));
  if (!refused) {
    for (std::string& line : dry) notices.push_back(std::move(line));
    return out;
  }
  if (before) {
    std::string which;
    for (const filter& f : parsed) {
      if (f.exclude) which += (which.empty() ? "" : ", ") + quoted(f.raw);
    }
    return fail(errc::USAGE, "the filters select nothing: " + which + " takes out everything the others select");
  }
  if (dry.empty()) return fail(errc::USAGE, "the workspace has no projects to filter");
  return fail(errc::UNKNOWN_PROJECT, dry.front());
}

}  // namespace vx::workspace
