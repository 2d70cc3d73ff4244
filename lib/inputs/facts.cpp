#include <fcntl.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/path.hpp"
#include "inputs/facts_impl.hpp"
#include "inputs/untracked.hpp"

namespace vx::inputs {

facts::impl::impl(const start_request& request)
    : root(request.root),
      root_fd([&] {
        auto fd = fs::open_dir_at(fs::k_cwd, request.root);
        return fd ? std::move(*fd) : unique_fd();
      }()),
      env(request.env),
      cancel(request.cancel),
      hash(root_fd.get()),
      memo(request.memo),
      clock_offset_ns(wall_ns() - mono_ns()),
      tree{root, root_fd.get(), nullptr, nullptr, request.cancel},
      living(tree, *bytes) {}

facts::facts() = default;

facts::~facts() {
  if (!impl_) return;
  impl_->tell_memo(nullptr);
  if (impl_->gatherer.joinable()) impl_->gatherer.join();
}

std::unique_ptr<facts> facts::start(const start_request& request) {
  std::unique_ptr<facts> f(new facts());
  f->impl_ = std::make_unique<impl>(request);
  impl* i = f->impl_.get();
  i->hash.set_memo(request.memo);
  i->memo_told = !request.memo_follows;
  const auto memo = [i] {
    i->memo_told.wait(false);
    return i->memo.load(std::memory_order_acquire);
  };
  const auto work = [i, memo] { gather(i->root, i->root_fd.get(), *i->env, i->cancel, memo, *i->bytes, i->listing); };
  if (!i->root_fd) {
    i->open_failure = sys_failure(ENOENT, "cannot open", i->root);
    return f;
  }
  try {
    const signals_blocked shield;
    i->gatherer = std::thread(work);
  } catch (const std::system_error&) {
    i->memo_told = true;  // this thread is the one that would tell
    work();
  }
  return f;
}

void facts::set_memo(cache::index* memo) noexcept {
  impl_->tell_memo(memo);
  impl_->hash.set_memo(memo);
}

status facts::wait() {
  impl& i = *impl_;
  const std::lock_guard lock(i.wait_mutex);
  if (!i.waited) {
    i.waited = true;
    if (i.gatherer.joinable()) i.gatherer.join();
    if (i.open_failure) i.wait_failure = i.open_failure;
    if (i.listing.trouble) i.wait_failure = i.listing.trouble;
    if (!i.wait_failure) {
      if (i.listing.from_git) {
        i.tree.git = &*i.listing.program;
        i.tree.repo = &*i.listing.repo;
        i.hash.set_format(i.listing.repo->sha256 ? key::object_format::sha256 : key::object_format::sha1);
      }
      if (!i.listing.notice.empty()) i.notices.push_back(i.listing.notice);
      i.sparse_hit.assign(i.listing.sparse_absent.size(), false);
      status settled = settle_trust(i.tree, i.listing, i.memo.load(std::memory_order_acquire), *i.bytes);
      if (!settled) i.wait_failure = std::move(settled).error();
      i.living.publish(i.listing);
    }
  }
  if (i.wait_failure) return fail(*i.wait_failure);
  return {};
}

bool facts::uses_git() const noexcept { return impl_->tree.repo != nullptr; }
const std::vector<std::string>& facts::notices() const noexcept { return impl_->notices; }

std::optional<bool> facts::dirty() const {
  impl& i = *impl_;
  if (i.tree.repo == nullptr) return std::nullopt;
  if (i.listing.has_untracked || !i.listing.absent.empty()) return true;
  // A file whose stat moved is dirty when its bytes are not the index's.
  const table_ptr now = i.living.as_it_is();
  std::vector<hasher::job> jobs;
  std::vector<const git::index_entry*> entries;
  auto at = now->files.begin();
  for (const git::index_entry& e : i.listing.index.entries) {
    if (e.stage != 0 || e.intent_to_add) return true;
    while (at != now->files.end() && at->path < e.path) ++at;
    if (at == now->files.end() || at->path != e.path || at->clean || at->content == nullptr) continue;
    jobs.push_back({at->path, at->content});
    entries.push_back(&e);
  }
  i.hash.resolve(jobs);
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const std::string_view text = jobs[k].content->identity();
    const std::string want = key::oid::from_raw({entries[k]->oid, i.listing.index.oid_size}).hex();
    if (!text.ends_with(want)) return true;
  }
  return false;
}

bool facts::is_tracked(std::string_view path) const {
  const std::vector<git::index_entry>& entries = impl_->listing.index.entries;
  const auto at = std::lower_bound(entries.begin(), entries.end(), path,
                                   [](const git::index_entry& e, std::string_view p) { return e.path < p; });
  return at != entries.end() && at->path == path && at->mode != git::k_mode_gitlink;
}

std::optional<std::string> facts::sparse_notice() const {
  const impl& i = *impl_;
  const std::lock_guard lock(i.sparse_mutex);
  const auto n = std::count(i.sparse_hit.begin(), i.sparse_hit.end(), true);
  if (n == 0) return std::nullopt;
  return std::to_string(n) + (n == 1 ? " input file lies" : " input files lie") + " outside the sparse checkout and " +
         (n == 1 ? "counts" : "count") + " as absent";
}

void facts::prefetch(const std::vector<std::string>& project_dirs) {
  impl& i = *impl_;
  const table_ptr now = i.living.as_it_is();
  if (now == nullptr) return;
  std::vector<hasher::job> jobs;
  for (const std::string& dir : project_dirs) {
    const file_range r = now->below(dir);
    for (std::size_t k = r.first; k < r.second; ++k) {
      if (now->files[k].content != nullptr) jobs.push_back({now->files[k].path, now->files[k].content});
    }
  }
  i.hash.resolve(std::move(jobs));
}

result<selected> facts::select(const selector& s) {
  VX_TRY_LET(impl::picked p, impl_->pick(s));
  return impl_->describe_files(p);
}

result<std::optional<std::string>> facts::manifest_identity(const std::string& project_dir) {
  return impl_->manifest(project_dir);
}

void facts::forget_paths(const std::vector<std::string>& paths) { impl_->living.forget_paths(paths); }
void facts::forget_project(const std::string& project_dir, const std::shared_ptr<const std::vector<std::string>>& nested) {
  impl_->living.forget_region(project_dir, nested);
}
void facts::forget_workspace() { impl_->living.forget_region("", nullptr); }

result<facts::description> facts::describe(const selector& s) { return impl_->describe(s); }
result<facts::description> facts::describe_paths(std::vector<std::string> paths) {
  return impl_->describe_paths(std::move(paths));
}
std::optional<std::string> facts::moved(const selector& s, const description& d, strictness how) {
  return impl_->moved(s, d, how);
}

void facts::flush_memos() { impl_->hash.flush(); }

void facts::remember_listing() {
  impl& i = *impl_;
  cache::index* memo = i.memo.load(std::memory_order_acquire);
  if (memo != nullptr && !i.wait_failure) remember_untracked(i.tree, i.listing, *memo);
}

}  // namespace vx::inputs
