// The artifact reader on any bytes, and on a well-formed container whose tar is the input: it must refuse or read, never
// crash, never hand the sink a name outside the project, and never grow beyond what it was allowed.
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/path.hpp"
#include "cache/artifact.hpp"

namespace {

namespace cache = vx::cache;

class counting_sink final : public cache::member_sink {
 public:
  vx::status begin(const cache::output_row& row) override {
    if (!vx::is_rel_path(row.path)) std::abort();
    return {};
  }
  vx::status data(std::string_view bytes) override {
    seen_ += bytes.size();
    if (seen_ > k_limit) std::abort();
    return {};
  }
  vx::status end() override { return {}; }

  static constexpr std::uint64_t k_limit = 8U << 20;

 private:
  std::uint64_t seen_ = 0;
};

void scan(std::string_view bytes) {
  cache::artifact_expectations expect;
  expect.tar_limit = counting_sink::k_limit;
  counting_sink sink;
  (void)cache::scan_artifact(bytes, expect, &sink);
}

std::string compressed(std::string_view raw) {
  static ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t n = ZSTD_compress2(context, out.data(), out.size(), raw.data(), raw.size());
  out.resize(ZSTD_isError(n) != 0U ? 0 : n);
  return out;
}

// Tar headers carry a sum that mutations break at once; mended, the reader looks at what they say.
std::string mended(std::string_view tar) {
  constexpr std::size_t k_block = 512, k_sum = 148, k_sum_size = 8, k_magic = 257;
  std::string out(tar);
  for (std::size_t at = 0; at + k_block <= out.size(); at += k_block) {
    if (out.compare(at + k_magic, 5, "ustar") != 0) continue;
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(at + k_sum), k_sum_size, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < k_block; ++i) sum += static_cast<unsigned char>(out[at + i]);
    std::snprintf(out.data() + at + k_sum, 7, "%06o", sum & 0777777U);  // and its NUL; the last byte stays a space
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  scan(bytes);
  // Mutations of a compressed stream rarely reach the tar reader: the input is also tried as the tar itself.
  scan(compressed(mended(bytes)));
  return 0;
}
