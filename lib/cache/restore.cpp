// A hit back into the tree: stage, verify, swap (cache.md 9). Nothing in the tree changes before the whole artifact is proven.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/outputs.hpp"
#include "cache/row_blobs.hpp"
#include "cache/store_impl.hpp"
#include "cache/tree_swap.hpp"

namespace vx::cache {

/// Writes members as files of the stage directory while the artifact is read.
class stage_sink final : public member_sink {
 public:
  stage_sink(int dir, std::atomic<std::uint64_t>& counter) : dir_(dir), counter_(counter) {}
  ~stage_sink() override {
    for (const staged_file& s : staged_) {
      if (!s.name.empty()) ::unlinkat(dir_, s.name.c_str(), 0);
    }
  }
  stage_sink(const stage_sink&) = delete;
  stage_sink& operator=(const stage_sink&) = delete;

  status begin(const output_row& row) override {
    row_ = row;
    staged_.emplace_back();
    if (row.kind != 'f') return {};
    const std::string name = "f" + std::to_string(counter_.fetch_add(1));
    if (const int e = fs::fault("stage", row.path.c_str())) return give_up(e);
    fd_.reset(::openat(dir_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd_) return give_up(errno);
    staged_.back().name = name;
    return {};
  }
  status data(std::string_view bytes) override {
    if (const status w = fs::write_all(fd_.get(), bytes); !w) return give_up(w.error().sys);
    return {};
  }
  status end() override {
    if (row_.kind != 'f') return {};
    const struct timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(row_.mtime.sec), static_cast<long>(row_.mtime.ns)}};
    struct ::stat st;
    if ((!mutated("no-fchmod") && ::fchmod(fd_.get(), row_.mode) != 0) ||
        (!mutated("no-utimens") && ::futimens(fd_.get(), times) != 0) || ::fstat(fd_.get(), &st) != 0) {
      return give_up(errno);
    }
    staged_.back().ino = static_cast<std::uint64_t>(st.st_ino);
    fd_.reset();
    return {};
  }

  int trouble() const noexcept { return trouble_; }  ///< the errno of staging, 0 = none
  const std::string& trouble_path() const noexcept { return row_.path; }
  std::vector<staged_file>& staged() noexcept { return staged_; }

 private:
  tl::unexpected<failure> give_up(int sys) {
    trouble_ = sys == 0 ? EIO : sys;
    return fail_sys(trouble_, "cannot stage", row_.path);
  }
  int dir_;
  std::atomic<std::uint64_t>& counter_;
  unique_fd fd_;
  output_row row_;
  std::vector<staged_file> staged_;
  int trouble_ = 0;
};

