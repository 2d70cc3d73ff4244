#include "run/store_access.hpp"

#include <algorithm>
#include <utility>

#include "base/fs.hpp"
#include "base/text.hpp"
#include "git/git.hpp"
#include "workspace/config_loader.hpp"

namespace vx::run {
namespace {

status read_settings(recorded& r, const cancel_token* cancel) {
  const std::optional<std::string> file = workspace::config_loader::find(r.h->root, "", "vx.workspace");
  if (!file) return {};
  workspace::config_options options;
  options.root = r.h->root;
  options.env = &r.h->env;
  options.memo = r.memo.get();
  options.cancel = cancel;
  workspace::config_loader loader(std::move(options));
  VX_TRY_LET(r.settings, loader.load_workspace(*file));
  return {};
}

status open_index(recorded& r, bool tolerant) {
  cache::index::open_options options;
  options.create = false;
  options.notice = [&r](const std::string& line) { r.notices.push_back(line); };
  auto opened = cache::index::open(r.h->root, options);
  if (opened)
    r.index = std::move(*opened);
  else if (!tolerant)
    return fail(std::move(opened).error());
  else
    r.notices.push_back(opened.error().message);
  r.history = std::make_unique<cache::history_reader>(r.h->root);
  // A memo needs an index; without one every config is looked at afresh.
  if (r.index != nullptr) r.memo = std::make_unique<index_memo>(*r.index, true, false);
  return {};
}

/// "store-<n>.db" where ours is not.
std::string foreign_store(const std::string& dir) {
  const auto listing = fs::list_dir_at(fs::k_cwd, dir);
  if (!listing) return {};
  std::string found;
  for (const fs::dir_entry& e : *listing) {
    if (e.name == "store-1.db") return {};
    if (e.name.starts_with("store-") && e.name.ends_with(".db") && e.name > found) found = e.name;
  }
  return found;
}

status open_store(recorded& r, const reading_options& how) {
  VX_TRY_LET(r.location, find_store(*r.h, how.cache_dir, r.settings, r.index.get()));
  if (how.cache_dir && !fs::exists_at(fs::k_cwd, r.location.dir))
    return fail(errc::REFUSED, "--cache-dir: " + text::escape(r.location.dir, true) + " does not exist");
  if (const std::string other = foreign_store(r.location.dir); !other.empty()) {
    const std::string line =
        text::escape(r.location.dir, true) + " holds " + other + " of another version of vx; this one reads store-1.db";
    if (!how.tolerant) return fail(errc::CACHE_VERSION, line);
    r.notices.push_back(line);
  }
  cache::open_options options;
  options.create = false;
  options.private_dir = r.location.source == cache::store_source::shared;
  options.notice = [&r](const std::string& line) { r.notices.push_back(line); };
  VX_TRY_LET(r.store, cache::store::open(r.location, options));
  return {};
}

/// A repository without a remote is named by its first commit, for which git would walk its whole history at every run.
std::string repo_id(const host& h, cache::index* memo) {
  static constexpr std::string_view k_name = "root-commit";
  if (memo == nullptr) return git::repo_id(h.env, h.root);
  git::root_memo known;
  if (const auto row = memo->meta(k_name)) {
    const std::size_t space = row->find(' ');
    known.commit = row->substr(0, space);
    if (space != std::string::npos) known.root = row->substr(space + 1);
  }
  std::string id = git::repo_id(h.env, h.root, &known);
  if (known.learned) memo->put_meta(std::string(k_name), known.commit + " " + known.root);
  return id;
}

}  // namespace

result<cache::store_location> find_store(const host& h, const std::optional<std::string>& flag,
                                         const workspace::workspace_config& settings, cache::index* memo) {
  cache::location_request where;
  where.root = h.root;
  where.cwd = h.cwd;
  where.flag = flag;
  where.config = settings.cache_dir;
  where.env = &h.env;
  const bool shared = !where.flag && !where.config && h.env.get("VX_CACHE_DIR").empty();
  if (shared) where.repo_id = repo_id(h, memo);
  return cache::locate_store(where);
}

result<std::unique_ptr<recorded>> open_recorded(std::shared_ptr<const host> h, const reading_options& options,
                                                const cancel_token* cancel) {
  auto r = std::make_unique<recorded>();  // the notices' sinks keep its address
  r->h = std::move(h);
  VX_TRY(open_index(*r, options.tolerant));
  if (status read = read_settings(*r, cancel); !read) {
    if (read.error().code == errc::CANCELLED) return fail(std::move(read).error());
    r->settings_failure = std::move(read).error();
    if (!options.tolerant) r->notices.push_back(r->settings_failure->message + "; the default cache directory is read");
  }
  VX_TRY(open_store(*r, options));
  return r;
}

}  // namespace vx::run
