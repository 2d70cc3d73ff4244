#include "run/prepare.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "base/threads.hpp"
#include "run/store_access.hpp"
#include "workspace/overlap.hpp"

namespace vx::run {
namespace {

status refuse_nested(const host& h) {
  const std::string* outer = h.env.find("VX_RUN_WORKSPACE");
  if (outer == nullptr || *outer != h.root) return {};
  return fail(errc::REFUSED, "vx is already running this workspace (inside task " + text::escape(h.env.get("VX_RUN_TASK")) +
                                 "): use dependsOn instead of starting vx from a task");
}

/// Where results are kept; opened beside the config load because it reads another disk area.
struct opened_store {
  cache::store_location location;
  std::unique_ptr<cache::store> store;
};

result<opened_store> open_store(const prepared& p, prepare_mode mode, notices& say) {
  opened_store out;
  VX_TRY_LET(out.location, find_store(*p.h, p.request.cache_dir, p.loader->ws().settings, p.index.get()));
  cache::open_options options;
  options.create = mode == prepare_mode::run;
  options.private_dir = out.location.source == cache::store_source::shared;
  options.notice = [&say](const std::string& line) { say.say(level::warning, line); };
  VX_TRY_LET(out.store, cache::store::open(out.location, options));
  return out;
}

/// Compiled glob lists, one per distinct declaration: thousands of tasks share a handful.
class matcher_pool {
 public:
  const glob::matcher& of(const std::vector<std::string>& entries) {
    std::string name;
    for (const std::string& e : entries) name.append(e).push_back('\0');
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second;
    auto compiled = glob::matcher::compile(entries);  // validated at load: a failure here can only mean "matches nothing"
    return known_.emplace(std::move(name), compiled ? std::move(*compiled) : glob::matcher()).first->second;
  }

