#include "workspace/selection.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/path.hpp"
#include "base/text.hpp"
#include "workspace/affected.hpp"
#include "workspace/filter_select.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;

std::vector<id> members(const std::vector<bool>& set) {
  std::vector<id> out;
  for (id i = 0; i < set.size(); ++i) {
    if (set[i]) out.push_back(i);
  }
  return out;
}

std::string quoted(std::string_view raw) { return "\"" + text::escape(raw, true) + "\""; }

/// A task id as one types it: a '#' inside a word needs no quotes.
std::string typed(const std::string& pair) {
  std::string plain = pair;
  std::replace(plain.begin(), plain.end(), '#', '_');
  return text::shell_quote(plain) == plain ? pair : text::shell_quote(pair);
}

/// A requested word, split.
struct word {
  std::string raw, project, task;
  bool anchored = false;
  id at = 0;  ///< anchored: the project
};

class selector {
 public:
  selector(loader& l, const environment& env, const selection_request& request)
      : loader_(l), ws_(l.ws()), request_(request), changes_(l, env) {}

  result<selection> run() {
    out_.broad = request_.all || !request_.filters.empty() || request_.affected;
    VX_TRY(split_words());
    VX_TRY(resolve_scope());
    if (words_.empty()) return missing_name();
    VX_TRY(load());
    VX_TRY(resolve_anchored());
    VX_TRY(resolve_bare());
    if (request_.affected) VX_TRY(keep_reached());
    VX_TRY(assemble());
    return std::move(out_);
  }

 private:
  status split_words() {
    for (const std::string& raw : request_.names) {
      word w;
      w.raw = raw;
      const auto hash = raw.find('#');
      if (text::trim(raw).empty()) return fail(errc::USAGE, "a task name is empty; write task, pkg#task or //#task");
      if (hash == std::string::npos) {
        w.task = raw;
      } else {
        w.anchored = true;
        w.project = raw.substr(0, hash);
        w.task = raw.substr(hash + 1);
        if (w.project.empty() || w.task.empty())
          return fail(errc::USAGE, quoted(raw) + " names half a task; write pkg#task or //#task");
        VX_TRY_LET(w.at, project_named(w.project, raw));
      }
      words_.push_back(std::move(w));
    }
    return {};
  }

  result<id> project_named(const std::string& name, const std::string& raw) const {
    if (const auto found = ws_.find_project(name)) return *found;
    if (name == "//") return fail(errc::UNKNOWN_PROJECT, quoted(raw) + ": the workspace has no root project");
    std::vector<std::string> names = ws_.project_names();
    std::vector<std::string> scoped;
    for (const std::string& full : names) {
      const auto slash = full.find('/');
      if (full.starts_with('@') && slash != std::string::npos && full.substr(slash + 1) == name) scoped.push_back(full);
    }
    if (!scoped.empty())
      return fail(errc::AMBIGUOUS,
                  quoted(raw) + ": several projects end in " + quoted(name) + ": " + text::list_some(scoped, 8));
    std::string hint = text::did_you_mean(name, names);
    if (hint.empty() && !names.empty()) hint = "; there are " + text::list_some(names, 12);
    return fail(errc::UNKNOWN_PROJECT, quoted(raw) + ": no project is called " + quoted(name) + hint);
  }

  bool any_bare() const {
    return words_.empty() || std::any_of(words_.begin(), words_.end(), [](const word& w) { return !w.anchored; });
  }

  status resolve_scope() {
    const std::size_t n = ws_.projects.size();
    in_.assign(n, false);
    if (request_.affected) VX_TRY(resolve_base());
    if (!request_.filters.empty()) {
      VX_TRY_LET(const filter_outcome f, select_filters(loader_, changes_, request_.filters, request_.affected, out_.notices));
      in_ = f.chosen;
      excluded_ = f.excluded;
      if (f.by_diff && !by_diff_) since_ = f.refs.front();
      by_diff_ = by_diff_ || f.by_diff;
    } else if (request_.all && !request_.affected) {
      in_.assign(n, true);
    } else if (!request_.affected && any_bare()) {
      const auto here = ws_.current_project(request_.cwd);
      if (here) {
        in_[*here] = true;
      } else if (!words_.empty()) {
        return fail(errc::USAGE,
                    text::escape(request_.cwd, true) +
                        " lies in no project: pass `--all` or `--filter`, or cd into a project, to say where to run " +
                        quoted(first_bare()));
      }
    }
    if (excluded_.empty()) excluded_.assign(n, false);
    out_.scope = members(in_);
    return {};
  }

