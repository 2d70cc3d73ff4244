// From a root to its list of projects (config.md 2.2 to 2.6).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "workspace/config_loader.hpp"
#include "workspace/manifest.hpp"
#include "workspace/root_files.hpp"
#include "workspace/workspace.hpp"

namespace vx::workspace {

struct discovery_input {
  const std::string& root;
  int root_fd;
  const root_files& files;
  const workspace_config& settings;
  config_loader& configs;  ///< configs of projects without a package name are loaded for their name
  manifest_store& manifests;
  const std::string& package_manager;
};

struct discovered {
  std::vector<project> projects;        ///< sorted by name
  std::vector<stamps> manifest_stamps;  ///< by project; zero without a manifest
  std::vector<std::string> notices;
};

result<discovered> discover(const discovery_input& in);

}  // namespace vx::workspace
