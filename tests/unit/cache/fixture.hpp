// A workspace with one project and a store beside it.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cache/index.hpp"
#include "cache/outputs.hpp"
#include "cache/store.hpp"
#include "support/temp_dir.hpp"

namespace vx::cache::test {

inline digest128 key_of(std::uint64_t n) {
  digest128 k;
  for (std::size_t i = 0; i < 8; ++i) k.raw[i] = k.raw[i + 8] = static_cast<std::byte>((n * 0x9e3779b97f4a7c15ULL) >> (8 * i));
  return k;
}

inline output_scope make_scope(const std::string& root, const std::string& project, std::vector<std::string> files,
                               std::vector<std::string> workspace_files = {}, std::vector<std::string> nested = {}) {
  output_scope s;
  s.root = root;
  s.project_dir = project;
  s.files = files;
  s.workspace_files = workspace_files;
  if (!files.empty()) s.files_match = glob::matcher::compile(files).value();
  if (!workspace_files.empty()) s.workspace_match = glob::matcher::compile(workspace_files).value();
  if (!nested.empty()) s.nested = std::make_shared<const std::vector<std::string>>(nested);
  return s;
}

struct workspace {
  vx::test::temp_dir dir;
  std::vector<std::string> notices;

  workspace() { dir.mkdir("ws/p"); }
  std::string root() const { return dir / "ws"; }
  std::string project() const { return dir / "ws/p"; }
  std::string store_dir() const { return dir / "store"; }
  std::string stage() const { return root() + "/.vx/stage"; }

  output_scope scope(std::vector<std::string> files, std::vector<std::string> workspace_files = {},
                     std::vector<std::string> nested = {}) const {
    return make_scope(root(), "p", std::move(files), std::move(workspace_files), std::move(nested));
  }
  std::unique_ptr<store> open(bool create = true) {
    open_options o;
    o.create = create;
    o.private_dir = false;
    o.notice = [this](const std::string& line) { notices.push_back(line); };
    return store::open({store_dir(), store_source::flag}, o).value();
  }
  static save_request request(const output_scope& scope, const digest128& key, std::string log = {}) {
    save_request q;
    q.key = key;
    q.project = "p";
    q.task = "build";
    q.scope = &scope;
    q.log = std::move(log);
    q.stats.duration_ns = 5;
    return q;
  }
  /// `find` in the project: kind, mode, name; files with size and time, links with their text.
  std::string tree(const std::string& sub = ".") const {
    return dir.sh("cd ws/p && { find " + sub + " -type f -printf '%y %m %p %s %T@\\n'; find " + sub +
                  " ! -type f -printf '%y %m %p %l\\n'; } 2>/dev/null | LC_ALL=C sort");
  }
  std::size_t files_in_store() const { return std::stoul(dir.sh("ls -A store | grep -c 'tar.zst$' || true")); }
  std::size_t temporaries() const { return std::stoul(dir.sh("ls -A store | grep -c '^.tmp-' || true")); }
};

}  // namespace vx::cache::test