  const std::string& first_bare() const {
    return std::find_if(words_.begin(), words_.end(), [](const word& w) { return !w.anchored; })->raw;
  }

  /// The reference of --affected and what changed since.
  status resolve_base() {
    base_ = request_.affected_base;
    VX_TRY(loader_.load_all());
    VX_TRY_LET(const git_view* git, changes_.git());
    if (base_.empty() && ws_.settings.affected_base) base_ = *ws_.settings.affected_base;
    if (base_.empty()) {
      VX_TRY_LET(base_, git::default_base(git->program, git->repo));
    }
    VX_TRY_LET(affected_, changes_.since(base_));
    by_diff_ = true;
    since_ = base_;
    return {};
  }

  status load() {
    if (request_.all || request_.affected || by_diff_ || out_.scope.size() == ws_.projects.size()) return loader_.load_all();
    std::vector<id> seeds = any_bare() ? out_.scope : std::vector<id>();
    for (const word& w : words_) {
      if (w.anchored) seeds.push_back(w.at);
    }
    return loader_.load_scope(seeds);
  }

  tl::unexpected<failure> missing_name() {
    if (!out_.scope.empty()) {
      if (auto loaded = loader_.load_scope(out_.scope); !loaded) return fail(std::move(loaded).error());
    }
    const auto here = declared(out_.scope);
    if (here.empty()) return fail(errc::USAGE, "missing task name: write `vx run <task>`" + no_config_hint());
    return fail(errc::USAGE, "missing task name; the tasks here are " + text::list_some(here, 12));
  }

  status resolve_anchored() const {
    for (const word& w : words_) {
      if (!w.anchored || ws_.find_task(w.at, w.task) != nullptr) continue;
      const project& p = ws_.projects[w.at];
      const auto names = declared({w.at});
      std::string hint = text::did_you_mean(w.task, names);
      if (hint.empty())
        hint = names.empty() ? "; it declares none" + no_config_hint() : "; it declares " + text::list_some(names, 12);
      return fail(errc::UNKNOWN_TASK,
                  quoted(w.raw) + ": " + text::escape(p.name, true) + " declares no task " + quoted(w.task) + hint);
    }
    return {};
  }

  bool declares(id p, const std::string& task) const {
    const task_config* t = ws_.find_task(p, task);
    return t != nullptr && !t->implicit;
  }

  std::vector<std::string> declared(const std::vector<id>& projects) const {
    std::set<std::string> names;
    for (const id p : projects) {
      if (ws_.projects[p].config == nullptr) continue;
      for (const task_config& t : ws_.projects[p].config->tasks) names.insert(t.name);
    }
    return {names.begin(), names.end()};
  }

