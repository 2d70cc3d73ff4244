// The hardened reader: decompression under a running count, the dialect guard, libarchive, then the rules of cache.md 4.2 and
// 10 on every member in turn. The whole artifact is refused when any member is bad, even the last.
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <unistd.h>

#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "cache/artifact.hpp"
#include "cache/artifact_sum.hpp"
#include "cache/row_blobs.hpp"
#include "cache/scope_space.hpp"
#include "cache/tar_guard.hpp"
#include "cache/tar_source.hpp"

namespace vx::cache {
namespace {

tl::unexpected<failure> bad(std::string why) { return fail(errc::CORRUPT, std::move(why)); }

struct free_archive {
  void operator()(::archive* a) const noexcept { archive_read_free(a); }
};

/// Names already accepted: order, parents, declaration.
class name_rules {
 public:
  explicit name_rules(const output_scope* scope) {
    if (scope == nullptr) return;
    project_.emplace(*scope, space::project);
    workspace_.emplace(*scope, space::workspace);
  }

  status accept(const output_row& r, const std::vector<output_row>& before, const output_scope* scope) {
    if (const char* why = bad_output_path(r.path)) return bad("member name: " + std::string(why));
    if (!before.empty() && !row_before(before.back(), r)) return bad("members out of order");
    VX_TRY(parents(r, before));
    const scope_space* s = scope == nullptr ? nullptr : r.space == space::project ? &*project_ : &*workspace_;
    if (s != nullptr && !s->owns(r.path) && !mutated("any-member")) return bad("a member that is no declared output");
    if (r.kind == 'l') {
      const std::string link = s != nullptr ? s->from_root(r.path) : r.path;
      // Without a declaration the project's depth is unknown: only what is bad at any depth is refused.
      if (s != nullptr || r.target.empty() || r.target.front() == '/') {
        if (const char* why = bad_link_target(link, r.target)) return bad("a link target " + std::string(why));
      }
    }
    return {};
  }

 private:
  /// No ancestor may be a file or a link. Rows are sorted, so an ancestor has been seen already.
  status parents(const output_row& r, const std::vector<output_row>& before) {
    const std::string_view parent = path::parent(r.path);
    if (parent.empty() || (have_parent_ && parent == last_parent_ && r.space == last_space_)) return {};
    output_row probe;
    probe.space = r.space;
    for (std::string_view dir = parent; !dir.empty(); dir = path::parent(dir)) {
      probe.path = dir;
      const auto at = std::lower_bound(before.begin(), before.end(), probe, row_before);
      if (at != before.end() && at->space == r.space && at->path == dir && at->kind != 'd')
        return bad("a member below a file or link");
    }
    last_parent_ = parent;
    last_space_ = r.space;
    have_parent_ = true;
    return {};
  }

  std::optional<scope_space> project_, workspace_;
  std::string last_parent_;
  space last_space_ = space::project;
  bool have_parent_ = false;
};

class reader {
 public:
  reader(tar_source& source, const artifact_expectations& expect, member_sink* sink)
      : source_(source), expect_(expect), sink_(sink), guard_(expect.tar_limit), names_(expect.scope) {}

  result<artifact_contents> run() {
    VX_TRY(open());
    VX_TRY_LET(std::string text, fixed(k_member_entry, k_entry_json_limit));
    VX_TRY_LET(artifact_contents out, parse_entry_document(text, expect_.key));
    VX_TRY_LET(out.log, fixed(k_member_log, k_log_limit));
    while (true) {
      VX_TRY_LET(const bool more, next());
      if (!more) return bad("the sum is missing");
      if (name() == k_member_sum) break;
      VX_TRY(output(out));
    }
    const std::string sum = sum_.hex();
    VX_TRY_LET(text, read_fixed(32, false));
    if (text != sum && !mutated("no-sum")) return bad("the sum does not match");
    VX_TRY_LET(const bool more, next());
    if (more) return bad("a member after the sum");
    VX_TRY(drain());
    return out;
  }

 private:
  status open() {
    a_.reset(archive_read_new());
    if (!a_) return fail(errc::NO_MEMORY, "no memory to read an archive");
    archive_read_support_format_tar(a_.get());
    // Names are raw bytes: the guard lets no name through that is to be converted.
    archive_read_set_format_option(a_.get(), "tar", "mac-ext", nullptr);
    archive_read_set_read_callback(a_.get(), &reader::read_callback);
    archive_read_set_callback_data(a_.get(), this);
    return archive_read_open1(a_.get()) == ARCHIVE_OK ? status{} : trouble();
  }

