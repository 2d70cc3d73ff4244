// package.json files and what a directory holds, with their memos: a warm open lstats each one and parses nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fs.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "workspace/config_loader.hpp"

namespace vx::workspace {

/// The four stamps that let a memo stand for bytes. Never equal for a path that is no plain file or directory.
struct stamps {
  std::uint64_t size = 0, ino = 0;
  fs::timestamp mtime, ctime;
  friend bool operator==(const stamps&, const stamps&) = default;
  static stamps of(const fs::stat_info& st) noexcept { return {st.size, st.ino, st.mtime, st.ctime}; }
};

enum class dep_kind : std::uint8_t { plain, dev, optional, peer };
inline constexpr std::size_t k_dep_kinds = 4;

/// The four dependency maps of a manifest, as (key, spec).
using dep_maps = std::array<std::vector<std::pair<std::string, std::string>>, k_dep_kinds>;

/// What every open needs to know of a package.json.
struct manifest_head {
  bool exists = false;
  bool named = false;
  std::string name, version;
};

/// What every open needs to know of a candidate directory.
struct dir_facts {
  bool exists = false;              ///< a directory, links followed
  bool via_link = false;            ///< the last component is a link
  bool worktree_file = false;       ///< `.git` is a file: a submodule or a linked worktree
  std::string config;               ///< file name of the vx.config.* that is read, "" = none
  std::vector<std::string> unread;  ///< other spellings beside it
};

/// The failure of a system call on a workspace file, as discovery reports it: FS, or FDS when out of descriptors.
failure unreadable(failure f);

/// Parses a package.json. A byte-order mark is tolerated, of duplicate keys the last one counts, as package managers do.
result<json::value> parse_manifest(std::string_view text, std::string_view file);
/// The member of an object that counts: the last one of that name.
const json::value* last_member(const json::value& v, std::string_view name);
/// `name` and `version`; refuses a name that is no string, is empty, has surrounding white space or contains '#'.
result<manifest_head> manifest_head_of(const json::value& v, std::string_view file);
dep_maps manifest_deps_of(const json::value& v);

/// Reads and remembers. One per open; not thread-safe.
class manifest_store {
 public:
  manifest_store(std::string root, int root_fd, eval_memo* memo);
  ~manifest_store();

  /// Facts of many directories at once, in request order. A failure is a failed lstat of that directory or its package.json.
  struct answer {
    dir_facts facts;
    manifest_head head;
    stamps head_stamps;
    std::optional<failure> error;
    bool unsearchable = false;  ///< the error is that the directory may not be searched
  };
  std::vector<answer> look_up(const std::vector<std::string>& dirs);

  /// A directory with a manifest, and the stamps look_up() found it with.
  struct known {
    std::string dir;
    stamps at;
  };
  /// Their dependency maps; from the second memo, else parsed. `stable`: all of them may be remembered under those stamps.
  result<std::vector<dep_maps>> deps(const std::vector<known>& asked, bool& stable);

  /// A remembered value that is a function of what `key` digests; kept beside the rows.
  std::optional<std::string> graph(const digest128& key) const;
  void set_graph(const digest128& key, std::string value);

  /// Hands changed memos to the memo.
  void store();

  /// Number of manifests parsed so far (tests).
  std::size_t parsed() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::workspace
