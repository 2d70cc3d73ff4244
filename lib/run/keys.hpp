// The keys of one run's tasks. Every path that needs a key comes here, so early, planned and lazy keys can't differ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "key/fold.hpp"
#include "run/prepare.hpp"
#include "run/probes.hpp"

namespace vx::run {

/// What became of a node's key.
struct node_key {
  enum class state : std::uint8_t {
    none,  ///< not derived yet
    known,
    error,    ///< an error at key time: `why` fails the task before its command
    upstream  ///< an upstream has no key: neither looked up nor saved
  } is = state::none;
  digest128 key;
  std::optional<failure> why;
  bool matched_nothing = false;  ///< a non-empty inputs declaration that selects nothing: said on each miss
  bool incomplete = false;       ///< an input kept changing while it was hashed: run, do not save
};

/// Thread rule: derive() of different nodes may run at once when all nodes they fold are settled.
class key_table {
 public:
  explicit key_table(prepared& p);

  const node_key& at(std::uint32_t node) const { return keys_[node]; }
  bool known(std::uint32_t node) const { return keys_[node].is == node_key::state::known; }
  /// Derives the key from the facts as they are now and remembers it. The keys of folded nodes must have been derived.
  const node_key& derive(std::uint32_t node);
  /// Derives again without remembering, from an already resolved selection: the check before a spawn.
  result<digest128> again(std::uint32_t node, const inputs::selected& files);
  /// The components of the key, for entry_inputs. Empty when these files no longer give it.
  std::vector<key::component> explain(std::uint32_t node, const inputs::selected& files, const digest128& salt);

  /// Back to "not derived": the key must be taken again when the task's turn comes.
  void forget(std::uint32_t node) { keys_[node] = node_key{}; }

  /// Nodes whose probes wait for their dependencies, by node (stability::late_probes).
  void set_late_probes(const std::vector<bool>& late) { late_probes_ = late; }
  /// Asks every probe of the given nodes beforehand, several at a time.
  void warm_probes(const std::vector<std::uint32_t>& nodes);

 private:
  result<void> fill(std::uint32_t node, const inputs::selected& files, key::task_material& m);
  node_key compute(std::uint32_t node);
  node_key rollup(std::uint32_t node) const;

  prepared& p_;
  probe_runner probes_;
  std::vector<bool> late_probes_;
  std::vector<node_key> keys_;
};

}  // namespace vx::run