  static la_ssize_t read_callback(::archive*, void* self_ptr, const void** out) {
    auto* self = static_cast<reader*>(self_ptr);
    auto chunk = self->pull();
    if (!chunk) {
      self->failed_ = fail(std::move(chunk).error());
      return -1;
    }
    *out = chunk->data();
    return static_cast<la_ssize_t>(chunk->size());
  }

  /// The next tar bytes, already past the guard; empty at the end.
  result<std::string_view> pull() {
    VX_TRY_LET(std::string_view chunk, source_.next());
    if (!chunk.empty()) VX_TRY(guard_.feed(chunk));
    return chunk;
  }

  tl::unexpected<failure> trouble() {
    if (!failed_) return tl::unexpected<failure>(failed_.error());
    const char* text = archive_error_string(a_.get());
    return bad(std::string("bad tar: ") + (text != nullptr ? text : "unreadable"));
  }

  result<bool> next() {
    const int rc = archive_read_next_header(a_.get(), &e_);
    if (rc == ARCHIVE_EOF) return false;
    if (rc != ARCHIVE_OK) return trouble();
    const char* raw = archive_entry_pathname(e_);
    if (raw == nullptr) return bad("a member without a name");
    name_ = raw;
    return true;
  }
  std::string_view name() const noexcept { return name_; }

  result<std::string> fixed(std::string_view want, std::uint64_t cap) {
    VX_TRY_LET(const bool more, next());
    if (!more || name() != want) return bad(std::string(want) + " is missing");
    return read_fixed(cap, true);
  }

  result<std::string> read_fixed(std::uint64_t cap, bool summed) {
    if (archive_entry_filetype(e_) != AE_IFREG || archive_entry_hardlink(e_) != nullptr ||
        archive_entry_mode(e_) % 010000 != 0644 || archive_entry_mtime(e_) != 0 || archive_entry_mtime_nsec(e_) != 0) {
      return bad(std::string(name()) + " is not as it should be");
    }
    VX_TRY_LET(const std::uint64_t size, declared_size());
    if (size > cap) return bad(std::string(name()) + " is too large");
    if (summed) sum_.member(name(), 'f', 0644, {}, size);
    std::string out;
    VX_TRY(body(size, summed, [&](std::string_view bytes) {
      out.append(bytes);
      return status{};
    }));
    return out;
  }

  result<std::uint64_t> declared_size() {
    if (archive_entry_size_is_set(e_) == 0 || archive_entry_size(e_) < 0) return bad("a member without a size");
    return static_cast<std::uint64_t>(archive_entry_size(e_));
  }

  template <class F>
  status body(std::uint64_t size, bool summed, F&& put) {
    if (archive_entry_sparse_count(e_) > 0) return bad("a sparse member");
    std::uint64_t have = 0;
    while (true) {
      const void* data = nullptr;
      std::size_t n = 0;
      la_int64_t offset = 0;
      const int rc = archive_read_data_block(a_.get(), &data, &n, &offset);
      if (rc == ARCHIVE_EOF) break;
      if (rc != ARCHIVE_OK) return trouble();
      if (offset < 0 || static_cast<std::uint64_t>(offset) != have || n > size - have)
        return bad("a member's content is not in one piece");
      have += n;
      const std::string_view bytes{static_cast<const char*>(data), n};
      if (summed) sum_.body(bytes);
      VX_TRY(put(bytes));
    }
    if (have != size) return bad("a member's content runs past the end");
    return {};
  }

  result<output_row> member_row() {
    output_row r;
    std::string_view n = name();
    if (n.starts_with(k_prefix_project)) {
      n.remove_prefix(k_prefix_project.size());
    } else if (n.starts_with(k_prefix_workspace)) {
      n.remove_prefix(k_prefix_workspace.size());
      r.space = space::workspace;
    } else {
      return bad("a member in no known place");
    }
    const auto type = archive_entry_filetype(e_);
    r.kind = type == AE_IFREG ? 'f' : type == AE_IFLNK ? 'l' : type == AE_IFDIR ? 'd' : 'x';
    if (r.kind == 'x' || archive_entry_hardlink(e_) != nullptr) return bad("a member that is no file, link or directory");
    if (r.kind == 'd' && n.ends_with('/')) n.remove_suffix(1);
    r.path = n;
    const auto mode = archive_entry_mode(e_) % 010000;
    if (mode > 0777) return bad("a mode beyond the permission bits");
    r.mode = static_cast<std::uint16_t>(mode);
    const long ns = archive_entry_mtime_nsec(e_);
    if (ns < 0 || ns > 999'999'999) return bad("a time that is none");
    r.mtime = {archive_entry_mtime(e_), static_cast<std::uint32_t>(ns)};
    if (r.kind != 'f' && (r.mtime != fs::timestamp{} || (r.kind == 'l' && r.mode != 0777)))
      return bad("a link or directory with attributes");
    if (r.kind == 'l') {
      const char* target = archive_entry_symlink(e_);
      r.target = target != nullptr ? target : "";
    }
    return r;
  }

