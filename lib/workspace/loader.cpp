#include <algorithm>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "key/digest.hpp"
#include "workspace/catalog.hpp"
#include "workspace/discovery.hpp"
#include "workspace/package_graph.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

namespace {

using id = std::uint32_t;

void insert_sorted(std::vector<id>& list, id value) {
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at == list.end() || *at != value) list.insert(at, value);
}

/// Everything the manifests' package graph is a function of.
digest128 graph_key(const workspace& ws, const catalog_map& catalogs, const std::vector<stamps>& at) {
  byte_writer w;
  w.reserve(ws.projects.size() * 96);
  w.text32("package-graph-1");
  w.text32(ws.root);
  for (const auto& [name, entries] : catalogs) {
    w.text32(name);
    w.u32(static_cast<std::uint32_t>(entries.size()));
    for (const auto& [key, spec] : entries) {
      w.text32(key);
      w.text32(spec);
    }
  }
  for (std::size_t i = 0; i < ws.projects.size(); ++i) {
    const project& p = ws.projects[i];
    w.text32(p.name);
    w.text32(p.dir);
    w.text32(p.version);
    w.u8(static_cast<std::uint8_t>((p.linked_member ? 1 : 0) | (p.has_manifest ? 2 : 0)));
    w.u64(at[i].size);
    w.u64(at[i].ino);
    for (const fs::timestamp& t : {at[i].mtime, at[i].ctime}) {
      w.i64(t.sec);
      w.u32(t.ns);
    }
  }
  return key::xxh3_128(w.str());
}

std::string encode(const package_edges& edges) {
  byte_writer w;
  for (const auto* lists : {&edges.order, &edges.reach}) {
    w.u32(static_cast<std::uint32_t>(lists->size()));
    for (const auto& list : *lists) {
      w.u32(static_cast<std::uint32_t>(list.size()));
      for (const id i : list) w.u32(i);
    }
  }
  return w.take();
}

bool decode(std::string_view body, std::size_t n, package_edges& edges) {
  byte_reader r(body);
  for (auto* lists : {&edges.order, &edges.reach}) {
    if (r.u32() != n) return false;
    lists->resize(n);
    for (auto& list : *lists) {
      const std::uint32_t count = r.u32();
      if (count > r.remaining() / 4) return false;
      list.resize(count);
      for (id& i : list) {
        i = r.u32();
        if (i >= n) return false;
      }
    }
  }
  return r.ok() && r.at_end();
}

}  // namespace

struct loader::impl {
  vx::workspace::workspace ws;
  unique_fd root_fd;
  std::unique_ptr<config_loader> configs;
  std::unique_ptr<manifest_store> manifests;
  graph::catalog catalog;
  bool catalog_built = false;
  std::vector<id> stale;  ///< projects whose catalog entry must be filled again

  status read_settings() {
    std::vector<std::string> unread;
    const auto file = config_loader::find(ws.root, "", "vx.workspace", &unread);
    if (!file) return {};
    VX_TRY_LET(ws.settings, configs->load_workspace(*file));
    if (ws.settings.path.empty()) ws.settings.path = *file;
    for (const std::string& other : unread) {
      ws.notices.push_back(text::escape(path::base_name(other), true) + " is not read: " + *file + " beside it comes first");
    }
    return {};
  }

  status read_projects(const root_files& files) {
    const discovery_input in{ws.root, root_fd.get(), files, ws.settings, *configs, *manifests, ws.package_manager};
    VX_TRY_LET(discovered found, discover(in));
    ws.projects = std::move(found.projects);
    ws.notices.insert(ws.notices.end(), std::make_move_iterator(found.notices.begin()),
                      std::make_move_iterator(found.notices.end()));
    ws.index();
    return link(files.catalogs, found.manifest_stamps);
  }

  status link(const catalog_map& catalogs, const std::vector<stamps>& at) {
    const digest128 key = graph_key(ws, catalogs, at);
    package_edges edges;
    const auto known = manifests->graph(key);
    if (!known || !decode(*known, ws.projects.size(), edges)) {
      std::vector<manifest_store::known> asked;
      for (std::size_t i = 0; i < ws.projects.size(); ++i) {
        if (ws.projects[i].has_manifest) asked.push_back({ws.projects[i].dir, at[i]});
      }
      bool stable = false;
      VX_TRY_LET(const std::vector<dep_maps> deps, manifests->deps(asked, stable));
      std::vector<package> packages;
      packages.reserve(ws.projects.size());
      std::size_t next = 0;
      for (const project& p : ws.projects) {
        packages.push_back({p.name, p.version, p.dir, p.linked_member, p.has_manifest ? &deps[next++] : nullptr});
      }
      edges = link_packages(packages, catalogs, ws.root);
      if (stable) manifests->set_graph(key, encode(edges));
    }
    ws.order = std::move(edges.order);
    ws.reach = std::move(edges.reach);
    return {};
  }

  /// What a config adds to the package graph, and the refusals that need the whole project list.
  status connect(id index) {
    project& p = ws.projects[index];
    for (const std::string& name : p.config->dependencies) {
      const std::string where = p.config_path + ": `dependencies` ";
      const auto it = ws.by_name.find(name);
      const std::optional<id> to = name == "//"             ? ws.root_project
                                   : it == ws.by_name.end() ? std::nullopt
                                                            : std::optional<id>(it->second);
      if (!to) {
        return fail(errc::CONFIG, where + "names \"" + text::escape(name, true) + "\", which is no project" +
                                      text::did_you_mean(name, ws.project_names()));
      }
      if (*to == index) return fail(errc::CONFIG, where + "names the project itself, \"" + name + "\"; remove the entry");
      insert_sorted(ws.order[index], *to);
      insert_sorted(ws.reach[index], *to);
    }
    for (const task_config& t : p.config->tasks) {
      if (t.input_tasks) VX_TRY(graph::check_inputs_tasks(to_catalog(t), p.name + "#" + t.name));
      for (const std::string& entry : t.depends_on) {
        const auto to = named_project(ws, entry);
        if (to && *to != index) insert_sorted(ws.reach[index], *to);
      }
    }
    return {};
  }

