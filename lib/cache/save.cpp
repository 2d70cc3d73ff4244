// Saving, off the task's slot (cache.md 6.3): plan, pack into a temporary, read back, hand over to the committing transaction.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fs.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/outputs.hpp"
#include "cache/row_blobs.hpp"
#include "cache/scope_space.hpp"
#include "cache/stamps.hpp"
#include "cache/store_impl.hpp"
#include "cache/tree_access.hpp"

namespace vx::cache {
namespace {

using outcome = save_result::outcome;

constexpr std::uint64_t k_large_artifact = std::uint64_t{512} << 20;

save_result refused(outcome how, std::string reason) {
  save_result r;
  r.how = how;
  r.reason = std::move(reason);
  return r;
}

std::string largest_outputs(const std::vector<output_row>& rows, const output_scope& scope) {
  std::vector<const output_row*> by_size;
  for (const output_row& r : rows) by_size.push_back(&r);
  const std::size_t n = std::min<std::size_t>(3, by_size.size());
  std::partial_sort(by_size.begin(), by_size.begin() + static_cast<std::ptrdiff_t>(n), by_size.end(),
                    [](const output_row* a, const output_row* b) { return a->size > b->size; });
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) out += ", ";
    const scope_space s(scope, by_size[i]->space);
    out += text::escape(s.from_root(by_size[i]->path)) + " (" + text::format_bytes(by_size[i]->size) + ")";
  }
  return out;
}

std::string largest_dirs(const std::vector<output_row>& rows) {
  std::map<std::string, std::uint64_t> dirs;
  for (const output_row& r : rows) dirs[std::string(path::parent(r.path))] += r.size;
  std::vector<std::pair<std::uint64_t, std::string>> by_size;
  for (auto& [dir, bytes] : dirs) by_size.emplace_back(bytes, dir);
  std::sort(by_size.rbegin(), by_size.rend());
  std::string out;
  for (std::size_t i = 0; i < by_size.size() && i < 3; ++i) {
    if (i > 0) out += ", ";
    out += (by_size[i].second.empty() ? std::string(".") : text::escape(by_size[i].second)) + " (" +
           text::format_bytes(by_size[i].first) + ")";
  }
  return out;
}

/// One task's outputs, opened and judged.
class packer {
 public:
  explicit packer(const save_request& q) : q_(q), project_(*q.scope, space::project), workspace_(*q.scope, space::workspace) {}