  std::vector<id> everything() const {
    std::vector<id> all(ws_.projects.size());
    for (id i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  /// Every bare name must mean something before anything starts.
  status resolve_bare() {
    for (const word& w : words_) {
      if (w.anchored) continue;
      std::vector<id> found;
      for (const id p : out_.scope) {
        if (declares(p, w.task)) found.push_back(p);
      }
      if (found.empty()) VX_TRY(judge_missing(w));
    }
    return {};
  }

  /// No project in scope declares the name. Under a git diff that is fine as long as some project does.
  status judge_missing(const word& w) {
    if (!loader_.all_loaded()) loader_.load_all_tolerant();
    std::vector<std::string> elsewhere;
    for (const id p : everything()) {
      if (declares(p, w.task)) elsewhere.push_back(ws_.projects[p].name);
    }
    if (by_diff_ && !elsewhere.empty()) return {};
    if (!elsewhere.empty()) {
      const std::string where = out_.broad ? "no selected project declares the task " : "the current project declares no task ";
      return fail(errc::UNKNOWN_TASK, where + quoted(w.task) + "; outside the selection it is declared by " +
                                          text::list_some(elsewhere, 8) + ": pass --filter " +
                                          text::shell_quote(elsewhere.front()) + ", or --all");
    }
    return unknown(w);
  }

  status unknown(const word& w) {
    const std::string what = "no project declares the task " + quoted(w.task);
    if (const std::string pair = colon_form(w.task); !pair.empty()) {
      return fail(errc::UNKNOWN_TASK, what + "; a task of one project is written " + pair + ": vx run " + typed(pair));
    }
    auto names = declared(out_.scope);
    std::string hint = text::did_you_mean(w.task, names);
    const auto all = declared(everything());
    if (hint.empty()) hint = text::did_you_mean(w.task, all);
    if (names.empty()) names = all;
    if (hint.empty()) hint = names.empty() ? no_config_hint() : "; there are " + text::list_some(names, 12);
    return fail(errc::UNKNOWN_TASK, what + hint);
  }

  std::string no_config_hint() const {
    const bool any =
        std::any_of(ws_.projects.begin(), ws_.projects.end(), [](const project& p) { return !p.config_path.empty(); });
    return any ? "" : "; no project has a vx.config yet: run `vx init`";
  }

  /// `project:target`, the spelling of another runner, as `project#target` when that exists.
  std::string colon_form(const std::string& raw) const {
    for (auto at = raw.find(':'); at != std::string::npos; at = raw.find(':', at + 1)) {
      const auto p = ws_.find_project(raw.substr(0, at));
      const std::string task = raw.substr(at + 1);
      if (p && !task.empty() && declares(*p, task)) return ws_.projects[*p].name + "#" + task;
    }
    return {};
  }

  /// The bare tasks of changed projects and their dependents that the change reaches join the scope's.
  status keep_reached() {
    std::vector<graph::request> asked;
    std::vector<bool> candidates = affected_->any() ? affected_->projects() : std::vector<bool>(ws_.projects.size());
    const std::vector<bool> above = reachable(candidates, reversed(ws_.reach));
    for (id p = 0; p < candidates.size(); ++p) {
      candidates[p] = (candidates[p] || above[p] || affected_->asks_every_project) && !excluded_[p];
      if (!candidates[p] || in_[p]) continue;
      for (const word& w : words_) {
        if (!w.anchored && declares(p, w.task)) asked.push_back({p, w.task});
      }
    }
    if (affected_->any()) {
      VX_TRY_LET(reached_, keep_affected(loader_, *affected_, asked));
    }
    std::vector<bool> scope = in_;
    for (const graph::request& r : reached_) scope[r.project] = true;
    out_.affected_kept = members(scope);
    out_.scope = members(scope);
    return {};
  }

  status assemble() {
    std::unordered_set<std::string> seen;
    const auto add = [&](id p, const std::string& task) {
      if (seen.insert(std::to_string(p) + "#" + task).second) out_.requests.push_back({p, task});
    };
    std::set<std::pair<id, std::string>> reached;
    for (const graph::request& r : reached_) reached.emplace(r.project, r.task);
    bool bare = false, anchored = false;
    for (const word& w : words_) {
      if (w.anchored) {
        anchored = true;
        add(w.at, w.task);
        continue;
      }
      for (const id p : out_.scope) {
        if (!declares(p, w.task)) continue;
        if (!in_[p] && reached.count({p, w.task}) == 0) continue;
        bare = true;
        add(p, w.task);
      }
    }
    if (!by_diff_ || bare || !any_bare()) return {};
    out_.notices.push_back(nothing_note());
    out_.none_affected = !anchored;
    return {};
  }

  std::string nothing_note() const {
    std::string note = "nothing affected since " + text::escape(since_, true);
    if (since_ == "HEAD")
      note += ": HEAD is the base, so only uncommitted changes count; try --affected=HEAD~1 or --affected=origin/main";
    return note;
  }

  loader& loader_;
  const workspace& ws_;
  const selection_request& request_;
  change_cache changes_;
  selection out_;
  std::vector<word> words_;
  std::vector<bool> in_, excluded_;  ///< projects the filters or --all chose; projects they took out
  bool by_diff_ = false;
  std::string base_, since_;
  const change_set* affected_ = nullptr;
  std::vector<graph::request> reached_;
};

}  // namespace

result<selection> select(loader& l, const environment& env, const selection_request& request) {
  return selector(l, env, request).run();
}

result<std::vector<std::uint32_t>> filter_projects(loader& l, const environment& env, const std::vector<std::string>& filters,
                                                   std::vector<std::string>& notices) {
  change_cache changes(l, env);
  VX_TRY_LET(const filter_outcome outcome, select_filters(l, changes, filters, false, notices));
  return members(outcome.chosen);
}

}  // namespace vx::workspace