 private:
  std::map<std::string, glob::matcher, std::less<>> known_;
};

std::shared_ptr<const inputs::selector> make_selector(const prepared& p, const graph::task_node& node,
                                                      const workspace::project& project, const workspace::task_config& config,
                                                      matcher_pool& pool) {
  auto s = std::make_shared<inputs::selector>();
  s->project_dir = project.dir;
  s->nested = p.ws().nested_of(node.project);
  if (!config.has_cache) {
    s->files = glob::matcher::everything();
    s->subtract_outputs = false;
    return s;
  }
  s->files = pool.of(config.input_files);
  s->file_entries = config.input_files;
  s->has_workspace_files = !config.input_workspace_files.empty();
  if (s->has_workspace_files) {
    s->workspace_files = pool.of(config.input_workspace_files);
    s->workspace_entries = config.input_workspace_files;
  }
  s->own_outputs = pool.of(config.output_files);
  s->own_workspace_outputs = pool.of(config.output_workspace_files);
  return s;
}

std::shared_ptr<const cache::output_scope> make_scope(const prepared& p, const graph::task_node& node,
                                                      const workspace::project& project, const workspace::task_config& config,
                                                      matcher_pool& pool) {
  auto s = std::make_shared<cache::output_scope>();
  s->root = p.h->root;
  s->project_dir = project.dir;
  s->files = config.output_files;
  s->workspace_files = config.output_workspace_files;
  s->files_match = pool.of(config.output_files);
  s->workspace_match = pool.of(config.output_workspace_files);
  s->nested = p.ws().nested_of(node.project);
  return s;
}

void describe_tasks(prepared& p) {
  matcher_pool pool;
  p.tasks.reserve(p.graph.nodes.size());
  for (const graph::task_node& node : p.graph.nodes) {
    task_info info;
    info.project = &p.ws().projects[node.project];
    info.config = p.ws().find_task(node.project, p.loader->catalog().projects[node.project].tasks[node.task].name);
    const workspace::task_config& config = *info.config;
    if (config.has_exec || config.has_cache) info.selector = make_selector(p, node, *info.project, config, pool);
    if (config.cacheable()) info.scope = make_scope(p, node, *info.project, config, pool);
    if (config.has_exec)
      info.command =
          node.requested && !p.request.args.empty() ? exec::append_arguments(config.command, p.request.args) : config.command;
    p.tasks.push_back(std::move(info));
  }
}

/// Arguments must reach at least one task with a command.
status check_forwarded(const prepared& p) {
  if (p.request.args.empty() || p.graph.nodes.empty()) return {};
  for (std::size_t i = 0; i < p.graph.nodes.size(); ++i)
    if (p.graph.nodes[i].requested && p.tasks[i].config->has_exec) return {};
  return fail(errc::USAGE, "the arguments after -- reach no task: only groups were requested");
}

/// A key without its material would be another key: a provider that fails refuses the run.
status ask_material(prepared& p) {
  if (!p.h->seams.key_material) return {};
  p.material.resize(p.tasks.size());
  for (std::size_t i = 0; i < p.tasks.size(); ++i) {
    if (!p.tasks[i].config->has_exec && !p.tasks[i].config->has_cache) continue;
    const std::string& id = p.graph.nodes[i].id;
    const status given = p.h->seams.key_material(id, p.material[i]);
    if (!given) return fail(errc::REFUSED, "no key material for " + text::escape(id) + ": " + given.error().message);
  }
  return {};
}

exec::mask build_mask(const prepared& p) {
  std::vector<std::string> values = exec::mask::of(p.h->env, {}).values();
  for (const task_info& t : p.tasks) {
    for (const std::string& name : t.config->env_secret)
      if (const std::string* v = p.h->env.find(name)) values.push_back(*v);
    for (const auto& [name, v] : t.config->env_define) {
      const bool listed =
          std::find(t.config->env_secret.begin(), t.config->env_secret.end(), name) != t.config->env_secret.end();
      if (listed || exec::is_secret_name(name)) values.push_back(v);
    }
  }
  return values.empty() ? exec::mask() : exec::mask(std::move(values));
}

status build_graph(prepared& p) {
  const stage_span span(p.timing, "build graph");
  graph::build_options options;
  options.declared_anywhere = [&p](std::string_view task) -> result<bool> {
    p.loader->load_all_tolerant();
    for (const graph::catalog_project& c : p.loader->catalog().projects)
      if (!c.loaded || c.find(task) != nullptr) return true;
    return false;
  };
  VX_TRY_LET(p.graph, graph::build_task_graph(p.loader->catalog(), p.selection.requests, options));
  VX_TRY(workspace::check_overlaps(p.loader->ws(), p.graph, p.loader->catalog()));
  VX_TRY(graph::check_exclusions(p.loader->catalog(), p.request.exclude));
  p.schedule = graph::apply_exclusions(p.loader->catalog(), p.graph, p.request.exclude);
  describe_tasks(p);
  VX_TRY(check_forwarded(p));
  VX_TRY(ask_material(p));
  p.mask = build_mask(p);
  return {};
}

status set_concurrency(prepared& p) {
  p.cpus = exec::usable_cpu_info();
  p.concurrency = p.loader->ws().settings.concurrency.value_or(p.cpus.count);
  if (!p.request.concurrency.empty()) {
    VX_TRY_LET(p.concurrency, resolve_concurrency(p.request.concurrency, p.cpus.count));
  }
  return {};
}

status open_index(prepared& p) {
  cache::index::open_options options;
  options.create = true;  // a plan may write the checkout's memos, which decide nothing
  options.notice = [&p](const std::string& line) { p.notices.say(level::warning, line); };
  VX_TRY_LET(p.index, cache::index::open(p.h->root, options));
  p.memo = std::make_unique<index_memo>(*p.index, p.request.policy.local_read, p.request.policy.local_write);
  return {};
}

status load_workspace(prepared& p) {
  workspace::open_request open;
  open.cwd = p.h->cwd;
  open.env = &p.h->env;
  open.memo = p.memo.get();
  open.cancel = p.cancel;
  const stage_span span(p.timing, "discover projects");
  VX_TRY_LET(p.loader, workspace::loader::open(p.h->root, open));
  return {};
}

status select_tasks(prepared& p) {
  const stage_span span(p.timing, "load configs");
  p.request.select.cwd = p.h->cwd;
  auto selected = workspace::select(*p.loader, p.h->env, p.request.select);
  p.loader->finish();  // good evaluations are kept even when the selection is refused
  if (!selected) return fail(std::move(selected).error());
  p.selection = std::move(*selected);
  return {};
}

status collect(prepared& p, std::future<result<opened_store>>& store) {
  result<opened_store> opened = store.get();
  if (!opened) return fail(std::move(opened).error());
  p.location = std::move(opened->location);
  p.store = std::move(opened->store);
  const stage_span span(p.timing, "git enumeration");
  VX_TRY(p.facts->wait());
  for (const std::string& line : p.facts->notices()) p.notices.say(level::notice, line);
  return {};
}

}  // namespace

bool prepared::may_read(std::uint32_t node) const { return tasks[node].config->cacheable() && request.policy.may_read(); }
bool prepared::may_write(std::uint32_t node) const { return tasks[node].config->cacheable() && request.policy.may_write(); }

result<std::unique_ptr<prepared>> prepare(std::shared_ptr<const host> h, run_request request, prepare_mode mode,
                                          const cancel_token* cancel) {
  auto p = std::make_unique<prepared>();
  p->h = std::move(h);
  p->request = std::move(request);
  p->cancel = cancel;
  if (mode == prepare_mode::run) VX_TRY(refuse_nested(*p->h));

  inputs::start_request start;
  start.root = p->h->root;
  start.env = &p->h->env;
  start.cancel = cancel;
  start.memo_follows = true;
  p->facts = inputs::facts::start(start);
  VX_TRY(open_index(*p));
  p->facts->set_memo(p->index.get());
  VX_TRY(load_workspace(*p));
  VX_TRY(set_concurrency(*p));
  std::future<result<opened_store>> store;
  {
    const signals_blocked quiet;
    store = std::async(std::launch::async, [&] { return open_store(*p, mode, p->notices); });
  }
  const auto rest = [&]() -> status {
    VX_TRY_LET(p->fingerprint, workspace::read_fingerprint(p->h->root, p->ws().settings.closure_keys()));
    VX_TRY_LET(p->closure, workspace::read_closure(p->ws(), p->fingerprint));
    VX_TRY(select_tasks(*p));
    VX_TRY(build_graph(*p));
    return {};
  };
  const status built = rest();
  if (!built) {
    store.wait();
    return fail(built.error());
  }
  VX_TRY(collect(*p, store));
  if (p->closure && !p->closure->notice.empty()) p->notices.say(level::warning, p->closure->notice);
  for (const std::string& line : p->ws().notices) p->notices.say(level::warning, line);
  for (const std::string& line : p->selection.notices) p->notices.say(level::notice, line);
  return p;
}

}  // namespace vx::run
