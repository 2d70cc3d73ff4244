#include "run/why.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "cache/row_blobs.hpp"
#include "run/recorded_names.hpp"
#include "run/root_cause.hpp"
#include "run/store_access.hpp"
#include "run/why_verdict.hpp"

namespace vx::run {
namespace {

/// The rows the answer is about, newest first.
struct told_story {
  told_run now;
  std::optional<told_run> before;
  std::optional<cache::run_row>
      base;  ///< the newest earlier run that saved, else the newest with a key; what the diff starts from
};

told_run tell(cache::history_reader& history, cache::run_row row) {
  std::optional<std::string> policy = history.policy_of(row.run);
  return {std::move(row), std::move(policy)};
}

/// Looks ever further back: most answers are in the newest few runs.
std::vector<cache::run_row> rows_until(cache::index& index, const recorded_task& t, std::optional<std::int64_t> upto) {
  std::vector<cache::run_row> rows;
  for (const std::size_t window : {std::size_t{32}, std::size_t{1024}, std::size_t{1} << 30}) {
    rows = index.recent_runs_of(t.first, t.second, window);
    if (upto) std::erase_if(rows, [&](const cache::run_row& r) { return r.id > *upto; });
    const bool enough = rows.size() > 1 && std::any_of(rows.begin() + 1, rows.end(), row_kept);
    if (enough) break;
  }
  return rows;
}

result<told_story> find_story(recorded& r, const recorded_task& t, const std::optional<std::string>& pinned) {
  const std::string id = t.first + "#" + t.second;
  std::optional<std::int64_t> upto;
  if (pinned) {
    VX_TRY_LET(const run_id run, find_run(*r.index, *pinned));
    for (const cache::run_row& row : r.index->runs_of(run))
      if (row.project == t.first && row.task == t.second) upto = row.id;
    if (!upto)
      return fail(errc::NO_HISTORY,
                  text::escape(id, true) + " was not part of run " + format_run_id(run) + ": see `vx last --list`");
  }
  std::vector<cache::run_row> rows = rows_until(*r.index, t, upto);
  if (rows.empty()) return fail(errc::NO_HISTORY, "no run of " + text::escape(id, true) + " is recorded");
  told_story out;
  out.now = tell(*r.history, std::move(rows[0]));
  if (rows.size() == 1) return out;
  const auto kept = std::find_if(rows.begin() + 1, rows.end(), row_kept);
  const auto keyed = kept != rows.end() ? kept : std::find_if(rows.begin() + 1, rows.end(), [](const cache::run_row& row) {
    return row.key && row.status != "skipped";
  });
  if (keyed != rows.end()) out.base = *keyed;
  out.before = tell(*r.history, std::move(rows[1]));
  return out;
}

/// A key and the run that had it.
struct run_key {
  digest128 key;
  run_id run;
};

/// The components of a key: from the store, or as that run left them when it saved nothing. Empty: none.
std::vector<key::component> components_of(recorded& r, const run_key& which) {
  cache::entry e;
  e.key = which.key;
  result<std::vector<key::component>> rows = r.store->read_components(e);
  if (rows && !rows->empty()) return std::move(*rows);
  return cache::decode_unsaved_inputs(r.store->salt(), r.history->unsaved_inputs(which.run, which.key));
}

std::optional<key::component_diff> diff_keys(recorded& r, const run_key& before, const run_key& after) {
  const std::vector<key::component> b = components_of(r, before), a = components_of(r, after);
  if (b.empty() || a.empty()) return std::nullopt;
  return key::diff(b, a);
}

json::value identity(const key::component_change& c, const std::string& digest) {
  return digest.empty() ? json::value(nullptr) : json::value(key::shown_digest(c.kind, digest));
}

json::array entry_array(const std::vector<key::component_change>& entries) {
  json::array out;
  for (const key::component_change& c : entries) {
    json::object o;
    o.add("kind", key::component_kind_name(c.kind));
    o.add("name", c.name);
    o.add("change", key::change_name(c.what));
    o.add("before", identity(c, c.before));
    o.add("after", identity(c, c.after));
    out.emplace_back(std::move(o));
  }
  return out;
}

json::value hash_of(const cache::run_row& row) { return row.key ? json::value(row.key->hex()) : json::value(nullptr); }

/// Absent: nothing about the cache can be said of a task without one, or of a skip.
json::value cache_hit(const cache::run_row& row) {
  if (!row.cached || row.status == "skipped") return nullptr;
  return row_hit(row);
}
json::value restored_of(const cache::run_row& row) { return row.restored ? json::value(*row.restored) : json::value(nullptr); }

json::object run_object(const cache::run_row& row, bool with_cached) {
  json::object o;
  o.add("hash", hash_of(row));
  o.add("status", row.status);
  o.add("cacheHit", cache_hit(row));
  o.add("restored", restored_of(row));
  if (with_cached) o.add("cached", row.cached);
  o.add("startedAt", row.started_ns / 1'000'000);
  return o;
}

class explainer {
 public:
  explainer(recorded& r, recorded_task task, told_story story) : r_(r), task_(std::move(task)), story_(std::move(story)) {}

