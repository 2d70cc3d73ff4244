#include "run/why_verdict.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"

namespace vx::run {
namespace {

constexpr std::size_t k_named = 3;

/// Why a success was not saved (cache.md 6.5), after "it was not saved: ".
std::string_view withheld_words(std::string_view reason) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> k_words{{
      {"tainted", "it ran beside a failed task"},
      {"excluded-deps", "it ran without dependencies that its key counts"},
      {"unkeyed-upstream", "a dependency's result had no key that vouches for it"},
      {"key-moved", "its inputs changed before its command started"},
      {"inputs-moved", "an input was written while it ran"},
      {"fingerprint-moved", "a lockfile or package-manager file at the root changed during the run"},
      {"too-large", "its outputs are too large"},
      {"unstorable-output", "an output can't be stored"},
      {"output-changing", "an output was still being written"},
      {"removed-found-file", "it removed a file that it found in place"},
      {"store-error", "the store could not be written"},
      {"remote-has-it", "a remote cache held it already"},
  }};
  for (const auto& [word, words] : k_words)
    if (word == reason) return words;
  return {};
}

/// Letters of cache_policy::letters(): whole words between commas.
bool has_axis(const std::string& policy, std::string_view axis) {
  for (const std::string_view part : text::split(policy, ','))
    if (part == axis) return true;
  return false;
}
// The remote axes are recorded as on even where no remote is configured: the local ones tell.
bool may_read(const std::string& policy) { return has_axis(policy, "lR"); }
bool may_write(const std::string& policy) { return has_axis(policy, "lW"); }

/// "policy" is also what a task gets whose outputs overlap another's: it is left out of a cache that was asked for.
bool shares_outputs(const told_run& r) { return r.row.withheld == "policy" && r.policy && may_write(*r.policy); }

std::string moved_words(const key::component_diff& diff) {
  std::string out;
  for (std::size_t i = 0; i < std::min(diff.changes.size(), k_named); ++i)
    out += (i == 0 ? "" : ", ") + component_words(diff.changes[i]);
  if (diff.changes.size() > k_named) out += " and " + std::to_string(diff.changes.size() - k_named) + " more";
  return out;
}

/// What became of this run's own result, when that is not simply "saved".
std::string own_end(const told_run& now) {
  const cache::run_row& row = now.row;
  if (row.status == "failed") return "; this run failed and saved nothing";
  if (row.status != "success" || row.saved) return {};
  if (shares_outputs(now)) return "; not saved: its outputs overlap another task's";
  if (row.withheld == "policy") return "; not saved: this run's policy writes no cache";
  const std::string_view words = withheld_words(row.withheld);
  return words.empty() ? std::string() : "; not saved: " + std::string(words);
}

/// The key stands and the task ran all the same: the previous run's part in it.
std::string same_key_miss(const told_run& now, const told_run& before) {
  if (!now.policy) return "no policy recorded for this run: what it read is unknown";
  if (!may_read(*now.policy)) return "this run did not read the cache (--force, --no-cache or --cache)";
  if (shares_outputs(now)) return "its outputs overlap another task's, so it is neither read from the cache nor saved";
  if (now.row.withheld == "fingerprint-moved") return "a lockfile changed during this run, so the cache was not read";
  if (before.row.status == "failed") return "the previous run on this key failed and saved nothing";
  if (before.row.status == "skipped") return "the previous run was skipped and saved nothing";
  if (row_kept(before.row)) return "its entry was pruned, evicted or damaged: same key, no artifact";
  if (before.row.withheld == "policy") return "the previous run's policy wrote no cache";
  if (const std::string_view words = withheld_words(before.row.withheld); !words.empty())
    return "the previous run was not saved: " + std::string(words);
  if (before.policy && !may_write(*before.policy)) return "the previous run's policy wrote no cache";
  if (before.row.status == "success") return "the previous run executed, but no entry exists";
  return "this run read the cache and found nothing; the cause is unknown";
}

std::string hit_words(const told_run& now) {
  const std::string from = now.row.status == "cache-hit-remote" ? "served from a remote cache" : "served from cache";
  if (!now.row.restored) return from;
  return from + (*now.row.restored ? ": restored" : ": its outputs were in place");
}

std::string skip_words(const cache::run_row& row) {
  const std::string after =
      row.blocked_by.empty() ? std::string("skipped") : "skipped: " + text::escape(row.blocked_by, true) + " failed";
  return row.key ? after : after + "; no key recorded";
}

std::string no_previous(const told_run& now) {
  if (row_hit(now.row)) return "first recorded run, " + hit_words(now);
  return "first recorded run of this task: nothing to compare with" + own_end(now);
}

}  // namespace

bool row_hit(const cache::run_row& row) noexcept { return row.status == "cache-hit" || row.status == "cache-hit-remote"; }
bool row_kept(const cache::run_row& row) noexcept {
  return row.key && (row.saved || row_hit(row) || row.withheld == "remote-has-it");
}

std::string component_words(const key::component_change& c) {
  switch (c.kind) {
    case key::component_kind::format: return "key format";
    case key::component_kind::platform: return "platform";
    case key::component_kind::workspace: return "workspace fingerprint";
    case key::component_kind::package: return "package.json";
    case key::component_kind::config: return "task config";
    case key::component_kind::forward: return "forwarded argument " + text::escape(c.name, true);
    default: return std::string(key::component_kind_name(c.kind)) + " " + text::escape(c.name, true);
  }
}

std::string why_verdict(const why_facts& f) {
  const told_run& now = *f.now;
  const cache::run_row& row = now.row;
  if (row.status == "skipped") return skip_words(row);
  if (!row.cached) return "no cache block: it runs every time";
  if (!row.key) return "no key recorded" + own_end(now);
  if (f.before == nullptr) return no_previous(now);
  if (!f.before->row.key) return "the previous run recorded no key" + (row_hit(row) ? "; " + hit_words(now) : own_end(now));
  if (*f.before->row.key != *row.key) {
    std::string out = "cache key changed";
    if (!f.same_as.empty())
      out += ": it has the inputs of run " + f.same_as + " again";
    else if (f.diff == nullptr || f.diff->changes.empty())
      out += " (inputs differ)";
    else
      out += ": " + moved_words(*f.diff);
    return out + (row_hit(row) ? "; " + hit_words(now) : own_end(now));
  }
  if (row_hit(row)) return "same key, " + hit_words(now);
  if (row.status != "success" && row.status != "failed") return "no cache outcome recorded";
  return same_key_miss(now, *f.before) + own_end(now);
}

}  // namespace vx::run
