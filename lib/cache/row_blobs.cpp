#include "cache/row_blobs.hpp"

#include <zstd.h>

#include <algorithm>

#include "base/path.hpp"
#include "cache/limits.hpp"
#include "key/digest.hpp"

namespace vx::cache {
namespace {

constexpr std::uint8_t k_version = 1;
constexpr std::size_t k_compress_over = 4096;
constexpr std::size_t k_components_cap = std::size_t{4} << 20;

std::string close_blob(byte_writer& w) {
  const std::uint64_t digest = key::xxh3_64(w.str());
  w.u64(digest);
  return w.take();
}

tl::unexpected<failure> damaged(const char* what) {
  return fail(errc::CORRUPT, std::string("the ") + what + " row is damaged");
}

/// The body between version byte and digest, or false. `count` is bounded by what the bytes could hold.
bool open_blob(std::string_view blob, std::size_t min_row, byte_reader& body, std::uint32_t& count) {
  if (blob.size() < 1 + 4 + 8) return false;
  const std::string_view covered = blob.substr(0, blob.size() - 8);
  byte_reader tail(blob.substr(blob.size() - 8));
  if (tail.u64() != key::xxh3_64(covered)) return false;
  body = byte_reader(covered);
  if (body.u8() != k_version) return false;
  count = body.u32();
  return body.ok() && count <= body.remaining() / min_row;
}

bool component_before(const key::component& a, const key::component& b) {
  return a.kind != b.kind ? a.kind < b.kind : a.name < b.name;
}

std::string components_body(const std::vector<key::component>& rows) {
  byte_writer w;
  std::size_t bytes = 16;
  for (const key::component& c : rows) bytes += 6 + c.name.size() + c.digest.size();
  w.reserve(bytes);
  w.u8(k_version);
  w.u32(static_cast<std::uint32_t>(rows.size()));
  for (const key::component& c : rows) {
    w.u8(static_cast<std::uint8_t>(c.kind));
    w.text32(c.name);
    const std::string_view digest = std::string_view(c.digest).substr(0, 255);
    w.u8(static_cast<std::uint8_t>(digest.size()));
    w.raw(digest);
  }
  return close_blob(w);
}

/// All file rows folded into one, so that a task with a million inputs does not bloat its entry.
void collapse_files(std::vector<key::component>& rows) {
  key::xxh3_stream sum;
  std::uint64_t files = 0;
  for (const key::component& c : rows) {
    if (c.kind != key::component_kind::file) continue;
    byte_writer w;
    w.text32(c.name);
    w.text32(c.digest);
    sum.update(w.str());
    ++files;
  }
  std::erase_if(rows, [](const key::component& c) { return c.kind == key::component_kind::file; });
  rows.push_back({key::component_kind::file, "(" + std::to_string(files) + " files)", sum.finish().hex()});
}

result<std::string> inflate(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > k_components_cap) return damaged("inputs");
  std::string out(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) != 0 || got != out.size()) return damaged("inputs");
  return out;
}

}  // namespace

bool row_before(const output_row& a, const output_row& b) noexcept {
  return a.space != b.space ? a.space < b.space : a.path < b.path;
}

bool same_row(const output_row& a, const output_row& b) noexcept {
  return a.space == b.space && a.kind == b.kind && a.mode == b.mode && a.mtime == b.mtime && a.size == b.size &&
         a.path == b.path && a.target == b.target;
}

bool same_rows(const std::vector<output_row>& a, const std::vector<output_row>& b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_row);
}

std::string encode_outputs(const std::vector<output_row>& rows) {
  byte_writer w;
  std::size_t bytes = 16;
  for (const output_row& r : rows) bytes += 32 + r.path.size() + r.target.size();
  w.reserve(bytes);
  w.u8(k_version);
  w.u32(static_cast<std::uint32_t>(rows.size()));
  for (const output_row& r : rows) {
    w.u8(static_cast<std::uint8_t>(r.space));
    w.u8(static_cast<std::uint8_t>(r.kind));
    w.u16(r.mode);
    w.i64(r.mtime.sec);
    w.u32(r.mtime.ns);
    w.u64(r.size);
    w.text32(r.path);
    w.text32(r.target);
  }
  return close_blob(w);
}

