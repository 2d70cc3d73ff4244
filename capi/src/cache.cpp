#include "cache/outputs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "git/git.hpp"
#include "internal.hpp"
#include "run/cache_report.hpp"

struct vx_entry {
  std::shared_ptr<vx::capi::cache_state> cache;
  vx::cache::lookup_result hit;
};

static_assert(offsetof(vx_cache_options, root) == 8 && offsetof(vx_outputs, root) == 8 && offsetof(vx_save, outputs) == 8);
static_assert(offsetof(vx_prune, older_than_ns) == 8 && offsetof(vx_prune, max_bytes) == 16 && sizeof(vx_prune) == 24);

namespace vx::capi {

cache_state::~cache_state() {
  if (store && !used.empty()) store->touch_used(used, wall_ns());
  if (index) index->flush();
}

void cache_state::note(const std::string& line) {
  const std::lock_guard lock(mutex);
  notices += line + "\n";
}

namespace {

using cache::output_row;
using cache::output_scope;
using cache::store;

/// "project#task" as the store keeps it.
struct subject {
  std::string project, task;
  explicit subject(std::string_view text) {
    const std::size_t at = text.rfind('#');
    if (at != std::string_view::npos) project = text.substr(0, at);
    task = at == std::string_view::npos ? text : text.substr(at + 1);
  }
};

std::string subject_of(const cache::entry& e) { return e.project.empty() ? e.task : e.project + "#" + e.task; }

result<cache::store_location> locate(const char* dir, const cache_state& state, const environment& env) {
  cache::location_request where;
  where.root = state.root;
  where.env = &env;
  if (dir != nullptr) {
    where.flag = dir;
    where.flag_name = "dir";
    if (dir[0] != '/') return fail(errc::INVALID, "dir must be absolute: " + text::escape(dir, true));
  } else if (state.root.empty()) {
    return fail(errc::INVALID, "dir is NULL and vx_cache_options.root too: there is no default store without a root");
  } else if (env.get("VX_CACHE_DIR").empty()) {
    where.repo_id = git::repo_id(env, state.root);
  }
  return cache::locate_store(where);
}

result<std::shared_ptr<cache_state>> open(const char* dir, const vx_cache_options& o) {
  auto state = std::make_shared<cache_state>();
  if (o.root != nullptr) {
    VX_TRY_LET(state->root, real_root(o.root));
  }
  const environment env = o.envp == nullptr ? environment::of_process() : environment::of_pairs(o.envp);
  VX_TRY_LET(const cache::store_location where, locate(dir, *state, env));
  const auto notice = [s = state.get()](const std::string& line) { s->note(line); };
  const bool create = (o.flags & VX_CACHE_READ_ONLY) == 0;
  cache::open_options options;
  options.create = create;
  options.private_dir = where.source == cache::store_source::shared;
  options.notice = notice;
  VX_TRY_LET(state->store, store::open(where, options));
  if (!state->root.empty()) {
    cache::index::open_options index;
    index.create = create;
    index.notice = notice;
    VX_TRY_LET(state->index, cache::index::open(state->root, index));
  }
  return state;
}

result<output_scope> read_outputs(const vx_outputs* from) {
  if (from == nullptr) return fail(errc::INVALID, "outputs is NULL");
  VX_TRY_LET(const vx_outputs o, read_options(from, "vx_outputs"));
  VX_TRY(no_flags(o.flags, "vx_outputs"));
  if (o.root == nullptr) return fail(errc::INVALID, "vx_outputs.root is NULL");
  output_scope s;
  VX_TRY_LET(s.root, real_root(o.root));
  VX_TRY_LET(s.project_dir, read_dir(o.project_dir, "project_dir"));
  s.files = read_list(o.files);
  VX_TRY_LET(s.files_match, compile(s.files, glob::side::output, "files"));
  s.workspace_files = read_list(o.workspace_files);
  VX_TRY_LET(s.workspace_match, compile(s.workspace_files, glob::side::output, "workspace_files"));
  VX_TRY_LET(s.nested, read_nested(o.nested));
  return s;
}

vx_entry* new_entry(const std::shared_ptr<cache_state>& state, std::optional<cache::lookup_result>&& found) {
  return found ? new vx_entry{state, std::move(*found)} : nullptr;
}

/// The hit counts as used; written when the last handle goes.
void mark_used(const vx_entry& entry) {
  const std::lock_guard lock(entry.cache->mutex);
  if (std::find(entry.cache->used.begin(), entry.cache->used.end(), entry.hit.entry.key) == entry.cache->used.end())
    entry.cache->used.push_back(entry.hit.entry.key);
}

result<bool> restore(const vx_entry& entry, const output_scope& scope) {
  cache_state& state = *entry.cache;
  const bool ours = state.index && state.root == scope.root;
  const digest128& key = entry.hit.entry.key;
  cache::restore_result r = state.store->restore(entry.hit, scope, path::join(scope.root, ".vx/stage"));
  using how = cache::restore_result::outcome;
  switch (r.how) {
    case how::restored:
      if (ours) state.index->put_stamps(key, r.stamps);
      mark_used(entry);
      return true;
    case how::missing: state.note("cache: " + r.reason); return false;
    case how::refused:
    case how::tree_error: break;
  }
  if (ours) state.index->drop_stamps(key);
  return fail(r.how == how::refused ? errc::REFUSED : errc::FS, r.reason);
}

bool is_current(const vx_entry& entry, const output_scope& scope) {
  const cache_state& state = *entry.cache;
  if (!scope.declares_any()) return true;
  if (!state.index || state.root != scope.root) return false;
  const auto known = state.index->current_many({entry.hit.entry.key});
  return known[0] && cache::is_current(scope, entry.hit.outputs, known[0]->stamps, known[0]->dirs);
}

std::string read_log(const vx_save& s) {
  std::vector<cache::log_record> records;
  if (s.out_size > 0) records.push_back({1, std::string(view_of(s.out, s.out_size)), 0});
  if (s.err_size > 0) records.push_back({2, std::string(view_of(s.err, s.err_size)), 0});
  return records.empty() ? std::string() : cache::encode_log(records);
}

result<cache::save_request> read_save(const digest128& key, const vx_save& s, const digest128& salt) {
  cache::save_request q;
  q.key = key;
  if ((s.out == nullptr && s.out_size > 0) || (s.err == nullptr && s.err_size > 0))
    return fail(errc::INVALID, "vx_save has a size without bytes");
  if (s.duration_ns < 0 || s.cpu_ns < 0 || s.peak_rss_bytes < 0) return fail(errc::INVALID, "vx_save holds a negative number");
  std::string_view of = s.subject == nullptr ? std::string_view() : s.subject;
  if (s.components != nullptr) {
    VX_TRY_LET(const key::builder* const built, explained_key(s.components));
    key::builder finished = *built;
    VX_TRY_LET(const digest128 same, finished.finish());
    if (same != key) return fail(errc::INVALID, "vx_save.components is another key than the one to save under");
    q.components = built->explain(salt);
    if (s.subject == nullptr) of = built->subject();
  }
  const subject who(of);
  q.project = who.project;
  q.task = who.task;
  if (s.command != nullptr) q.command = s.command;
  q.log = read_log(s);
  q.stats.duration_ns = s.duration_ns;
  if (s.cpu_ns > 0) q.stats.cpu_ns = s.cpu_ns;
  if (s.peak_rss_bytes > 0) q.stats.peak_rss_bytes = s.peak_rss_bytes;
  return q;
}

status save(cache_state& state, const digest128& key, const vx_save& s) {
  VX_TRY_LET(const output_scope scope, read_outputs(s.outputs));
  VX_TRY_LET(cache::save_request q, read_save(key, s, state.store->salt()));
  q.scope = &scope;
  const cache::save_result saved = state.store->save(q);
  using how = cache::save_result::outcome;
  if (saved.how != how::saved) return fail(saved.how == how::store_error ? errc::IO : errc::REFUSED, saved.reason);
  if (state.index && state.root == scope.root) state.index->put_stamps(key, saved.stamps);
  if (!saved.reason.empty()) state.note("cache: " + saved.reason);
  state.layers.put(*state.store, key, [&](const std::string& line) { state.note(line); });
  return {};
}

/// The store, then an artifact that has no row, then the layers.
std::optional<cache::lookup_result> look_up(cache_state& state, const digest128& key, const subject& who,
                                            const output_scope* scope) {
  store& in = *state.store;
  std::optional<cache::lookup_result> found = in.lookup(key);
  if (found || scope == nullptr) return found;
  if (in.artifact_present(key)) found = in.adopt(key, who.project, who.task, *scope);
  if (found) return found;
  const auto note = [&](const std::string& line) { state.note(line); };
  return state.layers.fetch(in, key, who.project, who.task, *scope, note) ? in.lookup(key) : std::nullopt;
}

result<json::object> explain(cache_state& state, const key::builder& key) {
  const subject who(key.subject());
  const std::optional<cache::entry> newest = state.store->newest_of(who.project, who.task);
  std::vector<key::component> before;
  bool found = false;
  if (newest) {
    if (auto rows = state.store->read_components(*newest); rows && !rows->empty()) {
      before = std::move(*rows);
      found = true;
    }
  }
  json::object doc = diff_document(found ? key::diff(before, key.explain(state.store->salt())) : key::component_diff());
  doc.add("found", found);
  doc.add("previousKey", found ? json::value(newest->key.hex()) : json::value());
  return doc;
}

json::value or_null(const std::optional<std::int64_t>& n) { return n ? json::value(*n) : json::value(); }

json::object entry_document(const cache::entry& e) {
  json::object doc;
  doc.add("key", e.key.hex());
  doc.add("subject", text::escape(subject_of(e)));
  doc.add("durationNs", e.stats.duration_ns);
  doc.add("cpuNs", or_null(e.stats.cpu_ns));
  doc.add("peakRssBytes", or_null(e.stats.peak_rss_bytes));
  doc.add("artifactBytes", e.artifact_bytes);
  doc.add("outputBytes", e.output_bytes);
  doc.add("logBytes", e.log_bytes);
  doc.add("createdNs", e.created_ns);
  doc.add("usedNs", e.used_ns);
  return doc;
}

json::object stats_document(const std::string& dir, const store::statistics& s) {
  json::object doc = run::stats_object(dir, s);
  json::array bad;
  for (const std::string& name : s.bad_files) bad.emplace_back(name);
  doc.add("badFiles", std::move(bad));
  return doc;
}

result<json::object> prune(store& s, const vx_prune& p) {
  if (p.older_than_ns < 0) return fail(errc::INVALID, "vx_prune.older_than_ns is negative");
  if (p.older_than_ns == 0 && p.max_bytes == 0) return fail(errc::INVALID, "vx_prune needs a rule: older_than_ns or max_bytes");
  store::retention policy;
  policy.older_than_ns = p.older_than_ns > 0 ? std::optional(p.older_than_ns) : std::nullopt;
  policy.max_bytes = p.max_bytes > 0 ? std::optional(p.max_bytes) : std::nullopt;
  const bool dry = (p.flags & VX_PRUNE_DRY_RUN) != 0;
  VX_TRY_LET(const store::prune_report r, s.prune(policy, dry, true));
  return run::prune_object(dry, r);
}

const output_row* row_at(const vx_entry* entry, std::size_t index) {
  return entry != nullptr && index < entry->hit.outputs.size() ? &entry->hit.outputs[index] : nullptr;
}

}  // namespace
}  // namespace vx::capi

