#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/answer.hpp"
#include "cli/answer_text.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

/// Rows of two columns; a further line of a row stands below its value.
class table {
 public:
  void add(std::string_view label, std::string value) {
    if (!value.empty()) rows_.emplace_back(label, std::move(value));
  }
  std::string text() const {
    std::size_t width = 0;
    for (const auto& [label, value] : rows_) width = std::max(width, label.size());
    std::string out;
    for (const auto& [label, value] : rows_) out += fmt::format("{}  {}\n", pad_right(label, width), value);
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

const json_value& part(const json_value& doc, const char* name) {
  static const json_value none;
  const json_value* found = read_member(doc, name);
  return found == nullptr ? none : *found;
}

std::string bytes_of(const json_value& doc, const char* name) {
  return bytes_text(static_cast<std::uint64_t>(std::max<std::int64_t>(read_whole(doc, name), 0)));
}

bool is_native(const std::string& path) { return path.ends_with(".json") || path.ends_with(".jsonc"); }

std::string node_text(const json_value& doc, std::string_view home) {
  const json_value& runtime = part(doc, "evaluator");
  if (runtime.IsObject()) {
    const std::string kind = read_text(runtime, "kind"), version = read_text(runtime, "version");
    return fmt::format("{}{} ({})", kind == "node" ? "" : kind + " ", version.empty() ? "?" : printable(version),
                       short_path(read_text(runtime, "path"), home));
  }
  const json_value& configs = part(doc, "configs");
  bool needed =
      read_whole(configs, "cached") > 0 || (part(configs, "everyRun").IsArray() && !part(configs, "everyRun").Empty());
  const json_value& errors = part(doc, "configErrors");
  if (errors.IsArray())
    for (const auto& e : errors.GetArray()) needed = needed || !is_native(read_text(e, "path"));
  return needed ? "(not found)" : "not needed";
}

std::string git_cache_text(const json_value& doc) {
  const json_value& cache = part(doc, "gitStatusCache");
  if (!cache.IsObject()) return {};
  return fmt::format("fsmonitor {}, untracked cache {}", read_flag(cache, "fsmonitor") ? "on" : "off",
                     read_flag(cache, "untrackedCache") ? "on" : "off");
}

std::string projects_text(const json_value& doc) {
  const json_value& errors = part(doc, "configErrors");
  const auto broken = errors.IsArray() ? errors.Size() : 0;
  std::string out = fmt::format("{} ({}", read_whole(doc, "projects"),
                                count_text(static_cast<std::uint64_t>(read_whole(doc, "tasks")), "task"));
  if (broken > 0) out += fmt::format(" · {} did not load", count_text(broken, "config"));
  return out + ")";
}

void add_configs(table& rows, const json_value& doc) {
  const json_value& errors = part(doc, "configErrors");
  if (errors.IsArray())
    for (const auto& e : errors.GetArray()) {
      const std::string path = read_text(e, "path");
      std::string message = read_text(e, "message");
      if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
      rows.add("config errors",
               message.starts_with(path) ? printable(message) : fmt::format("{}: {}", printable(path), printable(message)));
    }
  const json_value& configs = part(doc, "configs");
  const json_value& every = part(configs, "everyRun");
  rows.add("configs", fmt::format("{} json · {} cached · {} every run", read_whole(configs, "json"),
                                  read_whole(configs, "cached"), every.IsArray() ? every.Size() : 0));
  if (!every.IsArray()) return;
  for (const auto& e : every.GetArray()) {
    std::vector<std::string> reasons;
    for (const std::string& r : read_texts(e, "reasons")) reasons.push_back(printable(r));
    rows.add("", fmt::format("{}: {}", printable(read_text(e, "path")), join(reasons, ", ")));
  }
}

std::string workers_text(const json_value& doc) {
  const json_value& w = part(doc, "workers");
  const std::string source = read_text(w, "source");
  const auto n = read_whole(w, "count");
  if (source == "workspace") return fmt::format("{} — workspace", n);
  if (source == "cgroup")
    return fmt::format("{} — cgroup CPU quota {:g} of {} cores", n, read_number(w, "cpuQuota"), read_whole(w, "cores"));
  return fmt::format("{} — the CPU count", n);
}

std::string memory_text(const json_value& doc) {
  const json_value& m = part(doc, "memory");
  std::string out = bytes_of(m, "usableBytes");
  if (!part(m, "cgroupLimitBytes").IsNull()) out += fmt::format(" (cgroup limit, of {})", bytes_of(m, "totalBytes"));
  return out;
}

std::string entries_text(const json_value& doc) {
  const std::string size = bytes_of(doc, "cacheBytes");
  const json_value& max = part(part(doc, "cacheRetention"), "maxBytes");
  if (!max.IsNumber() || max.GetDouble() <= 0) return fmt::format("{} ({})", read_whole(doc, "cacheEntries"), size);
  return fmt::format("{} ({} of {}, {:.0f}%)", read_whole(doc, "cacheEntries"), size,
                     bytes_text(static_cast<std::uint64_t>(max.GetDouble())),
                     100.0 * static_cast<double>(read_whole(doc, "cacheBytes")) / max.GetDouble());
}

std::string retention_text(const json_value& doc) {
  const json_value& r = part(doc, "cacheRetention");
  const std::string age = read_text(r, "olderThan"), size = read_text(r, "maxSize");
  if (age.empty() && size.empty()) return "off";
  return age.empty() ? size : size.empty() ? age : age + ", " + size;
}

std::string orphans_text(const json_value& doc) {
  const json_value& o = part(doc, "orphans");
  const auto n = read_whole(o, "artifacts");
  return n == 0 ? std::string()
                : fmt::format("{} ({})", count_text(static_cast<std::uint64_t>(n), "artifact"), bytes_of(o, "bytes"));
}

std::string day_text(const json_value& doc) {
  const auto hits = read_whole(doc, "hits24h"), restored = read_whole(doc, "restored24h");
  return fmt::format("{} ({} cache hits: {} up-to-date, {} restored)", read_whole(doc, "runs24h"), hits, hits - restored,
                     restored);
}

std::string sandbox_text(const json_value& doc) {
  const json_value& s = part(doc, "sandbox");
  if (!read_flag(s, "declared") && !read_flag(s, "available")) return {};
  if (read_flag(s, "available")) return read_text(s, "backend");
  return fmt::format("not available: {}", printable(read_text(s, "reason")));
}

void add_cache(table& rows, const json_value& doc, std::string_view home) {
  const std::string mode = read_text(doc, "cacheMode");
  rows.add("cache dir", fmt::format("{} ({}{})", short_path(read_text(doc, "cacheDir"), home), read_text(doc, "cacheSource"),
                                    mode == "read-write" ? ""
                                    : mode == "none"     ? ", can't be used"
                                                         : ", " + mode));
  rows.add("state dir", short_path(read_text(doc, "stateDir"), home));
  rows.add("cache versions",
           fmt::format("keys {} · index schema v{}", read_text(doc, "cacheVersion"), read_whole(doc, "schemaVersion")));
  rows.add("cache entries", entries_text(doc));
  rows.add("cache retention", retention_text(doc));
  rows.add("orphans", orphans_text(doc));
  for (const std::string& file : read_texts(doc, "badFiles")) rows.add("damaged databases", short_path(file, home));
  rows.add("task runs (24h)", day_text(doc));
  const json_value& flaky = part(doc, "flakyTasks");
  if (flaky.IsArray())
    for (const auto& t : flaky.GetArray())
      rows.add("flaky tasks",
               fmt::format("{}: passed {}×, failed {}× on {}", printable(read_text(t, "taskId")), read_whole(t, "passes"),
                           read_whole(t, "failures"), count_text(static_cast<std::uint64_t>(read_whole(t, "keys")), "key")));
}

std::string info_text(const json_value& doc, std::string_view home) {
  table rows;
  rows.add("vx", read_text(doc, "vx"));
  rows.add("platform", read_text(doc, "platform"));
  rows.add("node", node_text(doc, home));
  rows.add("git", part(doc, "git").IsString() ? printable(read_text(doc, "git")) : std::string("(not found)"));
  rows.add("git status cache", git_cache_text(doc));
  rows.add("workspace root", short_path(read_text(doc, "workspaceRoot"), home));
  rows.add("projects", projects_text(doc));
  add_configs(rows, doc);
  rows.add("schedule", read_text(doc, "schedule"));
  rows.add("workers", workers_text(doc));
  rows.add("memory", memory_text(doc));
  add_cache(rows, doc, home);
  rows.add("sandbox", sandbox_text(doc));
  rows.add("vx-lock.json", read_flag(doc, "lockfile") ? "yes" : "no");
  return rows.text();
}

std::string unused_text(std::int64_t ms) {
  const auto hours = static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0)) / 3'600'000;
  if (hours >= 24) return count_text(hours / 24, "day") + " unused";
  return hours > 0 ? count_text(hours, "hour") + " unused" : long_duration_text(static_cast<double>(ms)) + " unused";
}

