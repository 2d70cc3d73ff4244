// The artifact reader on any bytes, and on a well-formed container whose tar is the input: it must refuse or read, never
// crash, never hand the sink a name outside the project, and never grow beyond what it was allowed.
#include <zstd.h>

#include <cstdint>
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
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t n = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 1);
  out.resize(ZSTD_isError(n) != 0U ? 0 : n);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  scan(bytes);
  // Mutations of a compressed stream rarely reach the tar reader: the input is also tried as the tar itself.
  scan(compressed(bytes));
  return 0;
}
