// A key item by item, for tools whose work is no vx task. It collects what keys.md 2 folds and leaves the walk to fold(), so
// such keys have the framing, the canonical order and the explanation of a task's key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "key/fold.hpp"

namespace vx::key {

/// The walk of fold() under the name of another derivation.
void fold_as(std::string_view schema, const task_material& m, fold_sink& out);

class builder {
 public:
  /// `schema` names the tool's derivation and its version; `subject` what the key is of (a task id for vx).
  builder(std::string schema, std::string subject) : schema_(std::move(schema)), subject_(std::move(subject)) {}

  /// Kinds come in their numbers' order; within a kind any order, fold() sorts. What `name` and `value` mean by kind:
  ///   platform   -, text                          once; left out: the key is portable
  ///   workspace  a file's name, its bytes         order counts; all of them fold as one fingerprint
  ///   package    -, an identity; none: there is no manifest      once
  ///   config     -, text; its digest is folded    once
  ///   forward    -, an argument                   order counts
  ///   env        variable, value; none: unset
  ///   runtime, ws_runtime   command, output (white space at both ends is left out)
  ///   upstream   what it is the key of, 16 bytes
  ///   host       name, value                      a name may have several values
  ///   file       path, an identity; none: absent
  /// A second, different answer for one name is refused: a key holding the first alone would be another truth.
  status add(component_kind kind, std::string_view name, std::optional<std::string_view> value);

  /// The next `count` items are of `kind`: end_list() refuses any other number, so a lost item is an error and not another key.
  status begin_list(component_kind kind, std::uint32_t count);
  status end_list();

  /// The key. Nothing may be added after it; asking again gives the same.
  result<digest128> finish();
  bool finished() const noexcept { return key_.has_value(); }
  /// After finish(): what the key was made of, value-bearing kinds salted; sorted by (kind, name).
  std::vector<component> explain(const digest128& salt) const;
  const std::string& subject() const noexcept { return subject_; }
  /// Frees the material of a finished key that nobody will ask to explain.
  void drop_material();

 private:
  using pairs = std::vector<std::pair<std::string, std::string>>;
  status check_order(component_kind kind);
  status check_name(component_kind kind, std::string_view name) const;
  status put(component_kind kind, std::string_view name, std::optional<std::string_view> value);
  status settle();  ///< sorts the files and refuses names with two answers
  task_material material(std::vector<input_item>& inputs) const;

  std::string schema_, subject_;
  std::optional<std::string> platform_, manifest_;
  std::optional<digest128> config_;
  pairs root_files_;
  std::vector<std::string> forward_;
  std::vector<env_item> env_;
  std::vector<probe_item> runtime_, ws_runtime_;
  std::vector<std::pair<digest128, std::string>> upstream_;
  std::vector<host_item> host_;
  pairs files_;  ///< identity "": absent

  component_kind last_ = component_kind::format;
  std::optional<component_kind> list_;
  std::uint32_t list_left_ = 0;
  bool package_told_ = false;
  std::optional<digest128> key_;
};

}  // namespace vx::key