  void take(id index, result<std::shared_ptr<const project_config>> loaded) {
    project& p = ws.projects[index];
    p.loaded = true;
    stale.push_back(index);
    if (!loaded) {
      p.config_failure = std::move(loaded).error();
      return;
    }
    p.config = std::move(*loaded);
    if (auto connected = connect(index); !connected) {
      p.config_failure = std::move(connected).error();
      if (p.config_failure->path.empty()) p.config_failure->path = p.config_path;
    }
  }

  /// One round: every config among `queue[from..)` that was not read yet.
  void load_round(const std::vector<id>& queue, std::size_t from) {
    std::vector<id> which;
    std::vector<config_file> files;
    for (std::size_t i = from; i < queue.size(); ++i) {
      const project& p = ws.projects[queue[i]];
      if (p.loaded) continue;
      which.push_back(queue[i]);
      files.push_back({p.dir, p.config_path, p.has_package_name});
    }
    if (files.empty()) return;
    auto loaded = configs->load(files);
    for (std::size_t k = 0; k < which.size(); ++k) take(which[k], std::move(loaded[k]));
  }

  /// Loads the closure of the seeds, round by round. The first failure in request order ends it after its round.
  status load_closure(const std::vector<id>& seeds) {
    std::vector<bool> in(ws.projects.size(), false);
    std::vector<id> queue;
    const auto push = [&](id p) {
      if (p >= in.size() || in[p]) return;
      in[p] = true;
      queue.push_back(p);
    };
    for (const id s : seeds) push(s);
    for (std::size_t done = 0; done < queue.size();) {
      for (std::size_t i = done; i < queue.size(); ++i) {
        for (const id d : ws.order[queue[i]]) push(d);
      }
      load_round(queue, done);
      const std::size_t end = queue.size();
      for (std::size_t i = done; i < end; ++i) {
        const project& p = ws.projects[queue[i]];
        if (p.config_failure) return fail(*p.config_failure);
      }
      for (std::size_t i = done; i < end; ++i) {
        for (const id d : ws.order[queue[i]]) push(d);
        const project& p = ws.projects[queue[i]];
        if (p.config == nullptr) continue;
        for (const task_config& t : p.config->tasks) {
          for (const std::string& entry : t.depends_on) {
            if (const auto to = named_project(ws, entry)) push(*to);
          }
        }
      }
      done = end;
    }
    return {};
  }

  std::vector<id> everything() const {
    std::vector<id> all(ws.projects.size());
    for (id i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
};

loader::loader() : impl_(std::make_unique<impl>()) {}
loader::~loader() = default;

result<std::unique_ptr<loader>> loader::open(const std::string& root, const open_request& request) {
  std::unique_ptr<loader> l(new loader());
  impl& m = *l->impl_;
  auto real = fs::real_path(root);
  if (!real) return fail(unreadable(std::move(real).error()));
  m.ws.root = std::move(*real);
  auto fd = fs::open_dir_at(fs::k_cwd, m.ws.root);
  if (!fd) return fail(unreadable(std::move(fd).error()));
  m.root_fd = std::move(*fd);
  config_options options;
  options.root = m.ws.root;
  options.env = request.env;
  options.memo = request.memo;
  options.cancel = request.cancel;
  m.configs = std::make_unique<config_loader>(std::move(options));
  m.manifests = std::make_unique<manifest_store>(m.ws.root, m.root_fd.get(), request.memo);
  VX_TRY(m.read_settings());
  VX_TRY_LET(const root_files files, read_root_files(m.ws.root));
  m.ws.package_manager = detect_package_manager(m.ws.root, files);
  VX_TRY(m.read_projects(files));
  for (id i = 0; i < m.ws.projects.size(); ++i) {
    project& p = m.ws.projects[i];  // read for its name already
    if (p.config == nullptr) continue;
    if (auto connected = m.connect(i); !connected) p.config_failure = std::move(connected).error();
  }
  return l;
}

vx::workspace::workspace& loader::ws() noexcept { return impl_->ws; }

status loader::load_scope(const std::vector<std::uint32_t>& seeds) { return impl_->load_closure(seeds); }

status loader::load_all() { return impl_->load_closure(impl_->everything()); }

void loader::load_all_tolerant() { impl_->load_round(impl_->everything(), 0); }

bool loader::all_loaded() const noexcept {
  return std::all_of(impl_->ws.projects.begin(), impl_->ws.projects.end(), [](const project& p) { return p.loaded; });
}

const graph::catalog& loader::catalog() {
  impl& m = *impl_;
  if (!m.catalog_built) {
    m.catalog_built = true;
    m.catalog.projects.resize(m.ws.projects.size());
    m.catalog.by_name = m.ws.by_name;
    m.catalog.root = m.ws.root_project;
    m.stale = m.everything();
  }
  for (const id i : m.stale) fill_catalog_project(m.ws, i, m.catalog.projects[i]);
  m.stale.clear();
  return m.catalog;
}

void loader::finish() {
  impl_->configs->finish();
  impl_->manifests->store();
}

}  // namespace vx::workspace
