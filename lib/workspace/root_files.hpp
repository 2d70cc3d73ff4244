// What pnpm-workspace.yaml and package.json of a (possible) root say about members and catalogs (config.md 2.2).
#pragma once

#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "workspace/members.hpp"
#include "workspace/pnpm_yaml.hpp"

namespace vx::workspace {

struct root_files {
  bool has_pnpm = false;
  std::optional<json::value> manifest;  ///< the root package.json
  std::optional<member_list> members;   ///< the explicit list that decides; absent: none does
  catalog_map catalogs;                 ///< pnpm's, then those of the root package.json
};

/// `dir` is absolute. Absent files are fine. Refused: what does not parse or has the wrong shape, by file and field.
result<root_files> read_root_files(const std::string& dir);

/// pnpm, npm, yarn, bun, or "" without any manifest. Looks for lockfiles only when the files do not say.
std::string detect_package_manager(const std::string& dir, const root_files& files);

}  // namespace vx::workspace