result<std::vector<output_row>> decode_outputs(std::string_view blob) {
  byte_reader in{""};
  std::uint32_t count = 0;
  if (!open_blob(blob, 32, in, count)) return damaged("outputs");
  std::vector<output_row> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    output_row& r = rows[i];
    const std::uint8_t space = in.u8();
    r.kind = static_cast<char>(in.u8());
    r.mode = in.u16();
    r.mtime.sec = in.i64();
    r.mtime.ns = in.u32();
    r.size = in.u64();
    r.path = in.text32();
    r.target = in.text32();
    if (!in.ok() || space > 1 || (r.kind != 'f' && r.kind != 'l' && r.kind != 'd') || r.mode > 0777) return damaged("outputs");
    r.space = static_cast<cache::space>(space);
    if (r.mtime.ns > 999'999'999 || r.path.size() > k_path_limit || !is_rel_path(r.path)) return damaged("outputs");
    if (i > 0 && !row_before(rows[i - 1], r)) return damaged("outputs");
  }
  if (!in.at_end()) return damaged("outputs");
  return rows;
}

std::string encode_stamps(const std::vector<output_stamp>& stamps) {
  byte_writer w;
  w.reserve(16 + 16 * stamps.size());
  w.u8(k_version);
  w.u32(static_cast<std::uint32_t>(stamps.size()));
  for (const output_stamp& s : stamps) {
    w.u64(s.ino);
    w.i64(s.ctime_ns);
  }
  return close_blob(w);
}

result<std::vector<output_stamp>> decode_stamps(std::string_view blob) {
  byte_reader in{""};
  std::uint32_t count = 0;
  if (!open_blob(blob, 16, in, count)) return damaged("stamps");
  std::vector<output_stamp> out(count);
  for (output_stamp& s : out) {
    s.ino = in.u64();
    s.ctime_ns = in.i64();
  }
  if (!in.ok() || !in.at_end()) return damaged("stamps");
  return out;
}

std::string encode_dirs(const std::vector<dir_row>& rows) {
  byte_writer w;
  w.u8(k_version);
  w.u32(static_cast<std::uint32_t>(rows.size()));
  for (const dir_row& r : rows) {
    w.u8(static_cast<std::uint8_t>(r.state));
    w.u8(static_cast<std::uint8_t>(r.space));
    w.u64(r.ino);
    w.i64(r.mtime_ns);
    w.i64(r.ctime_ns);
    w.text32(r.path);
  }
  return close_blob(w);
}

result<std::vector<dir_row>> decode_dirs(std::string_view blob) {
  byte_reader in{""};
  std::uint32_t count = 0;
  if (!open_blob(blob, 30, in, count)) return damaged("directories");
  std::vector<dir_row> rows(count);
  for (dir_row& r : rows) {
    const std::uint8_t state = in.u8(), space = in.u8();
    r.ino = in.u64();
    r.mtime_ns = in.i64();
    r.ctime_ns = in.i64();
    r.path = in.text32();
    if (!in.ok() || state > 2 || space > 1 || !is_rel_path(r.path)) return damaged("directories");
    r.state = static_cast<dir_state>(state);
    r.space = static_cast<cache::space>(space);
  }
  if (!in.at_end()) return damaged("directories");
  return rows;
}

std::string encode_components(std::vector<key::component> rows) {
  std::sort(rows.begin(), rows.end(), component_before);
  std::string raw = components_body(rows);
  if (raw.size() > k_components_cap) {
    collapse_files(rows);
    std::sort(rows.begin(), rows.end(), component_before);
    raw = components_body(rows);
  }
  if (raw.size() <= k_compress_over || raw.size() > k_components_cap) return raw;
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t n = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 1);
  if (ZSTD_isError(n) != 0) return raw;
  out.resize(n);
  return out;
}

result<std::vector<key::component>> decode_components(std::string_view blob) {
  std::string raw;
  // A raw blob begins with its version byte, a frame with zstd's magic number: never confused.
  if (blob.size() > 4 && blob.substr(0, 4) == std::string_view("\x28\xb5\x2f\xfd", 4)) {
    VX_TRY_LET(raw, inflate(blob));
    blob = raw;
  }
  byte_reader in{""};
  std::uint32_t count = 0;
  if (!open_blob(blob, 6, in, count)) return damaged("inputs");
  std::vector<key::component> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    key::component& c = rows[i];
    c.kind = static_cast<key::component_kind>(in.u8());
    c.name = in.text32();
    c.digest = in.raw(in.u8());
    if (!in.ok() || c.kind < key::component_kind::format || c.kind > key::component_kind::file) return damaged("inputs");
    if (i > 0 && component_before(c, rows[i - 1])) return damaged("inputs");
  }
  if (!in.at_end()) return damaged("inputs");
  return rows;
}

std::string encode_unsaved_inputs(const digest128& salt, std::vector<key::component> rows) {
  return std::string(salt.view()) + encode_components(std::move(rows));
}

std::vector<key::component> decode_unsaved_inputs(const digest128& salt, std::string_view blob) {
  if (!blob.starts_with(salt.view())) return {};
  auto rows = decode_components(blob.substr(salt.view().size()));
  return rows ? std::move(*rows) : std::vector<key::component>();
}

}  // namespace vx::cache
