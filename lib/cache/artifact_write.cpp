// Packing. Small tars are built in memory and compressed in one call, so that the frame declares its size; larger ones stream.
#include <archive.h>
#include <archive_entry.h>

#include "base/fs.hpp"
#include "cache/artifact.hpp"
#include "cache/artifact_sum.hpp"
#include "cache/codec.hpp"

namespace vx::cache {
namespace {

/// Where tar bytes go.
class tar_output {
 public:
  virtual ~tar_output() = default;
  virtual status put(std::string_view bytes) = 0;
};

class memory_output final : public tar_output {
 public:
  explicit memory_output(std::string& to) : to_(to) { to_.clear(); }
  status put(std::string_view bytes) override {
    to_.append(bytes);
    return {};
  }

 private:
  std::string& to_;
};

class stream_output final : public tar_output {
 public:
  stream_output(int fd, ZSTD_CCtx* c, std::string& buffer) : fd_(fd), c_(c), buffer_(buffer) {
    buffer_.resize(ZSTD_CStreamOutSize());
  }
  status put(std::string_view bytes) override { return push(bytes, ZSTD_e_continue); }
  status close() { return push({}, ZSTD_e_end); }
  std::uint64_t written() const noexcept { return written_; }

 private:
  status push(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(c_, &out, &in, how);
      if (ZSTD_isError(left) != 0) return fail(errc::INTERNAL, std::string("zstd: ") + ZSTD_getErrorName(left));
      VX_TRY(fs::write_all(fd_, {buffer_.data(), out.pos}));
      written_ += out.pos;
      if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }
  int fd_;
  ZSTD_CCtx* c_;
  std::string& buffer_;
  std::uint64_t written_ = 0;
};

struct free_archive {
  void operator()(::archive* a) const noexcept { archive_write_free(a); }
};
struct free_entry {
  void operator()(::archive_entry* e) const noexcept { archive_entry_free(e); }
};

/// A pax writer that keeps the sum beside it.
class tar_writer {
 public:
  explicit tar_writer(tar_output& out) : out_(out) {}

  status open() {
    a_.reset(archive_write_new());
    e_.reset(archive_entry_new());
    if (!a_ || !e_) return fail(errc::NO_MEMORY, "no memory for an archive");
    archive_write_set_format_pax(a_.get());
    if (archive_write_set_format_option(a_.get(), "pax", "hdrcharset", "BINARY") != ARCHIVE_OK) return trouble();
    archive_write_set_bytes_per_block(a_.get(), 0);
    if (archive_write_open2(a_.get(), this, nullptr, &tar_writer::write_callback, nullptr, nullptr) != ARCHIVE_OK)
      return trouble();
    return {};
  }

  /// A fixed member: mode 0644, mtime 0.
  status fixed(std::string_view name, std::string_view content) {
    output_row r;
    r.path = name;
    r.size = content.size();
    VX_TRY(begin(r, r.path));
    return body(content);
  }

  status begin(const output_row& r, const std::string& name) {
    archive_entry_clear(e_.get());
    archive_entry_set_pathname(e_.get(), name.c_str());
    archive_entry_set_filetype(e_.get(), r.kind == 'f' ? AE_IFREG : r.kind == 'l' ? AE_IFLNK : AE_IFDIR);
    archive_entry_set_perm(e_.get(), r.mode);
    archive_entry_set_size(e_.get(), static_cast<la_int64_t>(r.size));
    archive_entry_set_mtime(e_.get(), r.mtime.sec, static_cast<long>(r.mtime.ns));
    if (r.kind == 'l') archive_entry_set_symlink(e_.get(), r.target.c_str());
    sum_.member(name, r.kind, r.mode, r.target, r.size);
    // A warning would mean that something could not be represented: there is no lossy middle.
    if (archive_write_header(a_.get(), e_.get()) != ARCHIVE_OK) return trouble();
    left_ = r.size;
    return {};
  }

