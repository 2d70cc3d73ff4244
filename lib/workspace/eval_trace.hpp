// What a config evaluation consulted, and whether all of it still holds (config.md 5.4). A stored evaluation is served only
// when every fact does; anything unclear is an evaluation. Internal to workspace/.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/environment.hpp"
#include "base/fs.hpp"

namespace vx::workspace {

struct fact {
  enum class kind : std::uint8_t {
    file,    ///< bytes of a file: size, mtime, ctime, inode; `value` = raw SHA-1 of its git blob, or empty when stamps alone
             ///< decide
    absent,  ///< nothing is there
    exists,  ///< something of the kind in `mode` is there
    stat,    ///< size, mtime, permission bits and kind (mode = kind << 16 or bits) as read; `ino` non-zero: links were followed
    link,    ///< a symbolic link with the target in `value`
    dir,     ///< a directory; `value` = names and kinds, sorted
    env,     ///< a variable; `value` = salted digest, or empty: unset
    env_all,  ///< every variable; `value` = salted digest of the block
  };
  fact::kind what = kind::file;
  std::string path;  ///< root-relative inside the root, absolute elsewhere; the name of a variable
  std::uint64_t size = 0, ino = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  std::uint32_t mode = 0;
  std::string value;
};

struct trace {
  digest128 host;                    ///< what besides files and variables decides an evaluation
  std::array<std::byte, 16> salt{};  ///< of the digests of this row
  std::vector<fact> facts;
};

inline constexpr std::size_t k_max_facts = 4096;

std::string encode_trace(const trace& t);

/// Digest of a variable's value under a row's salt.
std::string env_digest(const std::array<std::byte, 16>& salt, std::string_view name, std::string_view value);
std::string env_block_digest(const std::array<std::byte, 16>& salt, const environment& env);
/// Names and kinds of a directory as facts compare them.
std::string dir_text(std::vector<fs::dir_entry> entries);

/// Checks traces against the tree and the environment. One instance a batch: answers about paths are remembered within it.
class fact_checker {
 public:
  fact_checker(int root_fd, const environment& env) : root_(root_fd), env_(env) {}

  enum class verdict : std::uint8_t {
    stale,  ///< evaluate
    holds,
    moved,  ///< holds by content, stamps have moved: `refreshed()` is the row's new trace
  };
  verdict check(std::string_view raw, const digest128& host);
  std::string refreshed() noexcept { return std::move(refreshed_); }

 private:
  struct known {
    fs::stat_info follow, self;
    bool have_follow = false, have_self = false, failed = false;
  };
  const fs::stat_info* stat_of(std::string_view path, bool follow);
  bool holds(const fact& f, const std::array<std::byte, 16>& salt);
  bool file_holds(const fact& f, std::size_t stamps_at);
  bool same_content(const fact& f);
  int root_;
  const environment& env_;
  std::unordered_map<std::string, known, text_hash, std::equal_to<>> seen_;
  std::unordered_map<std::string, std::string, text_hash, std::equal_to<>> blobs_;  ///< path -> raw id read in this batch
  std::string refreshed_;
};

}  // namespace vx::workspace