  json::value document() {
    compare();
    json::object doc;
    doc.add("taskId", id());
    doc.add("runId", run_text());
    doc.add("why", why_object());
    doc.add("diff", diff_object());
    doc.add("roots", roots());
    return doc;
  }

 private:
  std::string id() const { return task_.first + "#" + task_.second; }
  std::string run_text() const { return format_run_id(story_.now.row.run); }

  bool before_kept() const { return story_.before && row_kept(story_.before->row); }

  void compare() {
    const cache::run_row& now = story_.now.row;
    if (!now.cached) return;
    if (!story_.before) {
      note_ = "the first recorded run of this task";
      return;
    }
    if (!now.key || !story_.base) {
      note_ = !now.key ? "this run recorded no key" : "no earlier run had a key to compare with";
      return;
    }
    base_run_ = format_run_id(story_.base->run);
    diff_ = diff_keys(r_, {*story_.base->key, story_.base->run}, {*now.key, now.run});
    if (!row_kept(*story_.base)) {
      note_ = "compared with run " + base_run_ + ", which saved nothing; nor did any before it";
    } else if (!before_kept()) {
      note_ = "compared with run " + base_run_ + ", the last one that saved: the previous run " +
              (story_.before->row.status == "failed" ? "failed" : "saved nothing");
      if (*story_.base->key == *now.key && story_.before->row.key != now.key) same_as_ = base_run_;
    }
    if (diff_ || *story_.base->key == *now.key) return;
    const bool mine = components_of(r_, {*now.key, now.run}).empty();
    note_ = mine && !row_kept(now)
                ? "this run saved nothing, so what its key was made of was not recorded"
                : "the store no longer has what the key of run " + (mine ? run_text() : base_run_) + " was made of";
  }

  json::object why_object() const {
    const cache::run_row& now = story_.now.row;
    why_facts facts;
    facts.now = &story_.now;
    facts.before = story_.before ? &*story_.before : nullptr;
    facts.diff = diff_ ? &*diff_ : nullptr;
    facts.same_as = same_as_;
    json::object o;
    o.add("runId", run_text());
    o.add("taskId", id());
    o.add("found", true);
    o.add("thisRun", run_object(now, true));
    o.add("previousRun", story_.before ? json::value(run_object(story_.before->row, false)) : json::value(nullptr));
    const bool both = story_.before && now.key && story_.before->row.key;
    o.add("hashChanged", both ? json::value(*now.key != *story_.before->row.key) : json::value(nullptr));
    o.add("note", why_verdict(facts));
    return o;
  }

  json::object diff_object() const {
    json::object o;
    o.add("runId", run_text());
    o.add("taskId", id());
    o.add("found", diff_.has_value());
    o.add("previousRunId", base_run_.empty() ? json::value(nullptr) : json::value(base_run_));
    o.add("entries", diff_ ? entry_array(diff_->changes) : json::array{});
    o.add("unchangedCount", diff_ ? diff_->unchanged : 0);
    o.add("note", note_);
    return o;
  }

  json::array roots() {
    json::array out;
    if (!diff_) return out;
    const key_diff_fn diff = [this](const std::string& before, const std::string& after) -> std::optional<key::component_diff> {
      digest128 b, a;
      if (!digest128::parse(before, b) || !digest128::parse(after, a)) return std::nullopt;
      return diff_keys(r_, {b, story_.base->run}, {a, story_.now.row.run});
    };
    for (const root_cause& root : find_root_causes(id(), *diff_, diff)) {
      json::array chain;
      for (const std::string& step : root.chain) chain.emplace_back(step);
      json::object o;
      o.add("chain", std::move(chain));
      o.add("entries", entry_array(root.entries));
      out.emplace_back(std::move(o));
    }
    return out;
  }

  recorded& r_;
  recorded_task task_;
  told_story story_;
  std::optional<key::component_diff> diff_;
  std::string base_run_, same_as_, note_;
};

}  // namespace

result<json::value> why(std::shared_ptr<const host> h, const why_request& request, const cancel_token* cancel) {
  VX_TRY_LET(const std::unique_ptr<recorded> r, open_recorded(h, {request.cache_dir, false}, cancel));
  VX_TRY_LET(const recorded_task task, find_recorded(*r->history, request.task, names_around(*h)));
  VX_TRY_LET(told_story story, find_story(*r, task, request.run));
  json::object doc;
  doc.add("result", explainer(*r, task, std::move(story)).document());
  json::array notices;
  for (const std::string& line : r->notices) notices.emplace_back(line);
  doc.add("notices", std::move(notices));
  return json::value(std::move(doc));
}

}  // namespace vx::run