using vx::errc;
using vx::fail;
using vx::capi::guard;

extern "C" {

vx_status vx_cache_open(const char* dir, const vx_cache_options* options, vx_cache** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (out == nullptr) return fail(errc::INVALID, "out is NULL");
    VX_TRY_LET(const vx_cache_options o, vx::capi::read_options(options, "vx_cache_options"));
    VX_TRY(vx::capi::no_flags(o.flags & ~VX_CACHE_READ_ONLY, "vx_cache_options"));
    auto cache = std::make_unique<vx_cache>();
    VX_TRY_LET(cache->state, vx::capi::open(dir, o));
    *out = cache.release();
    return {};
  });
}

void vx_cache_free(vx_cache* cache) { delete cache; }

const char* vx_cache_dir(const vx_cache* cache) { return cache == nullptr ? "" : cache->state->store->dir().c_str(); }

int32_t vx_cache_access(const vx_cache* cache) {
  if (cache == nullptr) return 0;
  using vx::cache::store_mode;
  const store_mode mode = cache->state->store->mode();
  return mode == store_mode::read_write ? 2 : mode == store_mode::read_only ? 1 : 0;
}

const void* vx_cache_salt(const vx_cache* cache) { return cache == nullptr ? nullptr : cache->state->store->salt().raw.data(); }

