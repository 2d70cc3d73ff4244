#include "run/cache_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "run/run_lock.hpp"
#include "run/store_access.hpp"

namespace vx::run {
namespace {

constexpr std::int64_t k_day_ns = std::int64_t{24} * 3600 * 1'000'000'000;

template <class T>
json::value or_null(const std::optional<T>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

json::value wrap(json::object result, const std::vector<std::string>& notices) {
  json::array lines;
  for (const std::string& line : notices) lines.emplace_back(line);
  json::object doc;
  doc.add("result", std::move(result));
  doc.add("notices", std::move(lines));
  return json::value(std::move(doc));
}

/// What the hits of a day would have cost: the producing runs' time, as far as the store still knows it.
std::int64_t saved_ns(recorded& r, std::int64_t from_ns) {
  std::vector<digest128> keys;
  std::vector<std::uint64_t> times;
  for (const auto& [key, n] : r.history->hit_keys_since(from_ns)) {
    keys.push_back(key);
    times.push_back(n);
  }
  const auto found = r.store->lookup_many(keys, false);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) total += found[i]->entry.stats.duration_ns * static_cast<std::int64_t>(times[i]);
  return total;
}

void add_day(json::object& o, recorded& r) {
  const std::int64_t from = wall_ns() - k_day_ns;
  const cache::run_counts day = r.history->counts_since(from);
  o.add("runs24h", day.tasks);
  o.add("hits24h", day.hits);
  o.add("restored24h", day.restored);
  o.add("hitRate24h",
        day.tasks == 0 ? json::value(nullptr) : json::value(static_cast<double>(day.hits) / static_cast<double>(day.tasks)));
  o.add("savedMs24h", saved_ns(r, from) / 1'000'000);
}

/// The run lock, for as long as the caller is ready to wait.
status take_lock(run_lock& lock, const host& h, const prune_request& request, const cancel_token* cancel,
                 std::vector<std::string>& notices) {
  const cancel_token nobody;
  const run_lock::taken got = lock.take(
      h, cancel == nullptr ? nobody : *cancel, [](const std::string&) {}, request.wait_ms);
  if (got.cancelled) return fail(errc::CANCELLED, "stopped while waiting for another vx run");
  if (got.gave_up) {
    failure busy{errc::REFUSED, 0, "another vx run" + got.holder + " is using this workspace", {}, "{\"busy\":true}"};
    return fail(std::move(busy));
  }
  if (!got.warning.empty()) notices.push_back(got.warning);
  return {};
}

/// A store opened for writing; a directory that can't be written is said, not passed over.
result<std::unique_ptr<cache::store>> open_for_pruning(const cache::store_location& where, std::vector<std::string>& notices) {
  cache::open_options options;
  options.private_dir = where.source == cache::store_source::shared;
  options.notice = [&notices](const std::string& line) { notices.push_back(line); };
  VX_TRY_LET(std::unique_ptr<cache::store> store, cache::store::open(where, options));
  if (store->mode() == cache::store_mode::read_write) return store;
  failure f{errc::FS, 0, notices.empty() ? "cache: " + where.dir + " can't be written" : notices.back(), where.dir, {}};
  return fail(std::move(f));
}

}  // namespace

json::object prune_object(bool dry_run, const cache::store::prune_report& report) {
  json::object o;
  o.add("dryRun", dry_run);
  o.add("evicted", report.evicted);
  o.add("bytesFreed", report.bytes_freed);
  o.add("orphans", report.orphans);
  o.add("orphanBytes", report.orphan_bytes);
  return o;
}

json::object stats_object(const std::string& dir, const cache::store::statistics& stats) {
  json::object orphans, o;
  orphans.add("artifacts", stats.orphan_artifacts);
  orphans.add("bytes", stats.orphan_bytes);
  json::array projects;
  for (const auto& [name, figures] : stats.projects) {
    json::object one;
    one.add("project", name);
    one.add("entries", figures.first);
    one.add("bytes", figures.second);
    projects.emplace_back(std::move(one));
  }
  o.add("cacheDir", dir);
  o.add("entries", stats.entries);
  o.add("bytes", stats.bytes);
  o.add("oldestUse", stats.oldest_use_ns ? json::value(*stats.oldest_use_ns / 1'000'000) : json::value(nullptr));
  o.add("orphans", std::move(orphans));
  o.add("projects", std::move(projects));
  return o;
}

std::string_view source_word(cache::store_source s) noexcept {
  switch (s) {
    case cache::store_source::flag: return "flag";
    case cache::store_source::config: return "config";
    case cache::store_source::env: return "env";
    case cache::store_source::shared: return "shared";
    case cache::store_source::workspace: return "workspace";
  }
  return "shared";
}

std::string duration_words(std::uint64_t ms) {
  static constexpr std::array<std::pair<std::uint64_t, char>, 4> k_units{
      {{86'400'000, 'd'}, {3'600'000, 'h'}, {60'000, 'm'}, {1'000, 's'}}};
  for (const auto& [unit, letter] : k_units)
    if (ms >= unit && ms % unit == 0) return std::to_string(ms / unit) + letter;
  return std::to_string((ms + 999) / 1000) + "s";
}

std::string size_words(std::uint64_t bytes) {
  for (int shift = 40; shift >= 10; shift -= 10)
    if (bytes >= (std::uint64_t{1} << shift) && bytes % (std::uint64_t{1} << shift) == 0)
      return std::to_string(bytes >> shift) + std::string(1, " KMGT"[shift / 10]) + "B";
  return std::to_string(bytes) + "B";
}

result<cache::store::retention> parse_bounds(const prune_request& request) {
  if (!request.older_than && !request.max_size)
    return fail(errc::USAGE, "prune needs a bound: --older-than, --max-size or both");
  cache::store::retention out;
  out.older_than_ns.reset();
  out.max_bytes.reset();
  if (request.older_than) {
    std::string age = *request.older_than;
    if (!age.empty() && age.back() >= 'A' && age.back() <= 'Z')
      age.back() = static_cast<char>(age.back() + 32);  // units are case-blind
    const auto ms = text::parse_duration_ms(age);
    if (!ms || *ms == 0 || *ms > (std::uint64_t{1} << 62) / 1'000'000)
      return fail(errc::USAGE,
                  "--older-than needs a positive duration such as 12h or 30d, got " + text::escape(*request.older_than, true));
    out.older_than_ns = static_cast<std::int64_t>(*ms) * 1'000'000;
  }
  if (request.max_size) {
    const auto bytes = text::parse_size(*request.max_size);
    const bool bare = text::parse_uint(*request.max_size).has_value();
    if (!bytes || *bytes == 0)
      return fail(errc::USAGE, "--max-size needs a positive size such as 500M or 10G, got " +
                                   text::escape(*request.max_size, true) +
                                   (bare ? " (" + *request.max_size + "B if bytes are meant)" : ""));
    out.max_bytes = *bytes;
  }
  return out;
}

result<json::value> cache_stats(std::shared_ptr<const host> h, const std::optional<std::string>& cache_dir,
                                const cancel_token* cancel) {
  VX_TRY_LET(const std::unique_ptr<recorded> r, open_recorded(std::move(h), {cache_dir, false}, cancel));
  VX_TRY_LET(const cache::store::statistics stats, r->store->stats());
  const auto& limits = r->settings.cache_retention;
  json::object o = stats_object(r->location.dir, stats);
  o.add("cacheSource", source_word(r->location.source));
  o.add("maxBytes", or_null(limits.max_bytes));
  o.add("olderThanMs", or_null(limits.older_than_ms));
  add_day(o, *r);
  return wrap(std::move(o), r->notices);
}

result<json::value> prune_cache(std::shared_ptr<const host> h, const prune_request& request, const cancel_token* cancel) {
  VX_TRY_LET(cache::store::retention bounds, parse_bounds(request));
  const std::int64_t asked_ns = wall_ns();
  VX_TRY_LET(const std::unique_ptr<recorded> r,
             open_recorded(h, {request.cache_dir, true}, cancel));  // the history does not matter
  // The wrong directory is not to be pruned for a typing slip in a config.
  if (r->settings_failure && !request.cache_dir) return fail(std::move(*r->settings_failure));
  cache::store::prune_report report;
  const bool used = fs::exists_at(fs::k_cwd, path::join(r->location.dir, "store-1.db"));
  if (!used) return wrap(prune_object(request.dry_run, report), r->notices);
  if (request.dry_run) {
    VX_TRY_LET(report, r->store->prune(bounds, true, true));
    return wrap(prune_object(true, report), r->notices);
  }
  if (const std::string* outer = h->env.find("VX_RUN_WORKSPACE"); outer != nullptr && *outer == h->root)
    return fail(errc::REFUSED, "a task can't prune the cache of the run it belongs to: prune after the run, or with --dry-run");
  r->store.reset();
  run_lock lock;
  VX_TRY(take_lock(lock, *h, request, cancel, r->notices));
  // "Older than" counts from the question, not from the end of the wait: what the run just used stays as young as it was.
  if (bounds.older_than_ns) bounds.older_than_ns = *bounds.older_than_ns + std::max<std::int64_t>(wall_ns() - asked_ns, 0);
  VX_TRY_LET(const std::unique_ptr<cache::store> store, open_for_pruning(r->location, r->notices));
  VX_TRY_LET(report, store->prune(bounds, false, true));
  return wrap(prune_object(false, report), r->notices);
}

}  // namespace vx::run
