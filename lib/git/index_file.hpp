// The index of a work tree as records: read from the file where its form is known, else from `git ls-files` (keys.md 8).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.hpp"
#include "base/result.hpp"
#include "git/arena.hpp"
#include "git/git.hpp"

namespace vx::git {

inline constexpr std::uint32_t k_mode_file = 0100644, k_mode_executable = 0100755, k_mode_link = 0120000,
                               k_mode_gitlink = 0160000;

/// One record. Stamps and sizes are 32 bits wide, as the index holds them.
struct index_entry {
  std::string_view path;      ///< relative to the asked directory
  const char* oid = nullptr;  ///< 20 or 32 raw bytes
  std::uint32_t mode = 0;
  std::uint32_t ctime_sec = 0, ctime_ns = 0, mtime_sec = 0, mtime_ns = 0, ino = 0, size = 0;
  std::uint8_t stage = 0;
  bool assume_valid = false, skip_worktree = false, intent_to_add = false;
};

struct index_snapshot {
  std::vector<index_entry> entries;  ///< below the asked directory, in index order (bytewise by path, then stage)
  /// `.gitattributes` in the index in directories that enclose the asked one; relative to the work tree.
  std::vector<std::string> enclosing_attributes;
  /// The bytes that decide every record: the file's, or those of the listing.
  std::string_view content;
  fs::stat_info file;  ///< of the index file; kind::none: there is none yet
  std::uint8_t oid_size = 20;
  bool direct = false;                       ///< read from the file
  std::shared_ptr<const std::string> bytes;  ///< owns content
  std::shared_ptr<arena> texts;              ///< owns what is not part of content
};

/// Parses index bytes. nullopt: a form only git should read (split index, sparse directories, an unknown mandatory extension,
/// damage).
std::optional<index_snapshot> parse_index(std::shared_ptr<const std::string> bytes, std::string_view prefix, bool sha256);

/// The file, one descriptor, one snapshot. nullopt as above.
result<std::optional<index_snapshot>> read_index_file(const repository& repo);
/// `git ls-files -s -v -z --debug` in the asked directory.
result<index_snapshot> list_index(const program& git, const repository& repo, const cancel_token* cancel = nullptr);
/// The file if its form is known, else git.
result<index_snapshot> read_index(const program& git, const repository& repo, const cancel_token* cancel = nullptr);

/// Sizes of blobs git holds locally, in the order asked; nullopt: missing, or no blob.
result<std::vector<std::optional<std::uint64_t>>> blob_sizes(const program& git, const std::string& dir,
                                                             const std::vector<std::string_view>& raw_oids,
                                                             const cancel_token* cancel = nullptr);

}  // namespace vx::git