  std::optional<save_result> plan() {
    if (q_.listing != nullptr) {
      rows_ = *q_.listing;
    } else {
      auto listed = list_outputs(*q_.scope);
      if (!listed) return refused(outcome::unstorable_output, listed.error().message);
      rows_ = std::move(*listed);
    }
    if (auto trouble = open_bases()) return trouble;
    std::uint64_t total = 0;
    stats_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (auto trouble = plan_row(rows_[i], stats_[i])) return trouble;
      total += rows_[i].size;
    }
    if (total > k_tar_limit) {
      return refused(outcome::too_large, "not cached: the outputs hold " + text::format_bytes(total) + ", more than " +
                                             text::format_bytes(k_tar_limit) +
                                             "; largest: " + largest_outputs(rows_, *q_.scope));
    }
    return std::nullopt;
  }

  /// The content of row `i`, from one descriptor, unchanged from the plan to the last byte.
  status body(std::size_t i, const std::function<status(std::string_view)>& put) {
    const output_row& r = rows_[i];
    const int base = base_of(r.space);
    bool unlocked = false;
    VX_TRY_LET(const unique_fd fd, open_output(base, r, unlocked));
    status done = copy(fd.get(), i, unlocked, put);
    if (unlocked) {
      ::fchmod(fd.get(), r.mode);
      if (const auto st = fs::fstat_fd(fd.get())) stats_[i] = *st;
    }
    return done;
  }

  /// Stamps of what still is its row.
  std::vector<output_stamp> stamps() const {
    std::vector<output_stamp> out(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto now = fs::lstat_at(base_of(rows_[i].space), rows_[i].path);
      const bool same = mutated("stamp-anything") ||
                        (now && matches_row(rows_[i], *now) && now->ino == stats_[i].ino && now->ctime == stats_[i].ctime);
      if (same) out[i] = stamp_of(*now);
    }
    return out;
  }

  std::vector<output_row>& rows() noexcept { return rows_; }
  bool changed() const noexcept { return changed_; }

 private:
  std::optional<save_result> open_bases() {
    for (const output_row& r : rows_) {
      unique_fd& fd = r.space == space::project ? project_fd_ : workspace_fd_;
      if (fd) continue;
      auto base = open_anchor((r.space == space::project ? project_ : workspace_).base_path());
      if (!base) return refused(outcome::output_changing, base.error().message);
      fd = std::move(*base);
    }
    return std::nullopt;
  }

  int base_of(space which) const noexcept { return which == space::project ? project_fd_.get() : workspace_fd_.get(); }
  std::string shown(const output_row& r) const {
    return text::escape((r.space == space::project ? project_ : workspace_).from_root(r.path));
  }

  save_result moving(const output_row& r) const {
    return refused(outcome::output_changing, "not cached: " + shown(r) + " is still being written");
  }

  std::optional<save_result> plan_row(output_row& r, fs::stat_info& st) {
    if (r.kind == 'x') {
      return refused(outcome::unstorable_output,
                     "not cached: " + shown(r) + " is a fifo, socket or device, which cannot be stored");
    }
    if (const char* why = bad_output_path(r.path)) {
      return refused(outcome::unstorable_output, "not cached: the name " + shown(r) + " cannot be stored: " + why);
    }
    const auto now = fs::lstat_at(base_of(r.space), r.path);
    if (!now) return refused(outcome::output_changing, "not cached: " + now.error().message);
    st = *now;
    const fs::kind want = r.kind == 'f' ? fs::kind::file : r.kind == 'l' ? fs::kind::link : fs::kind::dir;
    if (st.kind != want) return moving(r);
    if (r.kind == 'l') return plan_link(r);
    r.mode = static_cast<std::uint16_t>(st.mode & 0777);
    if (r.kind == 'f') {
      r.size = st.size;
      r.mtime = st.mtime;
    }
    return std::nullopt;
  }

  std::optional<save_result> plan_link(output_row& r) {
    const scope_space& s = r.space == space::project ? project_ : workspace_;
    if (const char* why = bad_link_target(s.from_root(r.path), r.target)) {
      return refused(outcome::unstorable_output,
                     "not cached: the target of the link " + shown(r) + " (" + text::escape(r.target) + ") " + why);
    }
    const bool is_root = std::any_of(s.match().positives().begin(), s.match().positives().end(), [&](const glob::pattern& p) {
      return p.literal ? p.text == r.path : is_subtree(p) && p.prefix == r.path;
    });
    if (!is_root || mutated("any-root-link")) return std::nullopt;
    std::string where;
    const bool inside = path::normalize_within(path::join(path::parent(r.path), r.target), where);
    if (inside && (s.owns(where) || s.match().owns_tree(where))) return std::nullopt;
    const std::string advice = inside ? "; declare " + text::escape(where + "/**") + " too" : "";
    return refused(outcome::unstorable_output, "not cached: the output " + shown(r) + " is a link to " +
                                                   text::escape(r.target) + ", which is not among the outputs" + advice);
  }

  result<unique_fd> open_output(int base, const output_row& r, bool& unlocked) {
    constexpr int k_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    auto fd = open_beneath(base, r.path, k_flags);
    if (fd || fd.error().sys != EACCES) return fd;
    parent_cache parents(base);
    VX_TRY_LET(const int parent, parents.of(r.path));
    const std::string name(path::base_name(r.path));
    VX_TRY(chmod_no_follow(parent, name, r.mode | 0400U));
    unlocked = true;
    fd = open_beneath(base, r.path, k_flags);
    if (!fd) (void)chmod_no_follow(parent, name, r.mode);
    return fd;
  }

  tl::unexpected<failure> change(const output_row& r) {
    changed_ = true;
    return fail(errc::REFUSED, "not cached: " + shown(r) + " is still being written");
  }

  status copy(int fd, std::size_t i, bool unlocked, const std::function<status(std::string_view)>& put) {
    const output_row& r = rows_[i];
    VX_TRY_LET(const fs::stat_info before, fs::fstat_fd(fd));
    const fs::stat_info& plan = stats_[i];
    const bool as_planned = before.kind == fs::kind::file && before.size == plan.size && before.mtime == plan.mtime &&
                            before.ino == plan.ino && (unlocked || (before.mode == plan.mode && before.ctime == plan.ctime));
    if (!as_planned) return change(r);
    std::uint64_t have = 0;
    if (r.size > 0) buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(r.size + 1, 256 * 1024)));
    while (r.size > 0) {
      const ssize_t n = ::pread(fd, buffer_.data(), buffer_.size(), static_cast<off_t>(have));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail_sys(errno, "not cached: cannot read", r.path);
      if (n == 0) break;
      have += static_cast<std::uint64_t>(n);
      if (have > r.size) return change(r);
      VX_TRY(put({buffer_.data(), static_cast<std::size_t>(n)}));
      if (have == r.size && static_cast<std::size_t>(n) < buffer_.size()) break;
    }
    if (have != r.size) return change(r);
    VX_TRY_LET(const fs::stat_info after, fs::fstat_fd(fd));
    const bool same = after.size == before.size && after.mode == before.mode && after.mtime == before.mtime &&
                      after.ctime == before.ctime && after.ino == before.ino;
    return same ? status{} : change(r);
  }

  const save_request& q_;
  scope_space project_, workspace_;
  unique_fd project_fd_, workspace_fd_;
  std::vector<output_row> rows_;
  std::vector<fs::stat_info> stats_;
  std::string buffer_;
  bool changed_ = false;
};

