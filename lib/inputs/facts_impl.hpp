// The state of one run's facts. Internal to lib/inputs.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "inputs/hasher.hpp"
#include "inputs/inputs.hpp"
#include "inputs/listing.hpp"
#include "inputs/living_files.hpp"
#include "inputs/table.hpp"

namespace vx::inputs {

struct facts::impl {
  explicit impl(const start_request& request);

  // Selection (select.cpp).
  struct picked {
    std::vector<const file*> files;  ///< sorted by path, each once
    table_ptr project, workspace;    ///< workspace: null when not asked
    bool nothing = false;            ///< `files` declares something and selects nothing
  };
  result<picked> pick(const selector& s);
  result<selected> describe_files(const picked& p);
  result<std::optional<std::string>> manifest(const std::string& project_dir);
  slot* manifest_slot(const std::string& project_dir, const table& t, const file** listed);

  // Truth checks (truth.cpp).
  struct truth_base;
  result<description> describe(const selector& s);
  result<description> describe_paths(std::vector<std::string> paths);
  std::optional<std::string> moved(const selector& s, const description& d, strictness how);
  std::int64_t after_last_write(const std::vector<const file*>& files, const std::string& manifest_path) const;

  std::string root;
  unique_fd root_fd;
  const environment* env;
  const cancel_token* cancel;
  std::shared_ptr<pool> bytes = std::make_shared<pool>();
  hasher hash;
  void tell_memo(cache::index* index) noexcept {
    memo.store(index, std::memory_order_release);
    memo_told = true;
    memo_told.notify_all();
  }

  std::atomic<cache::index*> memo;
  std::atomic<bool> memo_told{true};
  std::int64_t clock_offset_ns;  ///< wall minus monotonic at the start

  start_listing listing;
  tree_context tree;  ///< complete after wait()
  living_files living;
  std::optional<failure> open_failure;
  std::vector<std::string> notices;

  std::mutex wait_mutex;
  bool waited = false;
  std::optional<failure> wait_failure;

  // Matches of whole-workspace declarations, which many tasks share.
  struct shared_match {
    table_ptr of;
    std::shared_ptr<const std::vector<std::uint32_t>> files;
  };
  std::mutex match_mutex;
  std::map<std::string, shared_match> matches;

  mutable std::mutex sparse_mutex;
  std::vector<bool> sparse_hit;  ///< by position in listing.sparse_absent

  std::thread gatherer;  ///< last: it uses what stands above
};

}  // namespace vx::inputs
