// The artifact container (cache.md 4): one zstd frame around a pax tar with fixed members in a fixed order, closed by a sum.
// Nothing here trusts a byte it reads; see read order in README.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cache/entry.hpp"
#include "cache/limits.hpp"

namespace vx::cache {

/// Compression contexts and buffers worth keeping between artifacts. One thread at a time.
class codec {
 public:
  codec();
  ~codec();
  codec(codec&&) noexcept;
  codec& operator=(codec&&) noexcept;
  struct impl;
  impl& get();           ///< created at first use
  void trim() noexcept;  ///< gives back buffers that a large artifact left behind

 private:
  std::unique_ptr<impl> impl_;
};

struct artifact_expectations {
  digest128 key;
  const output_scope* scope = nullptr;  ///< null: names are checked for their shape only
  std::uint64_t tar_limit = k_tar_limit;
};

struct artifact_contents {
  std::string task;
  exec_stats stats;
  std::string log;  ///< encoded records
  std::vector<output_row> rows;
  std::uint64_t output_bytes = 0;
};

/// Receives output members while they are read: nothing is proven until the scan has returned a value.
class member_sink {
 public:
  virtual ~member_sink() = default;
  virtual status begin(const output_row& row) = 0;
  virtual status data(std::string_view bytes) = 0;  ///< files only
  virtual status end() = 0;
};

/// Reads and verifies a whole artifact. Failures: CORRUPT = the artifact is bad; another code = the system or the sink.
result<artifact_contents> scan_artifact(std::string_view bytes, const artifact_expectations& expect,
                                        member_sink* sink = nullptr, codec* tools = nullptr);
/// The same over a file; one that declares more than 4 MiB, or no size, is streamed.
result<artifact_contents> scan_artifact_fd(int fd, std::uint64_t size, const artifact_expectations& expect,
                                           member_sink* sink = nullptr, codec* tools = nullptr);

/// Supplies the bytes of row `i` to `put`, which may be called several times; together exactly row.size bytes.
using body_source = std::function<status(std::size_t i, const std::function<status(std::string_view)>& put)>;

struct pack_request {
  digest128 key;
  std::string task_id;  ///< "<project>#<task>"
  exec_stats stats;
  std::string_view log;
  const std::vector<output_row>* rows = nullptr;
  body_source body;
};
/// Writes an artifact to `fd` at its current offset. Returns the bytes written.
result<std::uint64_t> pack_artifact(int fd, const pack_request& request, codec& tools);

/// Canonical text of `.vx/entry.json`.
std::string entry_document(const digest128& key, const std::string& task_id, const exec_stats& stats);
/// Strict towards what it needs, blind to other members.
result<artifact_contents> parse_entry_document(std::string_view text, const digest128& key);

}  // namespace vx::cache