std::string store_trouble(const failure& f, const std::string& dir) {
  if (f.sys == ENOSPC || f.sys == EDQUOT) return "not cached: no space left in " + dir;
  return "not cached: " + f.message;
}

}  // namespace

save_result store::save(const save_request& request) { return impl_->save(request); }

save_result store::impl::save(const save_request& q) {
  if (mode != store_mode::read_write) return refused(outcome::store_error, "not cached: " + where.dir + " cannot be written");
  if (q.log.size() > k_log_limit) return refused(outcome::too_large, "not cached: the captured output is too large");
  packer pack(q);
  if (auto trouble = pack.plan()) return std::move(*trouble);

  temp_file temp(dir.get(), temp_name());
  auto fd = fs::open_at(dir.get(), temp.name(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, options.private_dir ? 0600 : 0666);
  if (!fd) {
    temp.keep();
    return refused(outcome::store_error, store_trouble(sys_failure(fd.error().sys, "cannot write in", where.dir), where.dir));
  }
  pack_request p;
  p.key = q.key;
  p.task_id = q.project + "#" + q.task;
  p.stats = q.stats;
  p.log = q.log;
  p.rows = &pack.rows();
  p.body = [&pack](std::size_t i, const std::function<status(std::string_view)>& put) { return pack.body(i, put); };
  codec_lease tools(*this);
  const auto bytes = pack_artifact(fd->get(), p, *tools);
  if (!bytes) {
    if (pack.changed()) return refused(outcome::output_changing, bytes.error().message);
    if (bytes.error().code == errc::REFUSED) return refused(outcome::too_large, "not cached: " + bytes.error().message);
    return refused(outcome::store_error, store_trouble(bytes.error(), where.dir));
  }
  artifact_expectations expect;
  expect.key = q.key;
  expect.scope = q.scope;
  const auto back = scan_artifact_fd(fd->get(), *bytes, expect, nullptr, &*tools);
  if (!back || !same_rows(back->rows, pack.rows()) || back->log != q.log) {
    return refused(outcome::store_error,
                   "not cached: the packed artifact does not read back" + (back ? std::string() : ": " + back.error().message));
  }
  fd->reset();

  pending_save pending;
  pending.request = &q;
  pending.temp = temp.name();
  pending.artifact_bytes = *bytes;
  pending.rows = &pack.rows();
  pending.output_bytes = back->output_bytes;
  pending.outputs_blob = encode_outputs(pack.rows());
  pending.inputs_blob = encode_components(q.components);
  commit(pending);
  if (!pending.landed) return refused(outcome::store_error, "not cached: " + pending.error);
  temp.keep();

  save_result out;
  out.artifact_bytes = *bytes;
  out.stamps = pack.stamps();
  if (*bytes > k_large_artifact) {
    out.reason = "the artifact has " + text::format_bytes(*bytes) + "; largest directories: " + largest_dirs(pack.rows());
  }
  out.outputs = std::move(pack.rows());
  return out;
}

}  // namespace vx::cache
