#include "key/digest.hpp"

#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

namespace vx::key {

namespace {

digest128 canonical(XXH128_hash_t h) noexcept {
  XXH128_canonical_t c;
  XXH128_canonicalFromHash(&c, h);
  digest128 d;
  std::memcpy(d.raw.data(), c.digest, sizeof c.digest);
  return d;
}

const std::uint8_t* octets(std::string_view data) noexcept { return reinterpret_cast<const std::uint8_t*>(data.data()); }

/// The hash of one blob: the header first, then the content in pieces.
class blob_hash {
 public:
  blob_hash(object_format format, std::uint64_t size) noexcept : format_(format) {
    if (format_ == object_format::sha1)
      sha1_init(&sha1_);
    else
      sha256_init(&sha256_);
    char header[32] = "blob ";
    char* end = std::to_chars(header + 5, header + sizeof header - 1, size).ptr;
    *end++ = '\0';
    update({header, static_cast<std::size_t>(end - header)});
  }
  void update(std::string_view data) noexcept {
    if (format_ == object_format::sha1)
      sha1_update(&sha1_, data.size(), octets(data));
    else
      sha256_update(&sha256_, data.size(), octets(data));
  }
  oid finish() noexcept {
    oid id;
    auto* out = reinterpret_cast<std::uint8_t*>(id.raw.data());
    if (format_ == object_format::sha1) {
      id.size = SHA1_DIGEST_SIZE;
      sha1_digest(&sha1_, SHA1_DIGEST_SIZE, out);
    } else {
      id.size = SHA256_DIGEST_SIZE;
      sha256_digest(&sha256_, SHA256_DIGEST_SIZE, out);
    }
    return id;
  }

 private:
  object_format format_;
  union {
    sha1_ctx sha1_;
    sha256_ctx sha256_;
  };
};

/// Covers nearly every source file in one read; larger ones stream through it.
constexpr std::size_t k_chunk = 64 * 1024;

tl::unexpected<failure> other_length(std::uint64_t promised) {
  return fail(errc::CORRUPT, "the file changed while it was hashed: it no longer holds " + std::to_string(promised) + " bytes");
}

}  // namespace

digest128 xxh3_128(std::string_view data) noexcept { return canonical(XXH3_128bits(data.data(), data.size())); }

std::uint64_t xxh3_64(std::string_view data) noexcept { return XXH3_64bits(data.data(), data.size()); }

// The state is made on first use: most keys fit one buffer and are hashed in one go.
xxh3_stream::xxh3_stream() : state_(nullptr) {}

xxh3_stream::~xxh3_stream() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

void xxh3_stream::update(std::string_view data) noexcept {
  if (state_ == nullptr) {
    state_ = XXH3_createState();
    if (state_ == nullptr) std::abort();  // 576 bytes: as any failed allocation in a noexcept function
    XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
  }
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), data.data(), data.size());
}

digest128 xxh3_stream::finish() const noexcept {
  if (state_ == nullptr) return xxh3_128({});
  return canonical(XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_)));
}

void xxh3_stream::reset() noexcept {
  if (state_ != nullptr) XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

oid oid::from_raw(std::string_view bytes) noexcept {
  oid id;
  if (bytes.size() != SHA1_DIGEST_SIZE && bytes.size() != SHA256_DIGEST_SIZE) return id;
  id.size = static_cast<std::uint8_t>(bytes.size());
  std::memcpy(id.raw.data(), bytes.data(), bytes.size());
  return id;
}

bool oid::parse(std::string_view hex, oid& out) noexcept {
  if (hex.size() != 2 * SHA1_DIGEST_SIZE && hex.size() != 2 * SHA256_DIGEST_SIZE) return false;
  oid id;
  id.size = static_cast<std::uint8_t>(hex.size() / 2);
  if (!from_hex(hex, std::span(id.raw).first(id.size))) return false;
  out = id;
  return true;
}

oid git_blob_id(std::string_view content, object_format format) noexcept {
  blob_hash h(format, content.size());
  h.update(content);
  return h.finish();
}

result<oid> git_blob_id_fd(int fd, std::uint64_t size, object_format format) {
  blob_hash h(format, size);
  char buffer[k_chunk];
  std::uint64_t left = size;
  for (;;) {
    // One byte more than is left: a regular file that yields exactly what is left has ended, without another read to ask.
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(left, k_chunk - 1)) + 1;
    const ssize_t n = ::read(fd, buffer, want);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_sys(errno, "cannot read", "");
    const auto got = static_cast<std::uint64_t>(n);
    if (got > left) return other_length(size);
    h.update({buffer, static_cast<std::size_t>(n)});
    left -= got;
    if (left == 0 && static_cast<std::size_t>(n) < want) return h.finish();
    if (n == 0) return other_length(size);
  }
}

std::string sha256_hex(std::string_view data) {
  sha256_ctx ctx;
  sha256_init(&ctx);
  sha256_update(&ctx, data.size(), octets(data));
  std::array<std::byte, SHA256_DIGEST_SIZE> out;
  sha256_digest(&ctx, out.size(), reinterpret_cast<std::uint8_t*>(out.data()));
  return to_hex(out);
}

}  // namespace vx::key
