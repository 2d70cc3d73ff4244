// Further places where artifacts are, behind a store: asked after a miss, told of saves. Whatever a layer does wrong is a miss,
// and one line the first time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/store.hpp"
#include "key/digest.hpp"

namespace vx::cache {

/// Calls may come from several threads at once.
class layer {
 public:
  virtual ~layer() = default;
  virtual result<bool> has(const digest128& key) = 0;
  /// Writes the artifact to `fd`. False: there is none.
  virtual result<bool> get(const digest128& key, int fd) = 0;
  /// Takes `bytes` bytes from `fd`.
  virtual status put(const digest128& key, int fd, std::uint64_t bytes) = 0;
};

/// Layers in the order they were added. Thread-safe; no lock is held while one is asked.
class layer_list {
 public:
  void add(std::string name, std::unique_ptr<layer> added);
  bool has(const digest128& key, const notice_fn& notice) const;
  /// Takes in the artifact of the first layer that gives a good one: verified as any that comes from outside. False: none did.
  bool fetch(store& into, const digest128& key, const std::string& project, const std::string& task, const output_scope& scope,
             const notice_fn& notice) const;
  /// Hands the artifact, which the store has, to every layer.
  void put(store& from, const digest128& key, const notice_fn& notice) const;

 private:
  struct entry {
    std::string name;
    std::unique_ptr<layer> what;
    std::atomic<bool> blamed{false};
  };
  std::vector<std::shared_ptr<entry>> snapshot() const;
  static void blame(entry& e, const char* doing, const failure& why, const notice_fn& notice);
  static bool fetch_from(entry& e, store& into, const digest128& key, const std::string& project, const std::string& task,
                         const output_scope& scope, const notice_fn& notice);

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<entry>> entries_;
};

}  // namespace vx::cache