std::string stats_text(const json_value& doc, std::string_view home) {
  table rows;
  rows.add("cache dir", fmt::format("{} ({})", short_path(read_text(doc, "cacheDir"), home), read_text(doc, "cacheSource")));
  rows.add("entries", std::to_string(read_whole(doc, "entries")));
  const bool bounded = part(doc, "maxBytes").IsNumber();
  rows.add("size",
           bounded ? fmt::format("{} of {}", bytes_of(doc, "bytes"), bytes_of(doc, "maxBytes")) : bytes_of(doc, "bytes"));
  if (part(doc, "olderThanMs").IsNumber()) rows.add("kept for", unused_text(read_whole(doc, "olderThanMs")));
  if (part(doc, "oldestUse").IsNumber()) rows.add("oldest use", iso_text(read_whole(doc, "oldestUse")));
  rows.add("orphans", orphans_text(doc));
  rows.add("task runs (24h)", day_text(doc));
  if (part(doc, "hitRate24h").IsNumber())
    rows.add("hit rate (24h)", fmt::format("{:.0f}%", 100 * read_number(doc, "hitRate24h")));
  rows.add("saved (24h)", long_duration_text(read_number(doc, "savedMs24h")));
  std::string out = rows.text();
  const json_value& projects = part(doc, "projects");
  if (!projects.IsArray() || projects.Empty()) return out;
  std::vector<const json_value*> by_size;
  for (const auto& p : projects.GetArray()) by_size.push_back(&p);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const auto* a, const auto* b) { return read_whole(*a, "bytes") > read_whole(*b, "bytes"); });
  std::size_t width = 0;
  for (const json_value* p : by_size) width = std::max(width, display_width(printable(read_text(*p, "project"))));
  out += "\n";
  for (const json_value* p : by_size)
    out +=
        fmt::format("{}  {}  {}\n", pad_right(printable(read_text(*p, "project")), width), pad_left(bytes_of(*p, "bytes"), 8),
                    read_whole(*p, "entries") == 1 ? "1 entry" : fmt::format("{} entries", read_whole(*p, "entries")));
  return out;
}

