// Glob lists of a task: every refusal of config.md 11, and the entries of cache.inputs.tasks.
#include "glob/glob.hpp"

#include <algorithm>

#include "base/path.hpp"
#include "graph/task_graph.hpp"
#include "workspace/project_schema.hpp"

namespace vx::workspace::schema {
namespace {

std::vector<std::string> strings_of(const json::value* v) {
  std::vector<std::string> out;
  if (v == nullptr) return out;
  for (const json::value& e : v->as_array()) out.push_back(e.as_string());
  return out;
}

bool globs(checker& c, const json::value& v, glob::side side) {
  if (!v.is_array()) return c.must(v, "must be an array of globs: write `[\"src/**\"]`");
  const bool entries = c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a glob string");
    const status s = glob::check_entry(e.as_string(), side);
    return s.has_value() || c.refuse(e, ": " + s.error().message);
  });
  if (!entries) return false;
  const status list = glob::check_list(strings_of(&v), side);
  return list.has_value() || c.refuse(v, ": " + list.error().message);
}

/// The lists of a task as seen from the workspace root.
struct task_globs {
  struct list {
    const char* part;
    const char* name;
    const json::value* source = nullptr;
    std::vector<glob::pattern> positives = {}, negatives = {};
  };
  list in_files{"inputs", "files"}, in_workspace{"inputs", "workspaceFiles"};
  list out_files{"outputs", "files"}, out_workspace{"outputs", "workspaceFiles"};
};

bool fill(task_globs::list& l, const json::value& cache, std::string_view dir) {
  l.source = cache.get(l.part)->get(l.name);
  if (l.source == nullptr) return true;
  auto m = glob::matcher::compile(strings_of(l.source));
  if (!m) return false;  // check_entry refuses what compile refuses; nothing more to say here
  const bool rebase = std::string_view(l.name) == "files";
  for (const glob::pattern& p : m->positives()) l.positives.push_back(rebase ? glob::rebase(dir, p) : p);
  for (const glob::pattern& p : m->negatives()) l.negatives.push_back(rebase ? glob::rebase(dir, p) : p);
  return true;
}

/// Everything `p` selects is deleted before the run: an output covers it and no `!` output reaches into it.
bool taken_back(const glob::pattern& p, const task_globs::list& out) {
  const bool covered =
      std::any_of(out.positives.begin(), out.positives.end(), [&](const glob::pattern& o) { return glob::covers(o, p); });
  if (!covered) return false;
  return std::none_of(out.negatives.begin(), out.negatives.end(), [&](const glob::pattern& n) { return glob::may_meet(n, p); });
}

bool sources_survive(checker& c, const json::value& cache, const task_globs& g, const task_globs::list& in) {
  if (in.source == nullptr) return true;
  const bool rebase = std::string_view(in.name) == "files";
  return c.inside(in.part, [&] {
    return c.inside(in.name, [&] {
      return c.each(cache.get(in.part)->get(in.name)->as_array(), [&](const json::value& e) {
        if (e.as_string().starts_with('!')) return true;
        const auto entry = glob::matcher::compile({e.as_string()});
        if (!entry || entry->positives().empty()) return true;
        for (const glob::pattern& p : entry->positives()) {
          const glob::pattern seen = rebase ? glob::rebase(c.ctx.dir, p) : p;
          if (!taken_back(seen, g.out_files) && !taken_back(seen, g.out_workspace)) return true;
        }
        return c.refuse(
            e, show(e) + " is covered by this task's own outputs, which are deleted before it runs: narrow the outputs");
      });
    });
  });
}

/// The entry of an output list that covers `path` (in the list's own space), if the list as a whole does.
const json::value* covering_entry(const json::value* list, const std::string& path) {
  if (list == nullptr) return nullptr;
  const auto whole = glob::matcher::compile(strings_of(list));
  if (!whole || !whole->match(path)) return nullptr;
  for (const json::value& e : list->as_array()) {
    if (e.as_string().starts_with('!')) continue;
    const auto one = glob::matcher::compile({e.as_string()});
    if (one && one->match(path)) return &e;
  }
  return nullptr;
}

bool manifests_survive(checker& c, const json::value& cache) {
  const json::value& outputs = *cache.get("outputs");
  const std::string config(path::base_name(c.ctx.file));
  for (const std::string& name : {std::string("package.json"), config}) {
    for (const char* list : {"files", "workspaceFiles"}) {
      const bool local = std::string_view(list) == "files";
      const json::value* v = outputs.get(list);
      const json::value* e = covering_entry(v, local ? name : path::join(c.ctx.dir, name));
      if (e == nullptr) continue;
      const std::size_t index = static_cast<std::size_t>(e - v->as_array().data());
      return c.inside("outputs", [&] {
        return c.inside(list, [&] {
          std::size_t i = 0;
          return c.each(v->as_array(), [&](const json::value& at) {
            if (i++ != index) return true;
            const std::string back = local ? name : path::join(c.ctx.dir, name);
            return c.refuse(at, show(at) + " covers the project's " + name +
                                    ", which would be deleted before the run: narrow it, or add \"!" + back + "\"");
          });
        });
      });
    }
  }
  return true;
}

}  // namespace

bool is_input_globs(checker& c, const json::value& v, const field&) { return globs(c, v, glob::side::input); }
bool is_output_globs(checker& c, const json::value& v, const field&) { return globs(c, v, glob::side::output); }

bool check_task_globs(checker& c, const json::value& task) {
  const json::value& cache = *task.get("cache");
  return c.inside("cache", [&] {
    if (!manifests_survive(c, cache)) return false;
    task_globs g;
    for (task_globs::list* l : {&g.in_files, &g.in_workspace, &g.out_files, &g.out_workspace}) {
      if (!fill(*l, cache, c.ctx.dir)) return true;
    }
    if (g.out_files.positives.empty() && g.out_workspace.positives.empty()) return true;
    return sources_survive(c, cache, g, g.in_files) && sources_survive(c, cache, g, g.in_workspace);
  });
}

bool is_task_filter(checker& c, const json::value& v, const field&) {
  if (!v.is_array()) return c.must(v, "must be an array of dependency names: write `[\"*\", \"^*\"]` for all, `[]` for none");
  const json::array& a = v.as_array();
  const bool entries = c.each(a, [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a string");
    if (is_blank(e.as_string())) return c.refuse(e, "must not be empty");
    const auto parsed = graph::parse_entry(e.as_string(), graph::entry_place::inputs_tasks);
    return parsed.has_value() || c.refuse(e, ": " + parsed.error().message);
  });
  if (!entries) return false;
  if (!a.empty() && a.front().as_string().starts_with('!')) {
    return c.refuse(a.front(),
                    "begins with an exclusion, which would leave nothing: begin with `*` or `^*`, not " + show(a.front()));
  }
  return true;
}

bool check_task_filter(checker& c, const json::value& task) {
  const json::value* filter = task.get("cache")->get("inputs")->get("tasks");
  if (filter == nullptr) return true;
  graph::catalog_task t;
  t.name = c.ctx.task;
  t.depends_on = strings_of(task.get("dependsOn"));
  t.inputs_tasks = strings_of(filter);
  t.has_exec = task.get("exec") != nullptr;
  t.cached = true;
  const status s = graph::check_inputs_tasks(t, c.ctx.task);
  if (s) return true;
  return c.inside("cache", [&] {
    return c.inside("inputs", [&] { return c.inside("tasks", [&] { return c.refuse(*filter, ": " + s.error().message); }); });
  });
}

}  // namespace vx::workspace::schema
