#include "run/show.hpp"

#include <algorithm>

#include "base/near_names.hpp"
#include "base/text.hpp"
#include "cache/index.hpp"
#include "exec/mask.hpp"
#include "run/memo.hpp"
#include "workspace/selection.hpp"
#include "workspace/workspace.hpp"

namespace vx::run {
namespace {

/// A workspace opened for reading: the memo is read, nothing is written.
struct reading {
  std::shared_ptr<const host> h;
  std::unique_ptr<cache::index> index;
  std::unique_ptr<index_memo> memo;
  std::unique_ptr<workspace::loader> loader;
  std::vector<std::string> notices;

  const workspace::workspace& ws() const { return loader->ws(); }
};

result<reading> open_reading(std::shared_ptr<const host> h, const cancel_token* cancel) {
  reading r;
  r.h = std::move(h);
  cache::index::open_options options;
  options.create = false;
  VX_TRY_LET(r.index, cache::index::open(r.h->root, options));
  r.memo = std::make_unique<index_memo>(*r.index, true, false);
  workspace::open_request open;
  open.cwd = r.h->cwd;
  open.env = &r.h->env;
  open.memo = r.memo.get();
  open.cancel = cancel;
  VX_TRY_LET(r.loader, workspace::loader::open(r.h->root, open));
  return r;
}

json::array text_array(const std::vector<std::string>& items) {
  json::array out;
  out.reserve(items.size());
  for (const std::string& i : items) out.emplace_back(i);
  return out;
}

json::array notice_array(const reading& r) {
  json::array out = text_array(r.ws().notices);
  for (const std::string& n : r.notices) out.emplace_back(n);
  return out;
}

/// Replaces secret values in every string of a document.
void mask_strings(json::value& v, const exec::mask& m) {
  std::vector<json::value*> stack{&v};
  while (!stack.empty()) {
    json::value& at = *stack.back();
    stack.pop_back();
    if (at.is_string())
      at = m.apply(at.as_string());
    else if (at.is_array())
      for (json::value& child : at.as_array()) stack.push_back(&child);
    else if (at.is_object())
      for (json::member& child : at.as_object()) stack.push_back(&child.val);
  }
}

json::value config_of(const workspace::project& p) {
  if (p.config == nullptr || p.config->json.empty()) return nullptr;
  auto parsed = json::parse(p.config->json);
  return parsed ? std::move(*parsed) : json::value(nullptr);
}

/// The declared task's object; an implicit build's is made up from what it means.
json::value task_object(const workspace::project& p, const workspace::task_config& task) {
  if (!task.implicit) {
    const json::value config = config_of(p);
    const json::value* tasks = config.get("tasks");
    const json::value* found = tasks == nullptr ? nullptr : tasks->get(task.name);
    if (found != nullptr) return *found;
  }
  json::object inputs, outputs, cache, o;
  inputs.add("files", text_array(task.input_files));
  outputs.add("files", json::array{});
  cache.add("inputs", std::move(inputs));
  cache.add("outputs", std::move(outputs));
  o.add("dependsOn", text_array(task.depends_on));
  o.add("cache", std::move(cache));
  return o;
}

std::vector<std::string> declared_names(const workspace::project& p) {
  std::vector<std::string> out;
  if (p.config != nullptr)
    for (const workspace::task_config& t : p.config->tasks) out.push_back(t.name);
  return out;
}

json::value project_line(const workspace::project& p) {
  json::object o;
  o.add("name", p.name);
  o.add("dir", p.dir.empty() ? "." : p.dir);
  o.add("tags", p.config == nullptr ? json::array{} : text_array(p.config->tags));
  o.add("tasks", text_array(declared_names(p)));
  return o;
}

json::value task_block(const workspace::project& p, const workspace::task_config& t) {
  json::object o;
  o.add("name", p.name);
  o.add("dir", p.dir.empty() ? "." : p.dir);
  o.add("task", t.name);
  o.add("config", task_object(p, t));
  return o;
}

tl::unexpected<failure> unknown_target(const reading& r, const std::string& target) {
  std::vector<std::string> names = r.ws().project_names();
  for (const workspace::project& p : r.ws().projects)
    for (const std::string& t : declared_names(p)) names.push_back(t);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string hint = text::did_you_mean_some(target, names);
  return fail(errc::UNKNOWN_PROJECT, "no project or task is called " + text::escape(target, true) +
                                         (hint.empty() ? "; there are " + text::list_some(names, 12) : hint));
}

result<json::value> show_pair(reading& r, const std::string& target, std::size_t hash) {
  const std::string name = target.substr(0, hash), task = target.substr(hash + 1);
  const auto project = r.ws().find_project(name);
  if (!project) {
    const std::vector<std::string> names = r.ws().project_names();
    return fail(errc::UNKNOWN_PROJECT, "no project is called " + text::escape(name, true) + text::did_you_mean(name, names));
  }
  const workspace::project& p = r.ws().projects[*project];
  const workspace::task_config* t = r.ws().find_task(*project, task);
  if (t == nullptr) {
    const std::vector<std::string> names = declared_names(p);
    return fail(errc::UNKNOWN_TASK, p.name + " declares no task " + text::escape(task, true) + text::did_you_mean(task, names));
  }
  json::object doc;
  doc.add("kind", "task");
  doc.add("result", task_block(p, *t));
  return json::value(std::move(doc));
}

result<json::value> show_target(reading& r, const show_request& request, const std::vector<std::uint32_t>& scope) {
  const std::string& target = request.target;
  if (target.empty()) return fail(errc::USAGE, "show needs a project, a task or nothing, not an empty word");
  const std::size_t hash = target.find('#');
  const auto project = hash == std::string::npos ? r.ws().find_project(target) : std::nullopt;
  if ((project || hash != std::string::npos) && !request.filters.empty())
    return fail(errc::USAGE, "a filter can't narrow " + text::escape(target, true) + ": it names one project already");
  if (hash != std::string::npos) return show_pair(r, target, hash);
  json::object doc;
  if (project) {
    const workspace::project& p = r.ws().projects[*project];
    json::object o;
    o.add("name", p.name);
    o.add("dir", p.dir.empty() ? "." : p.dir);
    o.add("config", config_of(p));
    doc.add("kind", "project");
    doc.add("result", std::move(o));
    return json::value(std::move(doc));
  }
  json::array blocks;
  for (const std::uint32_t i : scope) {
    const workspace::task_config* t = r.ws().find_task(i, target);
    if (t != nullptr && !t->implicit) blocks.push_back(task_block(r.ws().projects[i], *t));
  }
  if (blocks.empty()) return unknown_target(r, target);
  doc.add("kind", "tasks");
  doc.add("result", std::move(blocks));
  return json::value(std::move(doc));
}

result<std::vector<std::uint32_t>> scope_of(reading& r, const std::vector<std::string>& filters) {
  if (!filters.empty()) return workspace::filter_projects(*r.loader, r.h->env, filters, r.notices);
  std::vector<std::uint32_t> all(r.ws().projects.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

exec::mask mask_of(const reading& r) {
  std::vector<std::string> extra;
  for (const workspace::project& p : r.ws().projects) {
    if (p.config == nullptr) continue;
    for (const workspace::task_config& t : p.config->tasks) extra.insert(extra.end(), t.env_secret.begin(), t.env_secret.end());
  }
  return exec::mask::of(r.h->env, extra);
}

}  // namespace

result<json::value> show(std::shared_ptr<const host> h, const show_request& request, const cancel_token* cancel) {
  VX_TRY_LET(reading r, open_reading(std::move(h), cancel));
  VX_TRY(r.loader->load_all());
  VX_TRY_LET(const std::vector<std::uint32_t> scope, scope_of(r, request.filters));
  json::value doc;
  if (request.has_target) {
    VX_TRY_LET(doc, show_target(r, request, scope));
  } else {
    json::array lines;
    for (const std::uint32_t i : scope) lines.push_back(project_line(r.ws().projects[i]));
    json::object o;
    o.add("kind", "projects");
    o.add("result", std::move(lines));
    doc = std::move(o);
  }
  const exec::mask m = mask_of(r);
  if (!m.empty()) mask_strings(doc, m);
  doc.as_object().add("notices", notice_array(r));
  r.loader->finish();
  return doc;
}

result<json::value> list_tasks(std::shared_ptr<const host> h, const std::vector<std::string>& filters,
                               const cancel_token* cancel) {
  VX_TRY_LET(reading r, open_reading(std::move(h), cancel));
  VX_TRY(r.loader->load_all());
  VX_TRY_LET(const std::vector<std::uint32_t> scope, scope_of(r, filters));
  json::array projects;
  for (const std::uint32_t i : scope) {
    const workspace::project& p = r.ws().projects[i];
    json::object o = project_line(p).as_object();
    json::array tasks;
    if (p.config != nullptr) {
      for (const workspace::task_config& t : p.config->tasks) {
        json::object one;
        one.add("id", p.name + "#" + t.name);
        one.add("name", t.name);
        one.add("command", t.has_exec ? json::value(t.command) : json::value(nullptr));
        one.add("dependsOn", text_array(t.depends_on));
        one.add("cached", t.cacheable());
        if (t.description) one.add("description", *t.description);
        tasks.emplace_back(std::move(one));
      }
    }
    o.set("tasks", std::move(tasks));
    projects.emplace_back(std::move(o));
  }
  json::object doc;
  doc.add("projects", std::move(projects));
  const std::string& cwd = r.h->cwd;
  const std::string& root = r.h->root;
  std::optional<std::uint32_t> current;
  if (cwd == root)
    current = r.ws().root_project;
  else if (cwd.size() > root.size() + 1 && cwd.compare(0, root.size(), root) == 0)
    current = r.ws().owner_of(cwd.substr(root.size() + 1));
  doc.add("current", current ? json::value(r.ws().projects[*current].name) : json::value(nullptr));
  json::value out(std::move(doc));
  const exec::mask m = mask_of(r);
  if (!m.empty()) mask_strings(out, m);
  out.as_object().add("notices", notice_array(r));
  r.loader->finish();
  return out;
}

}  // namespace vx::run
