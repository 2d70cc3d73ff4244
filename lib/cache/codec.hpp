// The inside of `codec`: zstd contexts, kept because making them costs more than a small artifact.
#pragma once

#include <zstd.h>

#include <string>

#include "cache/artifact.hpp"

namespace vx::cache {

struct codec::impl {
  struct free_cctx {
    void operator()(ZSTD_CCtx* c) const noexcept { ZSTD_freeCCtx(c); }
  };
  struct free_dctx {
    void operator()(ZSTD_DCtx* c) const noexcept { ZSTD_freeDCtx(c); }
  };
  std::unique_ptr<ZSTD_CCtx, free_cctx> compress;
  std::unique_ptr<ZSTD_DCtx, free_dctx> decompress;
  std::string tar, body;  ///< buffers of the one-call path

  ZSTD_CCtx* compressor();    ///< level 1, checksum on, reset; null: no memory
  ZSTD_DCtx* decompressor();  ///< window log <= 27, reset; null: no memory
};

}  // namespace vx::cache