  status body(std::string_view bytes) {
    if (bytes.size() > left_) return fail(errc::INTERNAL, "a member longer than announced");
    left_ -= bytes.size();
    sum_.body(bytes);
    while (!bytes.empty()) {
      const la_ssize_t n = archive_write_data(a_.get(), bytes.data(), bytes.size());
      if (n <= 0) return trouble();
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }
  bool complete() const noexcept { return left_ == 0; }

  status close() {
    VX_TRY(fixed(k_member_sum, sum_.hex()));
    if (archive_write_close(a_.get()) != ARCHIVE_OK) return trouble();
    return {};
  }

 private:
  static la_ssize_t write_callback(::archive*, void* self_ptr, const void* data, std::size_t n) {
    auto* self = static_cast<tar_writer*>(self_ptr);
    self->total_ += n;
    status s = self->total_ > k_tar_limit ? status(fail(errc::REFUSED, "the outputs are larger than 2 GiB"))
                                          : self->out_.put({static_cast<const char*>(data), n});
    if (s) return static_cast<la_ssize_t>(n);
    if (self->failed_) self->failed_ = std::move(s);
    return -1;
  }
  tl::unexpected<failure> trouble() {
    if (!failed_) return tl::unexpected<failure>(failed_.error());
    const char* text = a_ ? archive_error_string(a_.get()) : nullptr;
    return fail(errc::INTERNAL, std::string("libarchive: ") + (text != nullptr ? text : "unknown error"));
  }

  tar_output& out_;
  std::unique_ptr<::archive_entry, free_entry> e_;
  artifact_sum sum_;
  status failed_;
  std::uint64_t left_ = 0, total_ = 0;
  std::unique_ptr<::archive, free_archive> a_;  // last: closing it may still write
};

status write_members(tar_writer& w, const pack_request& q) {
  VX_TRY(w.open());
  VX_TRY(w.fixed(k_member_entry, entry_document(q.key, q.task_id, q.stats)));
  VX_TRY(w.fixed(k_member_log, q.log));
  std::string name;
  for (std::size_t i = 0; i < q.rows->size(); ++i) {
    const output_row& r = (*q.rows)[i];
    name = r.space == space::project ? k_prefix_project : k_prefix_workspace;
    name += r.path;
    VX_TRY(w.begin(r, name));
    if (r.kind != 'f') continue;
    VX_TRY(q.body(i, [&w](std::string_view bytes) { return w.body(bytes); }));
    if (!w.complete()) return fail(errc::INTERNAL, "a member shorter than announced");
  }
  return w.close();
}

/// An upper estimate of the tar's size: every member may carry an extended header.
std::uint64_t estimate(const pack_request& q) {
  std::uint64_t n = 16384 + q.log.size();
  for (const output_row& r : *q.rows) n += 3072 + r.size + 2 * (r.path.size() + r.target.size());
  return n;
}

}  // namespace

result<std::uint64_t> pack_artifact(int fd, const pack_request& q, codec& tools) {
  codec::impl& t = tools.get();
  ZSTD_CCtx* c = t.compressor();
  if (c == nullptr) return fail(errc::NO_MEMORY, "no memory to compress");
  if (estimate(q) > k_one_call_limit) {
    stream_output out(fd, c, t.body);
    tar_writer w(out);
    VX_TRY(write_members(w, q));
    VX_TRY(out.close());
    return out.written();
  }
  memory_output out(t.tar);
  tar_writer w(out);
  VX_TRY(write_members(w, q));
  t.body.resize(ZSTD_compressBound(t.tar.size()));
  const std::size_t n = ZSTD_compress2(c, t.body.data(), t.body.size(), t.tar.data(), t.tar.size());
  if (ZSTD_isError(n) != 0) return fail(errc::INTERNAL, std::string("zstd: ") + ZSTD_getErrorName(n));
  VX_TRY(fs::write_all(fd, {t.body.data(), n}));
  return static_cast<std::uint64_t>(n);
}

}  // namespace vx::cache