  status output(artifact_contents& out) {
    VX_TRY_LET(output_row r, member_row());
    if (r.kind == 'f') {
      VX_TRY_LET(r.size, declared_size());
      if (r.size > expect_.tar_limit) return bad("a member larger than an archive");
    }
    VX_TRY(names_.accept(r, out.rows, expect_.scope));
    std::string_view full = name();
    if (r.kind == 'd' && full.ends_with('/')) full.remove_suffix(1);
    sum_.member(full, r.kind, r.mode, r.target, r.size);
    if (sink_ != nullptr) VX_TRY(sink_->begin(r));
    VX_TRY(body(r.size, true,
                [&](std::string_view bytes) { return sink_ != nullptr && r.kind == 'f' ? sink_->data(bytes) : status{}; }));
    if (sink_ != nullptr) VX_TRY(sink_->end());
    out.output_bytes += r.size;
    out.rows.push_back(std::move(r));
    return {};
  }

  /// Whatever libarchive did not ask for must not exist, and the frame must end with the file.
  status drain() {
    while (true) {
      VX_TRY_LET(const std::string_view chunk, pull());
      if (chunk.empty()) break;
    }
    return guard_.finish();
  }

  tar_source& source_;
  const artifact_expectations& expect_;
  member_sink* sink_;
  tar_guard guard_;
  name_rules names_;
  artifact_sum sum_;
  status failed_;
  std::string name_;
  std::unique_ptr<::archive, free_archive> a_;
  ::archive_entry* e_ = nullptr;
};

bool declares_small_size(std::string_view frame, std::uint64_t& size) {
  const unsigned long long n = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (n == ZSTD_CONTENTSIZE_ERROR || n == ZSTD_CONTENTSIZE_UNKNOWN || n > k_one_call_limit) return false;
  size = n;
  return true;
}

/// Content in one call: the frame's own blocks, walked without decoding, must reach exactly the end of the bytes.
result<artifact_contents> scan_one_call(std::string_view bytes, std::uint64_t size, const artifact_expectations& expect,
                                        member_sink* sink, codec::impl& t) {
  const std::size_t walked = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
  if (ZSTD_isError(walked) != 0) return bad("a damaged zstd frame");
  if (walked != bytes.size()) return bad("data after the zstd frame");
  ZSTD_DCtx* d = t.decompressor();
  if (d == nullptr) return fail(errc::NO_MEMORY, "no memory to decompress");
  t.tar.resize(static_cast<std::size_t>(size));
  const std::size_t n = ZSTD_decompressDCtx(d, t.tar.data(), t.tar.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(n) != 0 || n != size) return bad("a damaged zstd frame");
  memory_source source(t.tar);
  return reader(source, expect, sink).run();
}

}  // namespace

result<artifact_contents> scan_artifact(std::string_view bytes, const artifact_expectations& expect, member_sink* sink,
                                        codec* tools) {
  codec own;
  codec::impl& t = (tools != nullptr ? *tools : own).get();
  VX_TRY(check_frame_header(bytes));
  std::uint64_t size = 0;
  if (declares_small_size(bytes, size)) return scan_one_call(bytes, size, expect, sink, t);
  ZSTD_DCtx* d = t.decompressor();
  if (d == nullptr) return fail(errc::NO_MEMORY, "no memory to decompress");
  view_bytes in(bytes);
  frame_source source(in, d, expect.tar_limit);
  return reader(source, expect, sink).run();
}

result<artifact_contents> scan_artifact_fd(int fd, std::uint64_t size, const artifact_expectations& expect, member_sink* sink,
                                           codec* tools) {
  codec own;
  codec::impl& t = (tools != nullptr ? *tools : own).get();
  if (size > k_body_limit) return bad("larger than any artifact");
  if (size <= k_one_call_limit) {
    t.body.resize(static_cast<std::size_t>(size));
    VX_TRY(read_exactly(fd, t.body.data(), t.body.size()));
    VX_TRY(check_frame_header(t.body));
    std::uint64_t content = 0;
    if (declares_small_size(t.body, content)) return scan_one_call(t.body, content, expect, sink, t);
  }
  ZSTD_DCtx* d = t.decompressor();
  if (d == nullptr) return fail(errc::NO_MEMORY, "no memory to decompress");
  file_bytes in(fd, size);
  frame_source source(in, d, expect.tar_limit);
  return reader(source, expect, sink).run();
}

}  // namespace vx::cache
