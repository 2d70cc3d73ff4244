#include "cache/tree_swap.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/owned_walk.hpp"
#include "cache/scope_space.hpp"
#include "cache/stamps.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

/// One space of one restore.
class space_swap {
 public:
  space_swap(const swap_request& q, space which, std::size_t begin, std::size_t end, swap_result& out)
      : q_(q), scope_(*q.scope, which), rows_(*q.rows), begin_(begin), end_(end), out_(out) {}

  status run() {
    if (!scope_.declares_any() && begin_ == end_) return {};
    auto base = open_anchor(scope_.base_path());
    if (!base) return fail_sys(base.error().sys, "cannot restore into", scope_.base_path());
    base_ = std::move(*base);
    parents_.emplace(base_.get());
    walk_options options;
    options.unlock = true;
    VX_TRY_LET(existing_, walk_owned(scope_, base_.get(), options));
    for (auto f = existing_.rbegin(); f != existing_.rend(); ++f) VX_TRY(clear_way(*f));
    for (std::size_t i = begin_; i < end_; ++i) VX_TRY(place(i));
    return directory_modes();
  }

  int base() const noexcept { return base_.get(); }
  std::string shown(const std::string& path) const { return text::escape(scope_.from_root(path)); }

 private:
  tl::unexpected<failure> trouble(int sys, const std::string& path) const {
    return fail_sys(sys, "cannot restore the output", scope_.from_root(path));
  }

  const output_row* row_at(const std::string& path) const {
    const auto from = rows_.begin() + static_cast<std::ptrdiff_t>(begin_),
               to = rows_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto at = std::lower_bound(from, to, path, [](const output_row& r, const std::string& p) { return r.path < p; });
    return at != to && at->path == path ? &*at : nullptr;
  }

  bool rows_below(const std::string& dir) const {
    const std::string prefix = dir + "/";
    const auto from = rows_.begin() + static_cast<std::ptrdiff_t>(begin_),
               to = rows_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto at = std::lower_bound(from, to, prefix, [](const output_row& r, const std::string& p) { return r.path < p; });
    return at != to && at->path.starts_with(prefix);
  }

  /// Strays and anything of another kind go. What a file or link will be renamed over stays: it is never absent between.
  status clear_way(found& f) {
    const output_row* row = row_at(f.path);
    if (f.kind == fs::kind::dir) {
      if ((row != nullptr && row->kind == 'd') || rows_below(f.path)) return {};
      return remove(f, true, row == nullptr);
    }
    if (row != nullptr && row->kind != 'd') return {};
    return remove(f, false, false);
  }

  /// `may_stay`: a directory that still holds what is not ours.
  status remove(found& f, bool dir, bool may_stay) {
    const bool stray = row_at(f.path) == nullptr;
    if (stray && (mutated("keep-strays") || q_.scope->additive || scope_.tolerates(f.path))) return {};
    const auto parent = parents_->of(f.path);
    if (!parent) return parent.error().sys == ENOENT ? status{} : trouble(parent.error().sys, f.path);
    const status done = fs::unlink_at(*parent, std::string(path::base_name(f.path)), dir);
    if (done) {
      f.kind = fs::kind::none;
      if (dir) parents_->forget();
      out_.touched.push_back(scope_.from_root(f.path));
      return {};
    }
    const int sys = done.error().sys;
    if (sys == ENOENT) return {};
    if (dir && (sys == ENOTEMPTY || sys == EEXIST)) return may_stay ? status{} : trouble(sys, f.path);
    return trouble(sys, f.path);
  }

  /// The parent directory of a row, made when missing.
  result<int> parent_of(const std::string& path) {
    auto parent = parents_->of(path);
    if (parent || parent.error().sys != ENOENT) {
      if (parent) return parent;
      return in_the_way(parent.error().sys, path);
    }
    const std::string dir(path::parent(path));
    for (std::size_t end = dir.find('/'); true; end = dir.find('/', end + 1)) {
      VX_TRY(make_dir(dir.substr(0, end)));
      if (end == std::string::npos) break;
    }
    parents_->forget();
    parent = parents_->of(path);
    if (!parent) return in_the_way(parent.error().sys, path);
    return parent;
  }

