// The blobs of the tables (cache.md 3.4): little-endian, versioned, counted, closed by an XXH3-64 of everything before it.
// Encoders take sorted rows; decoders refuse a wrong digest, a bound that is passed and a wrong order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cache/entry.hpp"
#include "key/fold.hpp"

namespace vx::cache {

bool row_before(const output_row& a, const output_row& b) noexcept;  ///< (space, path)
bool same_row(const output_row& a, const output_row& b) noexcept;
bool same_rows(const std::vector<output_row>& a, const std::vector<output_row>& b) noexcept;

std::string encode_outputs(const std::vector<output_row>& rows);
result<std::vector<output_row>> decode_outputs(std::string_view blob);

std::string encode_stamps(const std::vector<output_stamp>& stamps);
result<std::vector<output_stamp>> decode_stamps(std::string_view blob);

enum class dir_state : std::uint8_t { directory = 0, absent = 1, literal_file = 2 };
struct dir_row {
  dir_state state = dir_state::directory;
  cache::space space = cache::space::project;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  std::string path;
};
std::string encode_dirs(const std::vector<dir_row>& rows);
result<std::vector<dir_row>> decode_dirs(std::string_view blob);

/// Sorted by (kind, name) here; a zstd frame over 4 KiB; over 4 MiB the file rows collapse into one digest row.
std::string encode_components(std::vector<key::component> rows);
result<std::vector<key::component>> decode_components(std::string_view blob);

/// The components of a key whose result was not saved, for the history: with the salt of the store that their digests were made
/// with.
std::string encode_unsaved_inputs(const digest128& salt, std::vector<key::component> rows);
/// Empty: made with another salt, or damaged. Digests of two salts can't be compared.
std::vector<key::component> decode_unsaved_inputs(const digest128& salt, std::string_view blob);

}  // namespace vx::cache
