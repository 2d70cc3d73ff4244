// Content identities: lstat, memo, hash (keys.md 12). Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/index.hpp"
#include "inputs/stamps.hpp"
#include "inputs/table.hpp"
#include "key/digest.hpp"

namespace vx::inputs {

class hasher {
 public:
  struct job {
    std::string_view path;  ///< root-relative
    slot* content;
  };
  /// Identity of a file as it is now, outside the table (truth checks).
  struct fresh {
    slot::state is = slot::state::absent;
    int error = 0;
    std::string identity;
    fs::stat_info info;
  };

  explicit hasher(int root_fd) : root_(root_fd), clock_(root_fd) {}
  void set_memo(cache::index* memo) noexcept { memo_.store(memo, std::memory_order_release); }
  void set_format(key::object_format format) noexcept { format_ = format; }

  /// Fills every slot that is still unknown.
  void resolve(std::vector<job> jobs);
  fresh look(std::string_view path) const;
  std::int64_t now_ns() const { return clock_.now_ns(); }
  /// Hands what was hashed since the last call to the memo.
  void flush();

 private:
  using memo_rows = std::vector<cache::file_memo>;
  void resolve_one(const job& j, const cache::file_memo* row, std::int64_t date_ns, memo_rows& learned);
  bool hash_file(std::string_view path, fs::stat_info& info, key::oid& id, fresh& out) const;
  memo_rows known_rows(const std::vector<job>& jobs) const;

  int root_;
  file_clock clock_;
  std::atomic<cache::index*> memo_{nullptr};
  key::object_format format_ = key::object_format::sha1;
  std::mutex mutex_;  // one resolution at a time; it is parallel inside
  std::mutex rows_mutex_;
  memo_rows learned_;
};

}  // namespace vx::inputs
