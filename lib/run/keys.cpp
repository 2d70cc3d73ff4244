#include "run/keys.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace vx::run {

key_table::key_table(prepared& p) : p_(p), probes_(*p.h, p.cancel), keys_(p.graph.nodes.size()) {}

node_key key_table::rollup(std::uint32_t node) const {
  node_key out;
  std::vector<std::pair<std::string, digest128>> parts;
  for (const std::uint32_t dep : p_.graph.edges.deps(node)) {
    if (!known(dep)) {
      out.is = node_key::state::upstream;
      return out;
    }
    parts.emplace_back(p_.graph.nodes[dep].id, keys_[dep].key);
  }
  out.key = key::fold_rollup(std::move(parts));
  out.is = node_key::state::known;
  return out;
}

result<void> key_table::fill(std::uint32_t node, const inputs::selected& files, key::task_material& m) {
  const task_info& t = p_.tasks[node];
  const workspace::task_config& config = *t.config;
  m.task_id = p_.graph.nodes[node].id;
  m.platform = p_.h->platform;
  m.portable = config.portable || config.keyed_group();
  m.workspace = p_.fingerprint.digest;
  VX_TRY_LET(m.manifest, p_.facts->manifest_identity(t.project->dir));
  m.config = config.digest;
  if (p_.graph.nodes[node].requested && config.has_exec) m.forward = p_.request.args;
  for (const std::string& name : config.input_env) {
    const std::string* v = p_.h->env.find(name);
    m.env.push_back({name, v == nullptr ? std::nullopt : std::optional<std::string>(*v)});
  }
  const auto asker = !late_probes_.empty() && late_probes_[node] ? std::optional<std::uint32_t>(node) : std::nullopt;
  for (const std::string& command : config.input_runtime) {
    VX_TRY_LET(key::probe_item item, probes_.ask(t.project->dir, command, false, asker));
    m.runtime.push_back(std::move(item));
  }
  for (const std::string& command : config.input_workspace_runtime) {
    VX_TRY_LET(key::probe_item item, probes_.ask({}, command, true, asker));
    m.ws_runtime.push_back(std::move(item));
  }
  for (const std::uint32_t dep : p_.graph.folded[node]) m.upstream.push_back(keys_[dep].key);
  if (!p_.material.empty())
    for (const auto& [name, value] : p_.material[node]) m.host.push_back({name, value});
  if (p_.closure) m.host.push_back({"lockfile", std::string(p_.closure->of(t.project->dir).view())});
  m.inputs = files.items;
  return {};
}

node_key key_table::compute(std::uint32_t node) {
  node_key out;
  const workspace::task_config& config = *p_.tasks[node].config;
  if (config.is_group() && !config.has_cache) return rollup(node);
  const auto refuse = [&](failure f) {
    out.is = node_key::state::error;
    out.why = std::move(f);
    return out;
  };
  result<inputs::selected> files = p_.facts->select(*p_.tasks[node].selector);
  if (!files) return refuse(std::move(files).error());
  key::task_material m;
  if (auto filled = fill(node, *files, m); !filled) return refuse(std::move(filled).error());
  out.matched_nothing = files->matched_nothing && config.has_exec;
  out.incomplete = files->incomplete;
  // Only now: a task's own errors fail it also where an upstream leaves it without a key.
  const auto& folded = p_.graph.folded[node];
  if (!std::all_of(folded.begin(), folded.end(), [this](std::uint32_t dep) { return known(dep); })) {
    out.is = node_key::state::upstream;
    return out;
  }
  out.key = key::task_key(m);
  out.is = node_key::state::known;
  return out;
}

const node_key& key_table::derive(std::uint32_t node) {
  keys_[node] = compute(node);
  return keys_[node];
}

result<digest128> key_table::again(std::uint32_t node, const inputs::selected& files) {
  key::task_material m;
  VX_TRY(fill(node, files, m));
  return key::task_key(m);
}

std::vector<key::component> key_table::explain(std::uint32_t node, const inputs::selected& files, const digest128& salt) {
  key::task_material m;
  if (!fill(node, files, m) || key::task_key(m) != keys_[node].key) return {};
  std::vector<std::pair<digest128, std::string>> names;
  for (const std::uint32_t dep : p_.graph.folded[node]) names.emplace_back(keys_[dep].key, p_.graph.nodes[dep].id);
  key::explain_sink sink(salt, std::move(names));
  key::fold(m, sink);
  return sink.take();
}

void key_table::warm_probes(const std::vector<std::uint32_t>& nodes) {
  std::set<std::pair<std::string, std::string>> project_probes;
  std::set<std::string> workspace_probes;
  for (const std::uint32_t node : nodes) {
    const task_info& t = p_.tasks[node];
    for (const std::string& c : t.config->input_runtime) project_probes.emplace(t.project->dir, c);
    for (const std::string& c : t.config->input_workspace_runtime) workspace_probes.insert(c);
  }
  std::vector<std::tuple<std::string, std::string, bool>> all;
  for (const auto& [dir, c] : project_probes) all.emplace_back(dir, c, false);
  for (const std::string& c : workspace_probes) all.emplace_back(std::string(), c, true);
  if (all.size() < 2) return;  // a single one is asked where its answer is needed
  parallel_for(all.size(), std::max(2u, p_.concurrency), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) (void)probes_.ask(std::get<0>(all[i]), std::get<1>(all[i]), std::get<2>(all[i]));
  });
}

}  // namespace vx::run
