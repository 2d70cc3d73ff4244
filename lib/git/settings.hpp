// What vx needs of git's merged configuration, and where attributes may come from (keys.md 8, 10).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "git/git.hpp"

namespace vx::git {

/// One variable: section and name lower-cased, the subsection as written; no value means a bare name.
struct config_variable {
  std::string section, subsection, name;
  std::optional<std::string> value;
};
/// Parses a git config file without following includes. False: not plain syntax.
bool parse_config(std::string_view text, const std::function<void(const config_variable&)>& each);
/// git's reading of a boolean; nullopt: none.
std::optional<bool> config_bool(const std::optional<std::string>& value);

struct settings {
  bool converts_all = false;  ///< core.autocrlf true or input, attributes from a tree: no index id may be trusted
  bool file_mode = true;
  std::vector<std::string> attribute_files;  ///< global and system attribute files, absolute; they need not exist
  std::optional<std::string> ignore_file;    ///< core.excludesFile or its default, absolute, "" = none; nullopt: only git knows
  std::string source;                        ///< bytes that differ whenever the configuration does
};
/// Reads the config files when they are plain and git's system paths are known, else `git var -l`.
result<settings> read_settings(const program& git, const repository& repo);
/// By `git var -l` alone; read_settings() must agree with it.
result<settings> ask_settings(const program& git, const repository& repo);

/// The directories of the work tree above the asked one, outermost first: rules in them reach it. Absolute; none at the top.
std::vector<std::string> enclosing_dirs(const repository& repo);

/// Attribute sources that exist outside the tree below the asked directory: enclosing directories' `.gitattributes` on disk,
/// info/attributes, the global and the system file. Absolute paths.
std::vector<std::string> outside_attribute_sources(const repository& repo, const settings& set);

/// Which of the paths carry text, crlf, eol, ident, filter or working-tree-encoding in any state but unset or unspecified.
result<std::vector<bool>> attribute_carriers(const program& git, const std::string& dir,
                                             const std::vector<std::string_view>& paths, const cancel_token* cancel = nullptr);

}  // namespace vx::git