vx_status vx_cache_notices(vx_cache* cache, vx_buf* lines, vx_error** err) {
  if (lines != nullptr) *lines = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || lines == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "lines is NULL");
    std::string taken;
    {
      const std::lock_guard lock(cache->state->mutex);
      taken.swap(cache->state->notices);
    }
    vx::capi::fill(lines, std::move(taken));
    return {};
  });
}

vx_status vx_outputs_clean(const vx_outputs* outputs, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    VX_TRY_LET(const vx::cache::output_scope scope, vx::capi::read_outputs(outputs));
    VX_TRY(vx::cache::check_owned_roots(scope));
    VX_TRY(vx::cache::clean_outputs(scope));
    return {};
  });
}

vx_status vx_cache_lookup(vx_cache* cache, const vx_digest* key, const char* subject, const vx_outputs* outputs, vx_entry** out,
                          vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || key == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "key is NULL");
    if (out == nullptr) return fail(errc::INVALID, "out is NULL");
    std::optional<vx::cache::output_scope> scope;
    if (outputs != nullptr) {
      VX_TRY_LET(scope, vx::capi::read_outputs(outputs));
    }
    const vx::capi::subject who(subject == nullptr ? "" : subject);
    auto found = vx::capi::look_up(*cache->state, vx::capi::from_c(*key), who, scope ? &*scope : nullptr);
    *out = vx::capi::new_entry(cache->state, std::move(found));
    return {};
  });
}

