// The inside of a store, shared by the files that implement it. store_open.cpp makes it, store_lookup.cpp asks it, save*.cpp
// fill it, restore.cpp reads back, retention.cpp and store_stats.cpp keep house.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/unique_fd.hpp"
#include "cache/artifact.hpp"
#include "cache/database.hpp"
#include "cache/store.hpp"

namespace vx::cache {

class stage_sink;

/// One packed artifact waiting for its rows.
struct pending_save {
  const save_request* request = nullptr;
  std::string temp;  ///< name in the store directory
  std::uint64_t artifact_bytes = 0;
  const std::vector<output_row>* rows = nullptr;
  std::uint64_t output_bytes = 0;
  std::string outputs_blob, inputs_blob;
  bool done = false, landed = false;
  std::string error;  ///< when it did not land
  // What the transaction did to the directory.
  std::string aside;  ///< the replaced artifact's temporary name
  bool placed = false;
};

struct store::impl {
  store_location where;
  open_options options;
  store_mode mode = store_mode::none;
  unique_fd dir;     ///< the store directory
  std::string host;  ///< in the names of temporaries
  digest128 salt{};

  std::mutex db_mutex;
  database db;
  std::uint64_t db_ino = 0;
  bool db_writable = false, db_damaged = false;
  std::atomic<std::uint64_t> rows_added{0};  ///< by this process

  /// What this process knows about the age of rows, so that a use can be judged without SQL.
  struct use_mark {
    std::int64_t id = 0, used_ns = 0, artifact_mtime_s = 0;  ///< as the row and the file have them
    std::int64_t touched_ns = 0;                             ///< the last use by this process
    void see(std::int64_t row, std::int64_t used, std::int64_t mtime_s) noexcept {
      id = row;
      used_ns = used;
      artifact_mtime_s = mtime_s;
    }
  };
  std::mutex marks_mutex;
  std::unordered_map<digest128, use_mark, digest128_hash> marks;

  std::mutex codecs_mutex;
  std::vector<std::unique_ptr<codec>> codecs;

  std::mutex queue_mutex;
  std::condition_variable queue_changed;
  std::deque<pending_save*> queue;
  bool queue_has_leader = false;

  struct stage {
    unique_fd dir;
    std::string parent, name;
  };
  std::mutex stages_mutex;
  std::map<std::string, std::shared_ptr<stage>> stages;  ///< by stage_dir
  std::atomic<std::uint64_t> stage_files{0};

  std::mutex notices_mutex;
  std::set<std::string> noticed;  ///< classes of trouble already told

  ~impl();

  // store_open.cpp
  void open();
  status make_directory();
  database_request db_request();
  void note(const std::string& trouble_class, const std::string& line);
  /// The connection for one use. A database found damaged by an earlier use is replaced first.
  std::unique_lock<std::mutex> use_db();
  /// A statement failed: damage is told from a passing trouble and remembered for the next use (statements are still alive
  /// here).
  void db_failed() noexcept { db_damaged = db_damaged || db.is_damage(); }
  std::string temp_name();
  static std::string artifact_name(const digest128& key);

  // store_lookup.cpp
  struct wanted {
    digest128 key;
    std::size_t at;
  };
  void select_rows(const std::vector<wanted>& sorted, bool outputs, std::vector<std::optional<lookup_result>>& out,
                   std::vector<digest128>& damaged);
  void check_files(const std::vector<digest128>& keys, bool outputs, std::vector<std::optional<lookup_result>>& out);
  void forget_lost(const std::vector<digest128>& keys, const std::vector<digest128>& damaged);
  void drop(const digest128& key);
  void mark_used(const digest128& key, std::int64_t id, std::int64_t used_ns, std::int64_t artifact_mtime_s);

  // save.cpp, save_commit.cpp
  save_result save(const save_request& request);
  void commit(pending_save& p);
  void commit_batch(const std::vector<pending_save*>& batch);
  bool place(pending_save& p);
  bool write_rows(pending_save& p, std::int64_t now);
  void undo(pending_save& p);

  // restore.cpp
  result<std::shared_ptr<stage>> stage_for(const std::string& stage_dir);
  std::optional<restore_result> open_artifact(const entry& e, unique_fd& out);
  std::optional<restore_result> stage_artifact(const lookup_result& hit, const output_scope& scope, int fd, stage_sink& sink);

  /// A codec for the duration of one artifact.
  class codec_lease {
   public:
    explicit codec_lease(impl& owner);
    ~codec_lease();
    codec_lease(const codec_lease&) = delete;
    codec_lease& operator=(const codec_lease&) = delete;
    codec& operator*() noexcept { return *c_; }
    codec* operator->() noexcept { return c_.get(); }

   private:
    impl& owner_;
    std::unique_ptr<codec> c_;
  };
};

/// The temporary lives until it is renamed away.
class temp_file {
 public:
  temp_file(int dir, std::string name) : dir_(dir), name_(std::move(name)) {}
  ~temp_file() {
    if (armed_) ::unlinkat(dir_, name_.c_str(), 0);
  }
  temp_file(const temp_file&) = delete;
  temp_file& operator=(const temp_file&) = delete;
  void keep() noexcept { armed_ = false; }
  const std::string& name() const noexcept { return name_; }

 private:
  int dir_;
  std::string name_;
  bool armed_ = true;
};

/// Columns of `entries` in the order read_entry() expects.
#define VX_CACHE_ENTRY_COLUMNS                                                                                               \
  "e.id, e.key, e.project, e.task, e.origin, e.artifact_bytes, e.output_bytes, e.output_count, e.log_bytes, e.duration_ns, " \
  "e.cpu_ns, e.rss_bytes, e.created_ns, e.used_ns"
inline constexpr int k_entry_columns = 14;
entry read_entry(const statement& s);

}  // namespace vx::cache
