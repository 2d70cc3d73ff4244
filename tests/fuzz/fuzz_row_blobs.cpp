// The blobs of the tables, as they are and closed by the digest they ought to have: a decoder refuses or reads, and what it
// read encodes to the same bytes and reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/path.hpp"
#include "cache/codec.hpp"
#include "cache/row_blobs.hpp"
#include "key/digest.hpp"

namespace {

namespace cache = vx::cache;

void must(bool holds) {
  if (!holds) std::abort();
}

void outputs(std::string_view blob) {
  const auto rows = cache::decode_outputs(blob);
  if (!rows) return;
  for (const cache::output_row& r : *rows) must(vx::is_rel_path(r.path));
  must(cache::encode_outputs(*rows) == blob);
}

void stamps(std::string_view blob) {
  const auto rows = cache::decode_stamps(blob);
  if (rows) must(cache::encode_stamps(*rows) == blob);
}

void dirs(std::string_view blob) {
  const auto rows = cache::decode_dirs(blob);
  if (!rows) return;
  for (const cache::dir_row& r : *rows) must(vx::is_rel_path(r.path));
  must(cache::encode_dirs(*rows) == blob);
}

void components(std::string_view blob) {
  const auto rows = cache::decode_components(blob);
  if (!rows) return;
  const std::string again = cache::encode_components(*rows);
  const auto back = cache::decode_components(again);
  must(back.has_value() && back->size() <= rows->size());
}

void log(std::string_view bytes) {
  const auto records = cache::decode_log(bytes);
  if (!records) return;
  const auto back = cache::decode_log(cache::encode_log(*records));
  must(back.has_value() && back->size() <= records->size());
}

void all(std::string_view blob) {
  outputs(blob);
  stamps(blob);
  dirs(blob);
  components(blob);
  log(blob);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  all(bytes);
  vx::byte_writer closed;  // a mutation breaks the digest at once; mended, the decoder looks at the rows
  closed.raw(bytes.size() < 8 ? bytes : bytes.substr(0, bytes.size() - 8));
  closed.u64(vx::key::xxh3_64(closed.str()));
  all(closed.str());
  return 0;
}