vx_status vx_cache_lookup_many(vx_cache* cache, const vx_digest* keys, size_t count, vx_entry** out, vx_error** err) {
  for (std::size_t i = 0; out != nullptr && i < count; ++i) out[i] = nullptr;
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr) return fail(errc::INVALID, "cache is NULL");
    if (count == 0) return {};
    if (keys == nullptr || out == nullptr) return fail(errc::INVALID, keys == nullptr ? "keys is NULL" : "out is NULL");
    std::vector<vx::digest128> wanted;
    for (std::size_t i = 0; i < count; ++i) wanted.push_back(vx::capi::from_c(keys[i]));
    std::vector<std::optional<vx::cache::lookup_result>> found = cache->state->store->lookup_many(wanted, true);
    std::vector<std::unique_ptr<vx_entry>> entries;  // all or none
    for (auto& f : found) entries.emplace_back(vx::capi::new_entry(cache->state, std::move(f)));
    for (std::size_t i = 0; i < count; ++i) out[i] = entries[i].release();
    return {};
  });
}

int32_t vx_cache_has(vx_cache* cache, const vx_digest* key) {
  int32_t has = 0;
  (void)guard(nullptr, [&]() -> vx::status {
    if (cache == nullptr || key == nullptr) return {};
    vx::capi::cache_state& state = *cache->state;
    const vx::digest128 wanted = vx::capi::from_c(*key);
    const auto note = [&](const std::string& line) { state.note(line); };
    if (state.store->lookup_many({wanted}, false)[0] || state.layers.has(wanted, note)) has = 1;
    return {};
  });
  return has;
}

void vx_cache_entry_free(vx_entry* entry) { delete entry; }

size_t vx_cache_entry_outputs(const vx_entry* entry) { return entry == nullptr ? 0 : entry->hit.outputs.size(); }

const char* vx_cache_entry_output_path(const vx_entry* entry, size_t index) {
  const auto* row = vx::capi::row_at(entry, index);
  return row == nullptr ? nullptr : row->path.c_str();
}

int32_t vx_cache_entry_output_space(const vx_entry* entry, size_t index) {
  const auto* row = vx::capi::row_at(entry, index);
  return row != nullptr && row->space == vx::cache::space::workspace ? 1 : 0;
}

int32_t vx_cache_entry_output_mode(const vx_entry* entry, size_t index) {
  const auto* row = vx::capi::row_at(entry, index);
  if (row == nullptr) return 0;
  if (row->kind == 'l') return 0120000;
  return (row->kind == 'd' ? 0040000 : 0100000) | row->mode;
}

uint64_t vx_cache_entry_output_size(const vx_entry* entry, size_t index) {
  const auto* row = vx::capi::row_at(entry, index);
  return row == nullptr || row->kind != 'f' ? 0 : row->size;
}

vx_status vx_cache_entry_stats(const vx_entry* entry, vx_buf* json, vx_error** err) {
  if (json != nullptr) *json = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (entry == nullptr || json == nullptr) return fail(errc::INVALID, entry == nullptr ? "entry is NULL" : "json is NULL");
    vx::capi::fill(json, vx::json::write(vx::capi::entry_document(entry->hit.entry)));
    return {};
  });
}

vx_status vx_cache_entry_log(const vx_entry* entry, vx_log_fn each, void* user_data, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (entry == nullptr || each == nullptr) return fail(errc::INVALID, entry == nullptr ? "entry is NULL" : "each is NULL");
    VX_TRY_LET(const std::string raw, entry->cache->store->read_log(entry->hit.entry));
    VX_TRY_LET(const std::vector<vx::cache::log_record> log, vx::cache::decode_log(raw));
    for (const vx::cache::log_record& r : log) {
      const bool gap = r.stream == 0;
      VX_TRY(vx::capi::call_out(
          [&] { return each(user_data, r.stream, gap ? nullptr : r.bytes.data(), gap ? r.dropped : r.bytes.size()); }));
    }
    return {};
  });
}

