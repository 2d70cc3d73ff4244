// What vx reads of pnpm-workspace.yaml: the member list and the catalogs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace vx::workspace {

/// catalog name -> package name -> spec. The unnamed catalog is "default".
using catalog_map = std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

struct pnpm_file {
  std::vector<std::string> packages;  ///< empty: the file decides nothing about members
  catalog_map catalogs;
  bool catalogs_readable = true;  ///< false: a catalog is there in a shape that is not understood
};

/// `file` names the document in messages. Refuses what does not parse and what is no mapping; an empty document is an empty
/// mapping.
result<pnpm_file> parse_pnpm_yaml(std::string_view text, std::string_view file);

}  // namespace vx::workspace
