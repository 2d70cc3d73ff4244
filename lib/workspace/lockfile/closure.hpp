// `lockfile: "closure"` (keys.md 20): one digest a project of what the lockfile resolves for it, in place of the whole file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "workspace/lockfile/graph.hpp"

namespace vx::workspace::lockfile {

struct closure {
  std::map<std::string, digest128, std::less<>> importers;  ///< by directory
  digest128 others;                                         ///< of a project that is no importer
  std::string notice;                                       ///< why the whole file counts for everyone; "" = it does not
  std::vector<std::string> patches;                         ///< root-relative files whose bytes are in the digests

  const digest128& of(std::string_view dir) const {
    const auto found = importers.find(dir);
    return found == importers.end() ? others : found->second;
  }
};

/// The bytes of root-relative files, from the disk or from a commit; nullopt: not there.
using read_files_fn = std::function<result<std::vector<std::optional<std::string>>>(const std::vector<std::string>& paths)>;

/// Which of the files that are there is claimed, by the `packageManager` of the root package.json ("" = it says nothing); "" =
/// none.
std::string_view claimed(std::string_view package_manager, const std::function<bool(std::string_view)>& there);
/// The manager that a package.json's text names.
std::string package_manager_of(std::string_view manifest);

/// Fails only when a patch file can't be read; what is not understood makes the whole file count.
result<closure> digest_lockfile(std::string_view file, std::string_view text, const std::vector<member>& members,
                                const read_files_fn& read);

/// The members for the format that needs them: every directory's package.json. Empty for the others.
result<std::vector<member>> members_for(std::string_view file, std::string_view text, const std::vector<std::string>& dirs,
                                        const read_files_fn& read);

/// Whether two closures mean the same for a project in `dir`.
inline bool same_for(std::string_view dir, const closure& a, const closure& b) { return a.of(dir) == b.of(dir); }

}  // namespace vx::workspace::lockfile