vx_status vx_cache_restore(const vx_entry* entry, const vx_outputs* outputs, int32_t* restored, vx_error** err) {
  if (restored != nullptr) *restored = 0;
  return guard(err, [&]() -> vx::status {
    if (entry == nullptr || restored == nullptr)
      return fail(errc::INVALID, entry == nullptr ? "entry is NULL" : "restored is NULL");
    VX_TRY_LET(const vx::cache::output_scope scope, vx::capi::read_outputs(outputs));
    VX_TRY_LET(const bool done, vx::capi::restore(*entry, scope));
    *restored = done ? 1 : 0;
    return {};
  });
}

vx_status vx_cache_is_current(const vx_entry* entry, const vx_outputs* outputs, int32_t* current, vx_error** err) {
  if (current != nullptr) *current = 0;
  return guard(err, [&]() -> vx::status {
    if (entry == nullptr || current == nullptr)
      return fail(errc::INVALID, entry == nullptr ? "entry is NULL" : "current is NULL");
    VX_TRY_LET(const vx::cache::output_scope scope, vx::capi::read_outputs(outputs));
    if (!vx::capi::is_current(*entry, scope)) return {};
    vx::capi::mark_used(*entry);
    *current = 1;
    return {};
  });
}

vx_status vx_cache_save(vx_cache* cache, const vx_digest* key, const vx_save* save, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || key == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "key is NULL");
    if (save == nullptr) return fail(errc::INVALID, "save is NULL");
    VX_TRY_LET(const vx_save s, vx::capi::read_options(save, "vx_save"));
    VX_TRY(vx::capi::no_flags(s.flags, "vx_save"));
    return vx::capi::save(*cache->state, vx::capi::from_c(*key), s);
  });
}

vx_status vx_cache_explain(vx_cache* cache, const vx_key* key, vx_buf* json, vx_error** err) {
  if (json != nullptr) *json = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || json == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "json is NULL");
    VX_TRY_LET(const vx::key::builder* const built, vx::capi::explained_key(key));
    VX_TRY_LET(vx::json::object doc, vx::capi::explain(*cache->state, *built));
    vx::capi::fill(json, vx::json::write(std::move(doc)));
    return {};
  });
}

vx_status vx_cache_export(vx_cache* cache, const vx_digest* key, int32_t fd, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || key == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "key is NULL");
    if (fd < 0) return fail(errc::INVALID, "fd is negative");
    return cache->state->store->export_artifact(vx::capi::from_c(*key), fd);
  });
}

vx_status vx_cache_import(vx_cache* cache, const vx_digest* key, int32_t fd, const char* subject, const vx_outputs* outputs,
                          vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || key == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "key is NULL");
    if (fd < 0) return fail(errc::INVALID, "fd is negative");
    VX_TRY_LET(const vx::cache::output_scope scope, vx::capi::read_outputs(outputs));
    const vx::capi::subject who(subject == nullptr ? "" : subject);
    return cache->state->store->import_artifact(vx::capi::from_c(*key), fd, who.project, who.task, scope);
  });
}

vx_status vx_cache_prune(vx_cache* cache, const vx_prune* policy, vx_buf* json, vx_error** err) {
  if (json != nullptr) *json = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || policy == nullptr)
      return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "policy is NULL");
    VX_TRY_LET(const vx_prune p, vx::capi::read_options(policy, "vx_prune"));
    VX_TRY(vx::capi::no_flags(p.flags & ~VX_PRUNE_DRY_RUN, "vx_prune"));
    VX_TRY_LET(vx::json::object doc, vx::capi::prune(*cache->state->store, p));
    if (json != nullptr) vx::capi::fill(json, vx::json::write(std::move(doc)));
    return {};
  });
}

vx_status vx_cache_stats(vx_cache* cache, vx_buf* json, vx_error** err) {
  if (json != nullptr) *json = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (cache == nullptr || json == nullptr) return fail(errc::INVALID, cache == nullptr ? "cache is NULL" : "json is NULL");
    VX_TRY_LET(const vx::cache::store::statistics s, cache->state->store->stats());
    vx::capi::fill(json, vx::json::write(vx::capi::stats_document(cache->state->store->dir(), s)));
    return {};
  });
}

}  // extern "C"
