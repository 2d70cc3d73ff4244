// What a key is made of (keys.md 2, 3). fold() alone knows; the digest and the explanation are two sinks of it.
// Schema history:  vx-key-1  first form.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "key/digest.hpp"

namespace vx::key {

inline constexpr std::string_view k_schema = "vx-key-1";

enum class tag : std::uint16_t {
  schema = 0x0001,
  task = 0x0002,
  platform = 0x0003,
  portable = 0x0004,
  workspace = 0x0005,
  manifest = 0x0006,
  no_manifest = 0x0007,
  config = 0x0008,
  forward = 0x8009,
  argument = 0x000a,
  env = 0x800b,
  env_name = 0x000c,
  env_value = 0x000d,
  env_unset = 0x000e,
  runtime = 0x800f,
  probe_command = 0x0010,
  probe_stdout = 0x0011,
  probe_stderr = 0x0012,
  ws_runtime = 0x8013,
  upstream = 0x8014,
  upstream_key = 0x0015,
  host = 0x8016,
  host_name = 0x0017,
  host_value = 0x0018,
  inputs = 0x8019,
  input_path = 0x001a,
  input_identity = 0x001b,
  input_absent = 0x001c,
  fp_list = 0x8020,
  fp_name = 0x0021,
  fp_bytes = 0x0022,
  rollup_list = 0x8023,
  rollup_task = 0x0024,
  scope = 0x0025,
};

/// Receives the walk. `list` announces `count` elements; `item` carries bytes.
class fold_sink {
 public:
  virtual ~fold_sink() = default;
  virtual void list(tag t, std::uint32_t count) = 0;
  virtual void item(tag t, std::string_view value) = 0;
};

/// XXH3-128 over item(tag, bytes) = u16 tag, u32 length, bytes; list = u16 tag, u32 count. Little-endian.
class digest_sink final : public fold_sink {
 public:
  void list(tag t, std::uint32_t count) override;
  void item(tag t, std::string_view value) override;
  digest128 finish() const noexcept;  ///< the end: nothing may be added after it
  std::uint64_t bytes() const noexcept { return bytes_; }
  bool ok() const noexcept { return !too_long_; }  ///< false: an item had 4 GiB or more, the digest means nothing

 private:
  void head(tag t, std::uint32_t n) noexcept;
  void put(const void* data, std::size_t n) noexcept;
  std::array<char, 4096> buffer_;  // most keys fit and are hashed in one piece
  mutable std::size_t used_ = 0;
  bool streaming_ = false;  // the buffer has overflowed into the stream
  bool too_long_ = false;
  mutable xxh3_stream stream_;
  std::uint64_t bytes_ = 0;
};

struct env_item {
  std::string name;
  std::optional<std::string> value;  ///< nullopt: unset
};
struct probe_item {
  std::string command, out, err;  ///< out and err trimmed of ASCII white space
};
struct host_item {
  std::string name, value;
};
/// A selected input. The identity is the ASCII text of the blob id with its mode prefix ("100755:", "120000:"); empty = absent.
struct input_item {
  std::string_view path;
  std::string_view identity;
};

/// Everything a task's key folds. Views are borrowed for the call. fold() sorts and removes duplicates of env, runtime,
/// upstream, host; `inputs` must be sorted by path and unique already (they are large).
struct task_material {
  std::string_view task_id;
  std::string_view platform;  ///< "<os>-<arch>"; ignored when portable
  bool portable = false;
  digest128 workspace;
  std::optional<std::string> manifest;  ///< identity text; nullopt: no manifest
  digest128 config;
  std::span<const std::string> forward;
  std::vector<env_item> env;
  std::vector<probe_item> runtime, ws_runtime;
  std::vector<digest128> upstream;
  std::vector<host_item> host;
  std::span<const input_item> inputs;
};

/// The walk. The order and framing are keys.md 2.
void fold(const task_material& m, fold_sink& out);
digest128 task_key(const task_material& m);

/// "vx-fp-1" over (name, bytes) in the caller's order.
digest128 fold_fingerprint(std::span<const std::pair<std::string, std::string>> files);
/// "vx-rollup-1" over (task id, key), sorted by id here.
digest128 fold_rollup(std::vector<std::pair<std::string, digest128>> tasks);
/// "vx-scope-1" over scope and key.
digest128 fold_scope(std::string_view scope, const digest128& k);

/// keys.md 7: what a component is.
enum class component_kind : std::uint8_t {
  format = 1,
  platform,
  workspace,
  package,
  config,
  forward,
  env,
  runtime,
  ws_runtime,
  upstream,
  host,
  file,
};
std::string_view component_kind_name(component_kind k) noexcept;  ///< "format" ... "ws-runtime" ... "file"

struct component {
  component_kind kind;
  std::string name;    ///< file path, variable, command, upstream task id, ...
  std::string digest;  ///< identity text, key hex, digest hex; salted digest hex for value-bearing kinds; "unset"
};

/// Records components at the same fold sites. `upstream_names` maps each upstream key (as given to fold) to its task id.
class explain_sink final : public fold_sink {
 public:
  explain_sink(digest128 salt, std::vector<std::pair<digest128, std::string>> upstream_names);
  ~explain_sink() override;
  void list(tag t, std::uint32_t count) override;
  void item(tag t, std::string_view value) override;
  std::vector<component> take();  ///< sorted by (kind, name)

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// "linux-x64", "darwin-arm64" ...: what this vx was built for.
std::string_view host_platform() noexcept;

}  // namespace vx::key