  tl::unexpected<failure> in_the_way(int sys, const std::string& path) const {
    if (sys != ELOOP && sys != ENOTDIR) return trouble(sys, path);
    return fail(errc::FS,
                "cannot restore the output " + shown(path) + ": a file or link is in the place of a directory above it");
  }

  /// 0755 whatever the umask; an existing directory is left as it is.
  status make_dir(const std::string& dir) {
    const auto parent = parents_->of(dir);
    if (!parent) return in_the_way(parent.error().sys, dir);
    const std::string name(path::base_name(dir));
    if (const int e = fs::fault("mkdir", dir.c_str())) return trouble(e, dir);
    if (::mkdirat(*parent, name.c_str(), 0755) != 0) {
      if (errno != EEXIST) return trouble(errno, dir);
      VX_TRY_LET(const fs::stat_info st, fs::lstat_at(*parent, name));
      return st.kind == fs::kind::dir ? status{} : status(in_the_way(ENOTDIR, dir));
    }
    const unique_fd fd(::openat(*parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::fchmod(fd.get(), 0755) != 0) return trouble(errno, dir);
    return {};
  }

  status place(std::size_t i) {
    const output_row& r = rows_[i];
    VX_TRY_LET(const int parent, parent_of(r.path));
    const std::string name(path::base_name(r.path));
    if (r.kind == 'f') VX_TRY(place_file(i, parent, name));
    if (r.kind == 'l') VX_TRY(place_link(r, parent, name));
    if (r.kind == 'd') VX_TRY(make_dir(r.path));
    out_.touched.push_back(scope_.from_root(r.path));
    return {};
  }

  std::string sibling_name() {
    std::array<std::byte, 8> raw{};
    random_bytes(raw.data(), raw.size());
    return ".vx-tmp-" + to_hex(raw);
  }

  status place_file(std::size_t i, int parent, const std::string& name) {
    staged_file& s = (*q_.staged)[i];
    const output_row& r = rows_[i];
    if (const int e = fs::fault("rename", r.path.c_str())) return trouble(e, r.path);
    if (::renameat(q_.stage, s.name.c_str(), parent, name.c_str()) == 0) {
      s.name.clear();
      return {};
    }
    if (errno == ENOENT && ::faccessat(q_.stage, s.name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(errc::FS,
                  "cannot restore the output " + shown(r.path) + ": its staged copy vanished; is another vx run at work here?");
    }
    if (errno != EXDEV) return trouble(errno, r.path);
    return copy_over(i, parent, name);
  }

  /// The stage lies on another file system than the target: copy beside it, then rename.
  status copy_over(std::size_t i, int parent, const std::string& name) {
    staged_file& s = (*q_.staged)[i];
    const output_row& r = rows_[i];
    const std::string temp = sibling_name();
    const status done = [&]() -> status {
      if (::fchmodat(q_.stage, s.name.c_str(), 0600, 0) != 0) return trouble(errno, r.path);
      VX_TRY_LET(const unique_fd from, fs::open_at(q_.stage, s.name, O_RDONLY | O_NOFOLLOW));
      VX_TRY_LET(const unique_fd to, fs::open_at(parent, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
      std::string buffer(128 * 1024, '\0');
      while (true) {
        const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return trouble(errno, r.path);
        if (n == 0) break;
        if (const status w = fs::write_all(to.get(), {buffer.data(), static_cast<std::size_t>(n)}); !w)
          return trouble(w.error().sys, r.path);
      }
      const struct timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(r.mtime.sec), static_cast<long>(r.mtime.ns)}};
      if (::fchmod(to.get(), r.mode) != 0 || ::futimens(to.get(), times) != 0) return trouble(errno, r.path);
      VX_TRY_LET(const fs::stat_info st, fs::fstat_fd(to.get()));
      s.ino = st.ino;
      if (::renameat(parent, temp.c_str(), parent, name.c_str()) != 0) return trouble(errno, r.path);
      return {};
    }();
    if (!done) {
      ::unlinkat(parent, temp.c_str(), 0);
      return done;
    }
    ::unlinkat(q_.stage, s.name.c_str(), 0);
    s.name.clear();
    return {};
  }

  status place_link(const output_row& r, int parent, const std::string& name) {
    const std::string temp = sibling_name();
    if (const int e = fs::fault("symlink", r.path.c_str())) return trouble(e, r.path);
    if (::symlinkat(r.target.c_str(), parent, temp.c_str()) != 0) return trouble(errno, r.path);
    if (::renameat(parent, temp.c_str(), parent, name.c_str()) == 0) return {};
    const int sys = errno;
    ::unlinkat(parent, temp.c_str(), 0);
    return trouble(sys, r.path);
  }

  /// Deepest first, so that a directory loses its write bit only when everything below it is done.
  status directory_modes() {
    std::vector<std::pair<std::string, std::uint16_t>> modes;
    for (std::size_t i = begin_; i < end_; ++i) {
      if (rows_[i].kind == 'd') modes.emplace_back(rows_[i].path, rows_[i].mode);
    }
    for (const found& f : existing_) {
      if (f.kind != fs::kind::dir || row_at(f.path) != nullptr || !rows_below(f.path)) continue;
      if (q_.scope->additive) {
        // A directory of the dependency, opened on the way: as it was.
        if (f.unlocked) modes.emplace_back(f.path, static_cast<std::uint16_t>(f.st.mode & 0777));
        continue;
      }
      if ((f.st.mode & 0777) != 0755) modes.emplace_back(f.path, std::uint16_t{0755});
    }
    std::sort(modes.rbegin(), modes.rend());
    for (const auto& [dir, mode] : modes) {
      const auto parent = parents_->of(dir);
      if (!parent) return trouble(parent.error().sys, dir);
      if (const status done = chmod_no_follow(*parent, std::string(path::base_name(dir)), mode); !done)
        return trouble(done.error().sys, dir);
    }
    return {};
  }

  const swap_request& q_;
  scope_space scope_;
  const std::vector<output_row>& rows_;
  std::size_t begin_, end_;
  swap_result& out_;
  unique_fd base_;
  std::optional<parent_cache> parents_;
  std::vector<found> existing_;
};

/// The row whose staged file now lies under the name of row `i`.
std::string rival_of(const swap_request& q, std::uint64_t ino) {
  for (std::size_t k = 0; k < q.rows->size(); ++k) {
    if ((*q.rows)[k].kind == 'f' && (*q.staged)[k].ino == ino) return (*q.rows)[k].path;
  }
  return "another output";
}

/// Stamps are taken after the placing rename, which changes ctime, and only of what still equals its row.
void take_stamps(const swap_request& q, std::size_t begin, std::size_t end, const space_swap& swap, swap_result& out) {
  for (std::size_t i = begin; i < end; ++i) {
    const output_row& r = (*q.rows)[i];
    const auto st = fs::lstat_at(swap.base(), r.path);
    if (!st) continue;
    if (r.kind == 'f' && st->kind == fs::kind::file && st->ino != (*q.staged)[i].ino && !out.folded &&
        !mutated("no-case-check")) {
      const std::string rival = rival_of(q, st->ino);
      if (rival != "another output") {
        out.folded = true;
        out.reason = "the outputs " + swap.shown(r.path) + " and " + swap.shown(rival) + " have one name on this file system";
      }
      continue;
    }
    if (matches_row(r, *st)) out.stamps[i] = stamp_of(*st);
  }
}

}  // namespace

result<swap_result> swap_tree(const swap_request& q) {
  swap_result out;
  const std::vector<output_row>& rows = *q.rows;
  out.stamps.resize(rows.size());
  const auto middle = static_cast<std::size_t>(
      std::find_if(rows.begin(), rows.end(), [](const output_row& r) { return r.space == space::workspace; }) - rows.begin());
  space_swap project(q, space::project, 0, middle, out), workspace(q, space::workspace, middle, rows.size(), out);
  VX_TRY(project.run());
  VX_TRY(workspace.run());
  take_stamps(q, 0, middle, project, out);
  take_stamps(q, middle, rows.size(), workspace, out);
  return out;
}

}  // namespace vx::cache
