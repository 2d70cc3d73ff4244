#include "workspace/config_loader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "key/digest.hpp"
#include "workspace/config_codec.hpp"
#include "workspace/eval_trace.hpp"
#include "workspace/evaluator_host.hpp"
#include "workspace/schema.hpp"

namespace vx::workspace {
namespace {

/// Modules that NODE_OPTIONS loads before any config can change what configs evaluate to, and what they read leaves no trace.
bool loads_modules_first(std::string_view node_options) {
  if (mutated("ignore-preloads")) return false;
  for (const std::string_view flag : {"--require", "-r", "--import", "--loader", "--experimental-loader"}) {
    for (std::size_t at = node_options.find(flag); at != std::string_view::npos; at = node_options.find(flag, at + 1)) {
      const std::size_t end = at + flag.size();
      if ((at == 0 || node_options[at - 1] == ' ') &&
          (end == node_options.size() || node_options[end] == ' ' || node_options[end] == '='))
        return true;
    }
  }
  return false;
}

constexpr std::size_t k_config_max = std::size_t{16} << 20;
constexpr std::array<std::string_view, 8> k_extensions = {"ts", "mts", "cts", "js", "mjs", "cjs", "json", "jsonc"};

failure no_read(const failure& f, std::string_view path) {
  failure out = f;
  out.path = path;
  if (out.code != errc::FDS) out.code = errc::FS;
  return out;
}

/// A native config with the stamps it had before it was read.
struct native_file {
  std::string text;
  fact stamps;
  bool racy = true;
};

result<native_file> read_native(int root_fd, const std::string& path) {
  auto fd = fs::open_at(root_fd, path, O_RDONLY);
  if (!fd) return fail(no_read(fd.error(), path));
  const auto st = fs::fstat_fd(fd->get());
  if (!st) return fail(no_read(st.error(), path));
  if (st->kind != fs::kind::file) return fail(schema::file_failure(path, "is no regular file"));
  native_file out;
  auto raw = fs::read_fd(fd->get(), k_config_max);
  if (!raw) return fail(no_read(raw.error(), path));
  out.text = std::move(*raw);
  out.stamps.what = fact::kind::file;
  out.stamps.path = path;
  out.stamps.size = st->size;
  out.stamps.ino = st->ino;
  const bool fits = st->mtime.to_ns(out.stamps.mtime_ns) && st->ctime.to_ns(out.stamps.ctime_ns);
  out.racy = !fits || out.text.size() != st->size || fs::is_racy(st->ctime, wall_ns());
  return out;
}

result<json::value> parse_native(const std::string& path, const std::string& text) {
  json::parse_options o;
  o.comments = true;
  auto v = json::parse(text, o);
  if (v) return std::move(*v);
  const json::position at = json::locate(text, v.error().offset);
  return fail(schema::located_failure(path, text, at.line, at.column, {}, v.error().message));
}

/// Data from the evaluator: written by JSON.stringify, so only values that JSON can't hold are left to refuse.
result<json::value> parse_evaluated(const std::string& path, const std::string& text) {
  auto v = json::parse(text);
  if (v) return std::move(*v);
  return fail(schema::file_failure(path, "yields data that is no JSON: " + v.error().message));
}

std::vector<std::string> reads_of(const std::vector<fact>& facts, const std::string& self) {
  std::vector<std::string> out{self};
  for (const fact& f : facts) {
    const bool named = f.what == fact::kind::file || f.what == fact::kind::absent;
    if (named && !f.path.starts_with('/') && !f.path.empty()) out.push_back(f.path);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

struct config_loader::impl {
  using loaded = result<std::shared_ptr<const project_config>>;

  explicit impl(config_options o) : options(std::move(o)) {
    if (auto fd = fs::open_dir_at(fs::k_cwd, options.root)) root_fd = std::move(*fd);
    native_host = host_digest("");
  }

  int root() const noexcept { return root_fd ? root_fd.get() : fs::k_cwd; }

  /// What decides an evaluation besides files and variables. `program` is empty for native configs.
  digest128 host_digest(const std::string& program) const {
    byte_writer w;
    w.u32(k_evaluator_number);
    w.text32(VX_VERSION_TEXT);
    w.text32(options.root);
    w.text32(program);
    if (!program.empty()) {
      w.text32(k_evaluator_script);
      // The executable stands for its version: starting it to ask would cost what the cache saves.
      if (const auto st = fs::stat_at(fs::k_cwd, program)) {
        std::int64_t mtime = 0;
        (void)st->mtime.to_ns(mtime);
        w.u64(st->size);
        w.i64(mtime);
        w.u64(st->ino);
      }
      for (const char* name : {"NODE_OPTIONS", "TZ", "LANG", "LC_ALL"}) w.text32(options.env->get(name));
    }
    return key::xxh3_128(w.str());
  }

  /// The runtime's host digest, computed once; nullopt: there is no runtime, so nothing evaluated can be served either.
  const std::optional<digest128>& script_host() {
    if (!script_host_asked) {
      script_host_asked = true;
      if (auto found = find_runtime(*options.env, "")) {
        runtime = *found;
        if (loads_modules_first(options.env->get("NODE_OPTIONS"))) return script_host_digest;  // nothing is served or kept
        if (auto real = fs::real_path(runtime)) script_host_digest = host_digest(*real);
      }
    }
    return script_host_digest;
  }

  /// Serves what the memo holds and still is true. Slots that stay empty are to be evaluated.
  void serve(const std::vector<config_file>& files, std::vector<std::optional<loaded>>& out) {
    if (options.memo == nullptr || !root_fd) return;
    std::vector<std::string> paths;
    std::unordered_map<std::string_view, std::vector<std::size_t>> wanted;
    paths.reserve(files.size());
    wanted.reserve(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      auto& list = wanted[files[i].path];
      if (list.empty()) paths.push_back(files[i].path);
      list.push_back(i);
    }
    fact_checker checker(root(), *options.env);
    for (eval_memo::row& row : options.memo->load(paths)) {
      const auto it = wanted.find(row.path);
      if (it == wanted.end()) continue;
      auto config = serve_row(checker, row);
      if (config == nullptr) continue;
      for (const std::size_t i : it->second) {
        // A name that package.json has begun to give is refused, which only a fresh look can say.
        if (!(config->name && files[i].has_package_name)) out[i].emplace(config);
      }
    }
  }

  std::shared_ptr<const project_config> serve_row(fact_checker& checker, eval_memo::row& row) {
    if (!is_native_config(row.path) && !script_host()) return nullptr;
    const auto verdict = checker.check(row.trace, is_native_config(row.path) ? native_host : *script_host());
    if (verdict == fact_checker::verdict::stale && !mutated("stale-evaluation")) return nullptr;
    auto config = std::make_shared<project_config>();
    if (!decode_project(row.json, *config) || config->path != row.path) return nullptr;
    if (verdict == fact_checker::verdict::moved) {
      row.trace = checker.refreshed();
      pending.push_back(std::move(row));
    }
    return config;
  }

  void remember(const std::string& path, trace t, std::string json) {
    if (options.memo != nullptr) pending.push_back({path, encode_trace(t), std::move(json)});
  }

  loaded load_native(const config_file& f, std::optional<eval_memo::row>& row) {
    VX_TRY_LET(native_file file, read_native(root(), f.path));
    VX_TRY_LET(json::value v, parse_native(f.path, file.text));
    VX_TRY_LET(project_config config, validate_project(v, f.path, file.text, f.has_package_name));
    config.reads = {f.path};
    if (!file.racy && options.memo != nullptr) {
      trace t;
      t.host = native_host;
      t.facts.push_back(std::move(file.stamps));
      row = eval_memo::row{f.path, encode_trace(t), encode_project(config)};
    }
    return std::make_shared<const project_config>(std::move(config));
  }

  void load_natives(const std::vector<config_file>& files, const std::vector<std::size_t>& which,
                    std::vector<std::optional<loaded>>& out) {
    std::vector<std::optional<eval_memo::row>> rows(which.size());
    parallel_for(which.size(), usable_cpus(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[which[i]].emplace(load_native(files[which[i]], rows[i]));
    });
    for (auto& row : rows) {
      if (row) pending.push_back(std::move(*row));
    }
  }

  /// Salts and fills the digests of variables, which the child names and never values.
  trace trace_of(evaluation& e) {
    trace t;
    t.host = *script_host_digest;
    random_bytes(t.salt.data(), t.salt.size());
    t.facts = std::move(e.facts);
    for (fact& f : t.facts) {
      if (f.what == fact::kind::env_all) f.value = env_block_digest(t.salt, *options.env);
      if (f.what != fact::kind::env) continue;
      if (const std::string* value = options.env->find(f.path)) f.value = env_digest(t.salt, f.path, *value);
    }
    return t;
  }

  evaluator_host& host() {
    if (!child)
      child = std::make_unique<evaluator_host>(evaluator_host::options{options.root, runtime, options.env, options.cancel});
    return *child;
  }

  loaded finish_script(const config_file& f, result<evaluation>& e) {
    if (!e) return fail(std::move(e).error());
    VX_TRY_LET(json::value v, parse_evaluated(f.path, e->json));
    const auto text = fs::read_file_at(root(), f.path, k_config_max);
    VX_TRY_LET(project_config config, validate_project(v, f.path, text ? *text : std::string(), f.has_package_name));
    config.reads = reads_of(e->facts, f.path);
    config.volatile_reasons = e->volatile_reasons;
    if (e->volatile_reasons.empty() && !e->racy && script_host_digest) remember(f.path, trace_of(*e), encode_project(config));
    return std::make_shared<const project_config>(std::move(config));
  }

  void load_scripts(const std::vector<config_file>& files, const std::vector<std::size_t>& which,
                    std::vector<std::optional<loaded>>& out) {
    if (which.empty()) return;
    (void)script_host();
    std::vector<std::string> paths;
    std::vector<std::size_t> asked;
    for (const std::size_t i : which) {
      if (runtime.empty()) {
        out[i].emplace(fail(find_runtime(*options.env, files[i].path).error()));
        continue;
      }
      paths.push_back(files[i].path);
      asked.push_back(i);
    }
    if (asked.empty()) return;
    auto answers = host().evaluate(paths);
    for (std::size_t n = 0; n < asked.size(); ++n) out[asked[n]].emplace(finish_script(files[asked[n]], answers[n]));
  }

  result<workspace_config> load_workspace(const std::string& path);
  result<workspace_config> workspace_script(const std::string& path);

  config_options options;
  unique_fd root_fd;
  digest128 native_host;
  bool script_host_asked = false;
  std::string runtime;
  std::optional<digest128> script_host_digest;
  std::unique_ptr<evaluator_host> child;
  std::vector<eval_memo::row> pending;
  bool started = false;
};

config_loader::config_loader(config_options options) : impl_(std::make_unique<impl>(std::move(options))) {}
config_loader::~config_loader() = default;

std::optional<std::string> config_loader::find(const std::string& root, const std::string& dir, std::string_view stem,
                                               std::vector<std::string>* others) {
  // One listing answers for eight spellings.
  const auto entries = fs::list_dir_at(fs::k_cwd, path::join(root, dir));
  if (!entries) return std::nullopt;
  std::array<bool, k_extensions.size()> there{};
  for (const fs::dir_entry& e : *entries) {
    if (e.kind == fs::kind::dir || e.name.size() <= stem.size() + 1 || !e.name.starts_with(stem) || e.name[stem.size()] != '.')
      continue;
    const auto at = std::find(k_extensions.begin(), k_extensions.end(), std::string_view(e.name).substr(stem.size() + 1));
    if (at != k_extensions.end()) there[static_cast<std::size_t>(at - k_extensions.begin())] = true;
  }
  std::optional<std::string> first;
  for (std::size_t i = 0; i < k_extensions.size(); ++i) {
    if (!there[i]) continue;
    std::string found = path::join(dir, std::string(stem) + '.' + std::string(k_extensions[i]));
    if (!first) {
      first = std::move(found);
    } else if (others != nullptr) {
      others->push_back(std::move(found));
    }
  }
  return first;
}

std::vector<result<std::shared_ptr<const project_config>>> config_loader::load(const std::vector<config_file>& files) {
  std::vector<std::optional<impl::loaded>> slots(files.size());
  impl_->serve(files, slots);
  std::vector<std::size_t> natives, scripts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!slots[i]) (is_native_config(files[i].path) ? natives : scripts).push_back(i);
  }
  impl_->load_natives(files, natives, slots);
  impl_->load_scripts(files, scripts, slots);
  std::vector<impl::loaded> out;
  out.reserve(files.size());
  for (auto& s : slots) out.push_back(std::move(*s));
  return out;
}

result<workspace_config> config_loader::impl::workspace_script(const std::string& file) {
  std::optional<json::value> data;
  std::vector<std::string> reads;
  if (options.memo != nullptr && root_fd && script_host()) {
    fact_checker checker(root(), *options.env);
    for (eval_memo::row& row : options.memo->load({file})) {
      if (row.path != file || checker.check(row.trace, *script_host_digest) == fact_checker::verdict::stale) continue;
      project_config kept;
      if (!decode_project(row.json, kept) || kept.path != file) continue;
      if (auto v = json::parse(kept.json)) {
        data = std::move(*v);
        reads = std::move(kept.reads);
      }
    }
  }
  std::optional<evaluation> fresh;
  if (!data) {
    (void)script_host();
    if (runtime.empty()) return fail(find_runtime(*options.env, file).error());
    auto answers = host().evaluate({file});
    if (!answers.front()) return fail(std::move(answers.front()).error());
    fresh = std::move(*answers.front());
    VX_TRY_LET(data, parse_evaluated(file, fresh->json));
    reads = reads_of(fresh->facts, file);
  }
  const auto text = fs::read_file_at(root(), file, k_config_max);
  VX_TRY_LET(workspace_config config, validate_workspace(*data, file, text ? *text : std::string()));
  config.reads = reads;
  if (fresh && fresh->volatile_reasons.empty() && !fresh->racy && script_host_digest) {
    project_config kept;  // the row's shape; only path, reads and json are used
    kept.path = file;
    kept.reads = reads;
    kept.json = config.json;
    remember(file, trace_of(*fresh), encode_project(kept));
  }
  return config;
}

result<workspace_config> config_loader::impl::load_workspace(const std::string& file) {
  std::string text;
  workspace_config config;
  if (is_native_config(file)) {
    VX_TRY_LET(native_file raw, read_native(root(), file));
    text = std::move(raw.text);
    VX_TRY_LET(json::value v, parse_native(file, text));
    VX_TRY_LET(config, validate_workspace(v, file, text));
    config.reads = {file};
  } else {
    VX_TRY_LET(config, workspace_script(file));
  }
  if (config.cache_dir) {
    if (const std::string fault = check_cache_dir(options.root, *config.cache_dir); !fault.empty()) {
      return fail(schema::file_failure(
          file, "cacheDir must be a directory of its own, not \"" + *config.cache_dir + "\": it " + fault));
    }
  }
  return config;
}

result<workspace_config> config_loader::load_workspace(const std::string& path) { return impl_->load_workspace(path); }

void config_loader::finish() {
  if (impl_->child) {
    impl_->started = impl_->started || impl_->child->started();
    impl_->child.reset();
  }
  if (impl_->options.memo != nullptr && !impl_->pending.empty()) impl_->options.memo->store(std::exchange(impl_->pending, {}));
}

bool config_loader::started_runtime() const noexcept { return impl_->started || (impl_->child && impl_->child->started()); }

std::string check_cache_dir(const std::string& root, std::string_view dir) {
  if (dir.starts_with("~/")) return {};  // a home directory is resolved by whoever opens the store
  const std::string full = path::normalize(dir.starts_with('/') ? std::string(dir) : path::join(root, dir));
  if (path::is_within(root, full) || full == "/") return "holds the workspace, and vx writes a `.gitignore` with `*` there";
  const auto markers = [](const std::string& at) {
    const auto entries = fs::list_dir_at(fs::k_cwd, at);
    if (!entries) return false;
    return std::any_of(entries->begin(), entries->end(), [](const fs::dir_entry& e) {
      return e.name == "package.json" || e.name == "pnpm-workspace.yaml" || e.name.starts_with("vx.config.") ||
             e.name.starts_with("vx.workspace.");
    });
  };
  if (markers(full)) return "holds a project, and vx writes a `.gitignore` with `*` there";
  const auto entries = fs::list_dir_at(fs::k_cwd, full);
  if (!entries) return {};
  for (const fs::dir_entry& e : *entries) {
    if (e.kind == fs::kind::dir && markers(path::join(full, e.name)))
      return "holds projects (" + e.name + "), and vx writes a `.gitignore` with `*` there";
  }
  return {};
}

}  // namespace vx::workspace
