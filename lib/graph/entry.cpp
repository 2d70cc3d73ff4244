#include "graph/entry.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vx::graph {

using detail::entry_view;
using detail::quoted;
using form = entry::form;

namespace {

bool has_star(std::string_view s) noexcept { return s.find('*') != std::string_view::npos; }
bool only_stars(std::string_view s) noexcept { return !s.empty() && s.find_first_not_of('*') == std::string_view::npos; }

tl::unexpected<failure> malformed(std::string_view raw, std::string_view why) {
  return fail(errc::CONFIG, quoted(raw) + " " + std::string(why));
}

/// Forms that would gain or lose edges silently when the workspace grows are not taken for edges.
status check_place(std::string_view raw, const entry_view& e) {
  if (e.negated) return malformed(raw, "is an exclusion, which only cache.inputs.tasks takes: list the tasks to depend on");
  if (e.kind == form::all_same)
    return malformed(raw, "means every dependency, which only cache.inputs.tasks takes: name the tasks to depend on");
  if (e.kind == form::all_frontier) {
    return malformed(
        raw, "means every dependency of other projects, which only cache.inputs.tasks takes: name a task, such as \"^build\"");
  }
  if (e.kind == form::project && e.pattern) {
    return malformed(
        raw,
        "is a pattern across projects, which would gain edges whenever a project appears: name one task, or use \"^name\"");
  }
  return {};
}

/// Could a dependsOn entry lead to what the exact entry `want` names?
bool names_it(const entry_view& dep, const entry_view& want) noexcept {
  if (!text::star_match(dep.name, want.name)) return false;
  if (dep.kind == form::project && want.kind == form::project) return dep.project == want.project;
  return dep.kind == want.kind || dep.kind == form::project || want.kind == form::project;
}

}  // namespace

std::string detail::quoted(std::string_view raw) { return "\"" + text::escape(raw, true) + "\""; }

tl::unexpected<failure> detail::refuse(std::string_view id, entry_place place, std::string_view message) {
  const std::string_view field = place == entry_place::depends_on ? "dependsOn" : "cache.inputs.tasks";
  return fail(errc::CONFIG, text::escape(id, true) + ": " + std::string(field) + " entry " + std::string(message));
}

result<entry_view> detail::parse_view(std::string_view raw, entry_place place) {
  entry_view e;
  std::string_view rest = raw;
  if (text::trim(rest).empty()) return malformed(raw, "is empty: write a task name");
  if (rest.starts_with('!')) {
    e.negated = true;
    rest.remove_prefix(1);
    if (rest.empty()) return malformed(raw, "excludes nothing: write a task name after the \"!\"");
  }
  const bool frontier = rest.starts_with('^');
  if (frontier) {
    rest.remove_prefix(1);
    if (rest.empty()) return malformed(raw, "lacks a task name after the \"^\": write one, such as \"^build\"");
  }
  const std::size_t hash = rest.find('#');
  if (hash != std::string_view::npos) {
    if (frontier) return malformed(raw, "mixes \"^\" with a named project: write one of the two");
    e.kind = form::project;
    e.project = rest.substr(0, hash);
    e.name = rest.substr(hash + 1);
    if (e.project.empty() || e.name.empty()) return malformed(raw, "lacks one side of \"#\": write project#task");
    e.pattern = has_star(e.project) || has_star(e.name);
  } else {
    e.name = rest;
    e.pattern = has_star(rest);
    if (only_stars(rest)) {
      e.kind = frontier ? form::all_frontier : form::all_same;
    } else {
      e.kind = frontier ? form::frontier : form::same;
    }
  }
  if (place == entry_place::depends_on) VX_TRY(check_place(raw, e));
  return e;
}

bool detail::reaches(const entry_view& e, const catalog& c, std::uint32_t own, std::uint32_t project,
                     std::string_view name) noexcept {
  const bool same = own == project;
  switch (e.kind) {
    case form::all_same: return same;
    case form::all_frontier: return !same;
    case form::same: return same && text::star_match(e.name, name);
    case form::frontier: return !same && text::star_match(e.name, name);
    case form::project: break;
  }
  const bool there = e.project == "//" ? c.root == project : text::star_match(e.project, c.projects[project].name);
  return there && text::star_match(e.name, name);
}

result<entry> parse_entry(std::string_view raw, entry_place place) {
  VX_TRY_LET(const entry_view v, detail::parse_view(raw, place));
  return entry{v.kind, v.negated, std::string(v.project), std::string(v.name), v.pattern, std::string(raw)};
}

status check_inputs_tasks(const catalog_task& task, std::string_view task_id) {
  if (!task.inputs_tasks) return {};
  std::vector<entry_view> deps;
  for (const std::string& raw : task.depends_on) {
    // A malformed dependsOn entry is refused where edges are built.
    if (const auto e = detail::parse_view(raw, entry_place::depends_on)) deps.push_back(*e);
  }
  bool first = true;
  for (const std::string& raw : *task.inputs_tasks) {
    const auto e = detail::parse_view(raw, entry_place::inputs_tasks);
    if (!e) return detail::refuse(task_id, entry_place::inputs_tasks, e.error().message);
    if (first && e->negated) {
      return detail::refuse(
          task_id, entry_place::inputs_tasks,
          quoted(raw) + " opens the list with an exclusion, so no key would fold: begin with \"*\" or \"^*\"");
    }
    first = false;
    const bool exact = !e->negated && !e->pattern;
    if (!exact || std::any_of(deps.begin(), deps.end(), [&](const entry_view& d) { return names_it(d, *e); })) continue;
    std::vector<std::string> known;
    for (const std::string& d : task.depends_on) known.push_back(d);
    return detail::refuse(task_id, entry_place::inputs_tasks,
                          quoted(raw) + " names no dependsOn entry of the task, so it would fold nothing" +
                              text::did_you_mean(raw, known) + ": write it as dependsOn does, or add the dependency");
  }
  return {};
}

}  // namespace vx::graph
