#include "cache/codec.hpp"

namespace vx::cache {

codec::codec() = default;
codec::~codec() = default;
codec::codec(codec&&) noexcept = default;
codec& codec::operator=(codec&&) noexcept = default;

codec::impl& codec::get() {
  if (!impl_) impl_ = std::make_unique<impl>();
  return *impl_;
}

void codec::trim() noexcept {
  constexpr std::size_t k_keep = 512 * 1024;
  if (!impl_) return;
  for (std::string* s : {&impl_->tar, &impl_->body}) {
    if (s->capacity() > k_keep) std::string().swap(*s);
  }
}

ZSTD_CCtx* codec::impl::compressor() {
  if (!compress) compress.reset(ZSTD_createCCtx());
  if (!compress) return nullptr;
  ZSTD_CCtx_reset(compress.get(), ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(compress.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(compress.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(compress.get(), ZSTD_c_contentSizeFlag, 1);
  return compress.get();
}

ZSTD_DCtx* codec::impl::decompressor() {
  if (!decompress) decompress.reset(ZSTD_createDCtx());
  if (!decompress) return nullptr;
  ZSTD_DCtx_reset(decompress.get(), ZSTD_reset_session_and_parameters);
  ZSTD_DCtx_setParameter(decompress.get(), ZSTD_d_windowLogMax, 27);
  return decompress.get();
}

}  // namespace vx::cache
