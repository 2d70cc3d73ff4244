// Tasks that add to the outputs of a dependency (cache.md 11): what they placed in this checkout, and what a run of theirs
// adds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/outputs.hpp"
#include "run/state.hpp"

namespace vx::run {

/// With the run lock held, before anything is looked up: tells the scopes who adds to whom, and which rows of a dependant are
/// in place.
void prepare_additive(run_state& s);

/// One additive task at work.
class additive_task {
 public:
  additive_task(run_state& s, std::uint32_t node) : s_(s), node_(node) {}

  bool is() const { return !s_.judged.adds_to[node_].empty(); }
  /// Whether the rows in place are those of this key.
  bool placed(const digest128& key) const;
  /// Removes what an earlier state of the task left and `keep` does not name. Facts about it die.
  status clean(const std::vector<cache::output_row>& keep);
  void record(const digest128& key, const std::vector<cache::output_row>& rows, const std::vector<cache::output_stamp>& stamps);

  /// Right before the first attempt: what lies there. False in `certain`: a change could hide behind an equal stamp.
  struct found {
    cache::stamped_outputs outputs;
    bool certain = true;
  };
  result<found> look() const;

 private:
  std::string name() const;
  run_state& s_;
  std::uint32_t node_;
};

}  // namespace vx::run
