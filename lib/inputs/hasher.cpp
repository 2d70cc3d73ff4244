#include "inputs/hasher.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/mutation.hpp"
#include "base/racy.hpp"
#include "base/threads.hpp"

namespace vx::inputs {
namespace {

constexpr int k_attempts = 3;
constexpr std::uint64_t k_whole_file = 256 << 10;  // up to this a file is read at once, beyond it streamed

bool same_stamps(const fs::stat_info& a, const fs::stat_info& b) noexcept {
  return a.kind == b.kind && a.size == b.size && a.mtime == b.mtime && a.ctime == b.ctime && a.ino == b.ino;
}

bool fits(const cache::file_memo& row, const fs::stat_info& info) noexcept {
  std::int64_t mtime = 0, ctime = 0;
  if (mutated("weak-memo")) return row.size == info.size && info.mtime.to_ns(mtime) && row.mtime_ns == mtime;
  return row.size == info.size && row.ino == info.ino && info.mtime.to_ns(mtime) && info.ctime.to_ns(ctime) &&
         row.mtime_ns == mtime && row.ctime_ns == ctime;
}

std::uint8_t id_size(key::object_format f) noexcept { return f == key::object_format::sha1 ? 20 : 32; }

std::string_view mode_prefix(const fs::stat_info& info) noexcept {
  if (mutated("no-mode")) return "";
  if (info.kind == fs::kind::link) return "120000:";
  return (info.mode & 0100) != 0 ? "100755:" : "";
}

/// openat(2) of a sorted-table path; a FIFO must not hang us, a link must not be followed.
unique_fd open_file(int root, std::string_view path) {
  const std::string name(path);
  while (true) {
    unique_fd fd(::openat(root, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd || errno != EINTR) return fd;
  }
}

}  // namespace

/// Reads and hashes until the stamps before and after agree. False: gone, changed type or unreadable; `out` says which.
bool hasher::hash_file(std::string_view path, fs::stat_info& info, key::oid& id, fresh& out) const {
  for (int attempt = 1;; ++attempt) {
    const unique_fd fd = open_file(root_, path);
    if (!fd) {
      const int error = errno;
      if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO) return false;
      out.is = slot::state::unreadable;
      out.error = error;
      return false;
    }
    auto before = fs::fstat_fd(fd.get());
    if (!before || before->kind != fs::kind::file) return false;
    result<key::oid> got = fail(errc::CORRUPT, "");
    if (before->size <= k_whole_file) {
      auto bytes = fs::read_fd(fd.get(), k_whole_file * 2);
      if (bytes) {
        got = key::git_blob_id(*bytes, format_);
      } else {
        got = fail(std::move(bytes).error());
      }
    } else {
      got = key::git_blob_id_fd(fd.get(), before->size, format_);
    }
    if (!got && got.error().sys != 0) {
      out.is = slot::state::unreadable;
      out.error = got.error().sys;
      return false;
    }
    auto after = fs::fstat_fd(fd.get());
    const bool steady = got && after && same_stamps(*before, *after);
    if (got) id = *got;
    if (after) info = *after;
    if (steady || attempt >= k_attempts) {
      out.is = steady ? slot::state::known : slot::state::unstable;
      return true;
    }
  }
}

hasher::fresh hasher::look(std::string_view path) const {
  fresh out;
  int error = 0;
  if (!lstat_view(root_, path, out.info, &error)) {
    if (error != 0) {
      out.is = slot::state::unreadable;
      out.error = error;
    }
    return out;
  }
  key::oid id;
  if (out.info.kind == fs::kind::link) {
    auto target = fs::read_link_at(root_, std::string(path));
    if (!target) return out;
    id = key::git_blob_id(*target, format_);
    out.is = slot::state::known;
  } else if (out.info.kind != fs::kind::file || !hash_file(path, out.info, id, out)) {
    return out;
  }
  out.identity.append(mode_prefix(out.info)).append(id.hex());
  return out;
}

void hasher::resolve_one(const job& j, const cache::file_memo* row, std::int64_t date_ns, memo_rows& learned) {
  fresh f;
  key::oid id;
  bool from_memo = false;
  if (row != nullptr && row->id.size == id_size(format_) && lstat_view(root_, j.path, f.info) &&
      (f.info.kind == fs::kind::file || f.info.kind == fs::kind::link) && fits(*row, f.info)) {
    f.is = slot::state::known;
    f.identity.append(mode_prefix(f.info)).append(row->id.hex());
    from_memo = true;
  } else {
    f = look(j.path);
  }
  slot& s = *j.content;
  s.date_ns = date_ns;
  s.error = f.error;
  s.length = static_cast<std::uint8_t>(std::min(f.identity.size(), sizeof s.text));
  std::copy_n(f.identity.data(), s.length, s.text);
  s.is.store(f.is, std::memory_order_release);
  if (from_memo || f.is != slot::state::known) return;
  cache::file_memo learn;
  const std::string_view hex = std::string_view(f.identity).substr(mode_prefix(f.info).size());
  if (!key::oid::parse(hex, learn.id) || !f.info.mtime.to_ns(learn.mtime_ns) || !f.info.ctime.to_ns(learn.ctime_ns)) return;
  learn.path = j.path;
  learn.size = f.info.size;
  learn.ino = f.info.ino;
  learned.push_back(std::move(learn));
}

hasher::memo_rows hasher::known_rows(const std::vector<job>& jobs) const {
  cache::index* memo = memo_.load(std::memory_order_acquire);
  if (memo == nullptr) return {};
  std::vector<std::string> paths;
  paths.reserve(jobs.size());
  for (const job& j : jobs) paths.emplace_back(j.path);
  return memo->file_memos(paths);
}

void hasher::resolve(std::vector<job> jobs) {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs, [](const job& j) { return j.content->is.load(std::memory_order_acquire) != slot::state::unknown; });
  if (jobs.empty()) return;
  const memo_rows rows = known_rows(jobs);
  std::unordered_map<std::string_view, const cache::file_memo*> by_path;
  by_path.reserve(rows.size());
  for (const cache::file_memo& r : rows) by_path.emplace(r.path, &r);
  const std::int64_t now = clock_.now_ns();  // before every lstat below: a later change can't look old
  parallel_for(jobs.size(), usable_cpus(), 32, [&](std::size_t begin, std::size_t end) {
    memo_rows learned;
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = by_path.find(jobs[i].path);
      resolve_one(jobs[i], row == by_path.end() ? nullptr : row->second, now, learned);
    }
    std::erase_if(learned, [now](const cache::file_memo& m) { return fs::is_racy(fs::timestamp::from_ns(m.ctime_ns), now); });
    const std::lock_guard rows_lock(rows_mutex_);
    std::move(learned.begin(), learned.end(), std::back_inserter(learned_));
  });
}

void hasher::flush() {
  cache::index* memo = memo_.load(std::memory_order_acquire);
  memo_rows rows;
  {
    const std::lock_guard lock(rows_mutex_);
    rows.swap(learned_);
  }
  if (memo != nullptr && !rows.empty()) memo->put_file_memos(std::move(rows));
}

}  // namespace vx::inputs
