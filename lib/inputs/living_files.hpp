// The table of files over the life of a run: facts die when something may have changed them, and the next reader lists again
// (keys.md 16). Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "inputs/ignore_query.hpp"
#include "inputs/listing.hpp"
#include "inputs/region.hpp"
#include "inputs/table.hpp"

namespace vx::inputs {

using nested_dirs = std::shared_ptr<const std::vector<std::string>>;

class living_files {
 public:
  living_files(const tree_context& tree, pool& bytes) : tree_(tree), bytes_(bytes), ignores_(tree) {}

  void publish(start_listing& start);

  /// The table as it must be believed for a project. An ignored project directory, or one inside a nested repository of its
  /// own, has a table of its own.
  result<table_ptr> of_project(const std::string& dir);
  result<table_ptr> of_workspace();
  table_ptr as_it_is() const;

  void forget_paths(const std::vector<std::string>& paths);
  void forget_region(std::string dir, nested_dirs nested);

  result<std::vector<bool>> ignored(const std::vector<std::string>& paths);
  result<bool> ignored_dir(const std::string& dir);
  /// Identity facts of files outside the table (ignored manifests).
  slot* outside(const std::string& path);

 private:
  struct region {
    std::string dir;
    nested_dirs nested;
    bool covers(std::string_view path) const;
  };
  struct dead_facts {
    std::vector<region> regions;
    std::vector<std::string> paths;
  };
  /// What replaces what in the next table.
  struct changes {
    std::vector<region> regions;
    std::map<std::string, const file*, std::less<>> puts;  // sorted; null: removed
    bool empty() const noexcept { return regions.empty() && puts.empty(); }
  };

  result<table_ptr> fresh(const std::string* scope);
  dead_facts take_dead(const std::string* scope);
  void give_back(dead_facts&& dead);
  void revived(table_ptr next);
  result<void> revive_regions(const dead_facts& dead, changes& todo);
  result<void> revive_paths(const table& now, const dead_facts& dead, changes& todo);
  void put(changes& todo, const std::string& path, bool tracked);
  void remove(changes& todo, const file& f);
  table_ptr apply(const table& now, const changes& todo);
  result<table_ptr> project_apart(const std::string& dir);

  const tree_context& tree_;
  pool& bytes_;

  mutable std::mutex mutex_;  // guards what follows; held briefly
  table_ptr table_;
  std::vector<region> dead_regions_;
  std::set<std::string, std::less<>> dead_paths_;
  std::map<std::string, table_ptr, std::less<>> apart_;  // null: looked at, an ordinary project without files
  std::map<std::string, slot*, std::less<>> outside_;
  std::uint64_t deaths_ = 0;           // how often anything died
  std::atomic<bool> any_dead_{false};  // stays set while a refresh is under way

  std::mutex refresh_mutex_;  // one refresh at a time; guards what follows
  ignore_query ignores_;
  std::set<std::string, std::less<>> absent_;  // tracked and not on disk
  std::vector<std::string> nested_;
  std::deque<file> made_;  // files of puts, until applied
};

}  // namespace vx::inputs
