#include "cache/tar_source.hpp"

#include <errno.h>
#include <unistd.h>

#include <algorithm>

#include "base/fs.hpp"

namespace vx::cache {
namespace {

constexpr std::size_t k_chunk = 128 * 1024;

tl::unexpected<failure> bad(const char* why) { return fail(errc::CORRUPT, why); }

result<std::size_t> read_some(int fd, char* to, std::size_t n, std::uint64_t at) {
  if (const int e = fs::fault("read", "artifact")) return fail_sys(e, "cannot read", "an artifact");
  while (true) {
    const ssize_t got = ::pread(fd, to, n, static_cast<off_t>(at));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_sys(errno, "cannot read", "an artifact");
  }
}

}  // namespace

status read_exactly(int fd, char* to, std::size_t n) {
  std::size_t have = 0;
  while (have < n) {
    VX_TRY_LET(const std::size_t got, read_some(fd, to + have, n - have, have));
    if (got == 0) return bad("the artifact is shorter than it was");
    have += got;
  }
  return {};
}

result<std::string_view> file_bytes::next() {
  if (at_ == size_) return std::string_view{};
  buffer_.resize(k_chunk);
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(k_chunk, size_ - at_));
  VX_TRY_LET(const std::size_t got, read_some(fd_, buffer_.data(), want, at_));
  if (got == 0) return bad("the artifact is shorter than it was");
  at_ += got;
  return std::string_view(buffer_.data(), got);
}

status check_frame_header(std::string_view bytes) {
  if (bytes.size() < 9 || bytes.substr(0, 4) != std::string_view("\x28\xb5\x2f\xfd", 4)) return bad("not a zstd frame");
  const auto descriptor = static_cast<unsigned char>(bytes[4]);
  if ((descriptor & 0x04) == 0) return bad("a zstd frame without a checksum");
  if ((descriptor & 0x03) != 0) return bad("a zstd frame with a dictionary");
  if ((descriptor & 0x08) != 0) return bad("a zstd frame of an unknown kind");
  return {};
}

result<std::string_view> frame_source::next() {
  if (out_.empty()) out_.resize(k_chunk);
  while (true) {
    if (pending_.empty()) {
      VX_TRY_LET(pending_, in_.next());
      if (!started_) VX_TRY(check_frame_header(pending_));
      started_ = true;
      if (frame_done_)
        return pending_.empty() ? result<std::string_view>(std::string_view{}) : bad("data after the zstd frame");
      if (pending_.empty()) return bad("the zstd frame is cut off");
    }
    if (frame_done_) return bad("data after the zstd frame");
    ZSTD_inBuffer in{pending_.data(), pending_.size(), 0};
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t left = ZSTD_decompressStream(d_, &out, &in);
    if (ZSTD_isError(left) != 0) return bad("a damaged zstd frame");
    frame_done_ = left == 0;
    pending_.remove_prefix(in.pos);
    total_ += out.pos;
    if (total_ > limit_) return fail(errc::CORRUPT, "the archive is larger than " + std::to_string(limit_) + " bytes");
    if (out.pos > 0) return std::string_view(out_.data(), out.pos);
  }
}

}  // namespace vx::cache
