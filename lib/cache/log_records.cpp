// The captured log as bytes (cache.md 4.3).
#include "cache/entry.hpp"

namespace vx::cache {

std::string encode_log(const std::vector<log_record>& log) {
  byte_writer w;
  std::size_t bytes = 0;
  for (const log_record& r : log) bytes += 13 + r.bytes.size();
  w.reserve(bytes);
  for (std::size_t i = 0; i < log.size();) {
    if (log[i].stream == 0) {
      w.u8(0);
      w.u32(8);
      w.u64(log[i].dropped);
      ++i;
      continue;
    }
    // Neighbours of one stream are one record.
    std::size_t end = i, size = 0;
    while (end < log.size() && log[end].stream == log[i].stream) size += log[end++].bytes.size();
    if (size > 0) {
      w.u8(log[i].stream);
      w.u32(static_cast<std::uint32_t>(size));
      for (std::size_t k = i; k < end; ++k) w.raw(log[k].bytes);
    }
    i = end;
  }
  return w.take();
}

result<std::vector<log_record>> decode_log(std::string_view raw) {
  std::vector<log_record> out;
  byte_reader in(raw);
  while (!in.at_end()) {
    log_record r;
    r.stream = in.u8();
    const std::string_view body = in.text32();
    if (!in.ok() || r.stream > 2 || (r.stream == 0 && body.size() != 8))
      return fail(errc::CORRUPT, "the stored log is damaged");
    if (r.stream == 0) {
      r.dropped = byte_reader(body).u64();
    } else {
      r.bytes = body;
    }
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace vx::cache
