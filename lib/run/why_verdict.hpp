// Why a task ran, or did not, in one sentence (cli.md 15). Pure: it speaks from recorded facts, never from guesses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/index.hpp"
#include "key/diff.hpp"

namespace vx::run {

/// A task's row and the cache policy of its run.
struct told_run {
  cache::run_row row;
  std::optional<std::string> policy;  ///< letters; nullopt: no policy is recorded
};

struct why_facts {
  const told_run* now = nullptr;
  const told_run* before = nullptr;  ///< null: the first recorded run
  /// What moved since the compared run; null: the components of one side were not kept.
  const key::component_diff* diff = nullptr;
  /// Not empty: this run has the inputs of that older run again; the previous run saved nothing.
  std::string same_as;
};

std::string why_verdict(const why_facts& facts);

/// "file packages/a/x", "package.json", "task config": a component for a sentence.
std::string component_words(const key::component_change& c);

bool row_hit(const cache::run_row& row) noexcept;   ///< served from a cache
bool row_kept(const cache::run_row& row) noexcept;  ///< its key has, or had, an entry: saved or served

}  // namespace vx::run