namespace {

using outcome = restore_result::outcome;

restore_result ended(outcome how, std::string reason) {
  restore_result r;
  r.how = how;
  r.reason = std::move(reason);
  return r;
}

restore_result tree_trouble(const failure& f) { return ended(outcome::tree_error, f.message); }

/// A staging directory of one restore beside its targets, for trees whose .vx cannot be written.
class sibling_stage {
 public:
  ~sibling_stage() {
    fd_.reset();
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  status make(const output_scope& scope, std::uint64_t n) {
    const std::string path = path::join(path::join(scope.root, scope.project_dir),
                                        ".vx-tmp-" + std::to_string(::getpid()) + "-" + std::to_string(n));
    if (::mkdir(path.c_str(), 0700) != 0) return fail_sys(errno, "cannot create", path);
    path_ = path;
    VX_TRY_LET(fd_, fs::open_at(fs::k_cwd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    return {};
  }
  int fd() const noexcept { return fd_.get(); }

 private:
  std::string path_;
  unique_fd fd_;
};

/// Everything is proven: the tree may change now.
restore_result swap(const lookup_result& hit, const output_scope& scope, int stage_fd, std::vector<staged_file>& staged) {
  swap_request q;
  q.scope = &scope;
  q.rows = &hit.outputs;
  q.stage = stage_fd;
  q.staged = &staged;
  auto swapped = swap_tree(q);
  if (!swapped) return tree_trouble(swapped.error());
  restore_result out;
  out.touched = std::move(swapped->touched);
  if (swapped->folded) {
    out.how = outcome::missing;
    out.reason = std::move(swapped->reason);
    return out;
  }
  out.stamps = std::move(swapped->stamps);
  return out;
}

}  // namespace

std::optional<restore_result> store::impl::open_artifact(const entry& e, unique_fd& out) {
  const std::string name = artifact_name(e.key);
  auto fd = fs::open_at(dir.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) {
    const int sys = fd.error().sys;
    if (sys == EMFILE || sys == ENFILE) return tree_trouble(fd.error());
    if (sys == ENOENT) return ended(outcome::missing, "the artifact is gone");
    return ended(outcome::missing, sys_failure(sys, "cannot read the cached artifact", path::join(where.dir, name)).message);
  }
  const auto st = fs::fstat_fd(fd->get());
  if (!st || st->kind != fs::kind::file || st->size != e.artifact_bytes)
    return ended(outcome::missing, "the artifact was replaced");
  out = std::move(*fd);
  return std::nullopt;
}

std::optional<restore_result> store::impl::stage_artifact(const lookup_result& hit, const output_scope& scope, int fd,
                                                          stage_sink& sink) {
  codec_lease tools(*this);
  artifact_expectations expect;
  expect.key = hit.entry.key;
  expect.scope = &scope;
  const auto contents = scan_artifact_fd(fd, hit.entry.artifact_bytes, expect, &sink, &*tools);
  if (sink.trouble() != 0) {
    const std::string path = path::join(scope.project_dir, sink.trouble_path());
    if (sink.trouble() != ENOENT) return tree_trouble(sys_failure(sink.trouble(), "cannot stage the output", path));
    return ended(outcome::tree_error, "cannot stage the output " + text::escape(path) +
                                          ": the stage directory vanished; is another vx run at work here?");
  }
  if (!contents) {
    const bool damaged = contents.error().code == errc::CORRUPT;
    if (damaged) drop(hit.entry.key);
    return ended(outcome::missing,
                 std::string("the artifact is ") + (damaged ? "damaged: " : "unreadable: ") + contents.error().message);
  }
  // A sound artifact with other members: another process has saved this key since the lookup.
  if (!same_rows(contents->rows, hit.outputs)) return ended(outcome::missing, "the artifact was replaced");
  return std::nullopt;
}

/// `<stage_dir>/<pid>-<n>`, made at the first restore, kept for the next, removed with the store.
result<std::shared_ptr<store::impl::stage>> store::impl::stage_for(const std::string& stage_dir) {
  const std::lock_guard lock(stages_mutex);
  const auto known = stages.find(stage_dir);
  if (known != stages.end()) {
    // Someone may have removed it between two restores.
    struct ::stat st;
    if (::fstat(known->second->dir.get(), &st) == 0 && st.st_nlink > 0) return known->second;
    stages.erase(known);
  }
  VX_TRY(fs::make_dirs_at(fs::k_cwd, stage_dir, 0700));
  auto s = std::make_shared<stage>();
  s->parent = stage_dir;
  for (unsigned n = 0; s->name.empty(); ++n) {
    const std::string name = std::to_string(::getpid()) + "-" + std::to_string(n);
    if (::mkdir(path::join(stage_dir, name).c_str(), 0700) == 0) {
      s->name = name;
    } else if (errno != EEXIST || n > 10000) {
      return fail_sys(errno, "cannot create", path::join(stage_dir, name));
    }
  }
  VX_TRY_LET(s->dir, fs::open_at(fs::k_cwd, path::join(stage_dir, s->name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  stages.emplace(stage_dir, s);
  return s;
}

void remove_dead_stages(const std::string& stage_dir) {
  const auto names = fs::list_dir_at(fs::k_cwd, stage_dir);
  if (!names) return;
  for (const fs::dir_entry& e : *names) {
    int pid = 0;
    const char* const end = e.name.data() + e.name.size();
    const auto [rest, error] = std::from_chars(e.name.data(), end, pid);
    if (error != std::errc() || rest == end || *rest != '-' || pid <= 0) continue;
    if (::kill(pid, 0) != 0 && errno == ESRCH) (void)fs::remove_tree_at(fs::k_cwd, path::join(stage_dir, e.name));
  }
}

restore_result store::restore(const lookup_result& hit, const output_scope& scope, const std::string& stage_dir) {
  if (!scope.declares_any()) return {};
  if (const status roots = check_owned_roots(scope); !roots) {
    return ended(roots.error().code == errc::REFUSED ? outcome::refused : outcome::tree_error, roots.error().message);
  }
  unique_fd artifact;
  if (auto trouble = impl_->open_artifact(hit.entry, artifact)) return std::move(*trouble);

  sibling_stage beside;
  int stage_fd = -1;
  const auto shared = impl_->stage_for(stage_dir);
  if (shared) {
    stage_fd = (*shared)->dir.get();
  } else {
    if (!beside.make(scope, impl_->stage_files.fetch_add(1))) return tree_trouble(shared.error());
    stage_fd = beside.fd();
  }
  stage_sink sink(stage_fd, impl_->stage_files);
  if (auto trouble = impl_->stage_artifact(hit, scope, artifact.get(), sink)) return std::move(*trouble);
  artifact.reset();
  return swap(hit, scope, stage_fd, sink.staged());
}

}  // namespace vx::cache
