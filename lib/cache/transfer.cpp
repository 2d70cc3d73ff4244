// Artifacts leaving a store and coming in whole (cache.md 4, 10): the same bytes are the local file and the body of a copy.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "cache/limits.hpp"
#include "cache/row_blobs.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {
namespace {

constexpr std::size_t k_chunk = std::size_t{256} << 10;

/// Everything `from` still yields. CORRUPT: more than an artifact can have.
result<std::uint64_t> copy_all(int from, int to) {
  std::string buffer(k_chunk, '\0');
  for (std::uint64_t total = 0;;) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_sys(errno, "cannot read", "the artifact");
    if (n == 0) return total;
    total += static_cast<std::uint64_t>(n);
    if (total > k_body_limit) return fail(errc::CORRUPT, "the artifact is larger than an artifact can be");
    VX_TRY(fs::write_all(to, {buffer.data(), static_cast<std::size_t>(n)}));
  }
}

}  // namespace

status store::export_artifact(const digest128& key, int fd) {
  impl& m = *impl_;
  const std::string name = impl::artifact_name(key);
  if (!m.dir) return fail(errc::NOT_FOUND, "the store holds no artifact " + key.hex());
  auto from = fs::open_at(m.dir.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!from) {
    if (from.error().sys == ENOENT) return fail(errc::NOT_FOUND, "the store holds no artifact " + key.hex());
    return fail_sys(from.error().sys, "cannot read the cached artifact", path::join(m.where.dir, name));
  }
  VX_TRY(copy_all(from->get(), fd));
  return {};
}

result<unique_fd> store::scratch_file() {
  impl& m = *impl_;
  if (m.mode != store_mode::read_write) return fail(errc::IO, m.where.dir + " cannot be written");
  const temp_file unlinked(m.dir.get(), m.temp_name());
  return fs::open_at(m.dir.get(), unlinked.name(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

status store::import_artifact(const digest128& key, int fd, const std::string& project, const std::string& task,
                              const output_scope& scope) {
  impl& m = *impl_;
  if (m.mode != store_mode::read_write) return fail(errc::IO, m.where.dir + " cannot be written");
  temp_file temp(m.dir.get(), m.temp_name());
  VX_TRY_LET(const unique_fd to, fs::open_at(m.dir.get(), temp.name(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                                             m.options.private_dir ? 0600 : 0666));
  VX_TRY_LET(const std::uint64_t bytes, copy_all(fd, to.get()));
  impl::codec_lease tools(m);
  artifact_expectations expect;
  expect.key = key;
  expect.scope = &scope;
  VX_TRY_LET(const artifact_contents contents, scan_artifact_fd(to.get(), bytes, expect, nullptr, &*tools));

  save_request q;
  q.key = key;
  q.project = project;
  q.task = task;
  q.scope = &scope;
  q.log = contents.log;
  q.stats = contents.stats;
  pending_save pending;
  pending.request = &q;
  pending.temp = temp.name();
  pending.artifact_bytes = bytes;
  pending.rows = &contents.rows;
  pending.output_bytes = contents.output_bytes;
  pending.outputs_blob = encode_outputs(contents.rows);
  pending.inputs_blob = encode_components({});
  m.commit(pending);
  if (!pending.landed) return fail(errc::IO, pending.error);
  temp.keep();
  return {};
}

}  // namespace vx::cache
