#include "cache/layer.hpp"

#include <unistd.h>

#include <utility>

#include "base/fs.hpp"

namespace vx::cache {

void layer_list::add(std::string name, std::unique_ptr<layer> added) {
  auto e = std::make_shared<entry>();
  e->name = std::move(name);
  e->what = std::move(added);
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(e));
}

std::vector<std::shared_ptr<layer_list::entry>> layer_list::snapshot() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

void layer_list::blame(entry& e, const char* doing, const failure& why, const notice_fn& notice) {
  if (!e.blamed.exchange(true)) notice("cache: layer " + e.name + ": " + doing + " failed: " + why.message);
}

bool layer_list::has(const digest128& key, const notice_fn& notice) const {
  for (const auto& e : snapshot()) {
    const result<bool> there = e->what->has(key);
    if (!there) blame(*e, "has", there.error(), notice);
    if (there && *there) return true;
  }
  return false;
}

bool layer_list::fetch_from(entry& e, store& into, const digest128& key, const std::string& project, const std::string& task,
                            const output_scope& scope, const notice_fn& notice) {
  const result<unique_fd> scratch = into.scratch_file();
  if (!scratch) {
    blame(e, "get", scratch.error(), notice);
    return false;
  }
  const result<bool> given = e.what->get(key, scratch->get());
  if (!given) blame(e, "get", given.error(), notice);
  if (!given || !*given) return false;
  ::lseek(scratch->get(), 0, SEEK_SET);
  const status taken = into.import_artifact(key, scratch->get(), project, task, scope);
  if (!taken) blame(e, "get", taken.error(), notice);
  return taken.has_value();
}

bool layer_list::fetch(store& into, const digest128& key, const std::string& project, const std::string& task,
                       const output_scope& scope, const notice_fn& notice) const {
  if (into.mode() != store_mode::read_write)
    return false;  // what came could not be kept, and a result is restored from the store only
  for (const auto& e : snapshot()) {
    if (fetch_from(*e, into, key, project, task, scope, notice)) return true;
  }
  return false;
}

void layer_list::put(store& from, const digest128& key, const notice_fn& notice) const {
  for (const auto& e : snapshot()) {
    const status done = [&]() -> status {
      VX_TRY_LET(const unique_fd copy, from.scratch_file());
      VX_TRY(from.export_artifact(key, copy.get()));
      VX_TRY_LET(const fs::stat_info info, fs::fstat_fd(copy.get()));
      ::lseek(copy.get(), 0, SEEK_SET);
      return e->what->put(key, copy.get(), info.size);
    }();
    if (!done) blame(*e, "put", done.error(), notice);
  }
}

}  // namespace vx::cache