std::string prune_text(const json_value& doc) {
  const auto entries = read_whole(doc, "evicted"), orphans = read_whole(doc, "orphans");
  const bool dry = read_flag(doc, "dryRun");
  std::string out = fmt::format("{} {} ({} freed)", dry ? "Would prune" : "Pruned",
                                entries == 1 ? "1 entry" : fmt::format("{} entries", entries), bytes_of(doc, "bytesFreed"));
  if (orphans > 0)
    out += fmt::format(", {} {} ({})", dry ? "reap" : "reaped",
                       orphans == 1 ? "1 orphaned artifact" : fmt::format("{} orphaned artifacts", orphans),
                       bytes_of(doc, "orphanBytes"));
  return out + "\n";
}

}  // namespace

std::string short_path(std::string_view path, std::string_view home) {
  while (home.size() > 1 && home.ends_with('/')) home.remove_suffix(1);
  if (home.size() > 1 && path.starts_with(home) && (path.size() == home.size() || path[home.size()] == '/'))
    return "~" + printable(path.substr(home.size()));
  return printable(path);
}

std::optional<answer_view> read_info(std::string_view json, std::string_view home) {
  return read_answer(json, [&](const json_value&, const json_value& doc, answer_view&) { return info_text(doc, home); });
}

std::optional<answer_view> read_cache_stats(std::string_view json, std::string_view home) {
  return read_answer(json, [&](const json_value&, const json_value& doc, answer_view&) { return stats_text(doc, home); });
}

std::optional<answer_view> read_prune(std::string_view json) {
  return read_answer(json, [&](const json_value&, const json_value& doc, answer_view&) { return prune_text(doc); });
}

}  // namespace vx::cli
