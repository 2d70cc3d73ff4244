// `.vx/entry.json`: binds the bytes to their key (cache.md 4.2).
#include "base/json.hpp"
#include "base/mutation.hpp"
#include "base/text.hpp"
#include "cache/artifact.hpp"

namespace vx::cache {
namespace {

tl::unexpected<failure> bad(const char* why) { return fail(errc::CORRUPT, std::string(".vx/entry.json: ") + why); }

/// Absent is fine; present must be a non-negative integer that fits.
bool read_number(const json::value* v, std::optional<std::int64_t>& out) {
  if (v == nullptr) return true;
  if (!v->is_int() || v->as_int() < 0) return false;
  out = v->as_int();
  return true;
}

}  // namespace

std::string entry_document(const digest128& key, const std::string& task_id, const exec_stats& stats) {
  std::string out = "{\"exec\":{";
  if (stats.cpu_ns) out += "\"cpuNs\":" + std::to_string(std::max<std::int64_t>(0, *stats.cpu_ns)) + ",";
  out += "\"durationNs\":" + std::to_string(std::max<std::int64_t>(0, stats.duration_ns));
  if (stats.peak_rss_bytes) out += ",\"peakRssBytes\":" + std::to_string(std::max<std::int64_t>(0, *stats.peak_rss_bytes));
  out += "},\"format\":1,\"key\":\"" + key.hex() + "\",\"task\":";
  out += json::write_canonical(json::value(text::escape(task_id)));  // names are bytes, JSON is UTF-8
  out += '}';
  return out;
}

result<artifact_contents> parse_entry_document(std::string_view text, const digest128& key) {
  const auto doc = json::parse(text);
  if (!doc || !doc->is_object()) return bad("not a JSON object");
  const json::value* format = doc->get("format");
  if (format == nullptr || !format->is_int() || format->as_int() != 1) return bad("another format");
  const json::value* k = doc->get("key");
  if (k == nullptr || !k->is_string() || (k->as_string() != key.hex() && !mutated("no-key-check")))
    return bad("made for another key");
  artifact_contents out;
  const json::value* task = doc->get("task");
  if (task == nullptr || !task->is_string()) return bad("no task");
  out.task = task->as_string();
  if (const json::value* exec = doc->get("exec")) {
    std::optional<std::int64_t> duration;
    if (!exec->is_object() || !read_number(exec->get("durationNs"), duration) ||
        !read_number(exec->get("cpuNs"), out.stats.cpu_ns) ||
        !read_number(exec->get("peakRssBytes"), out.stats.peak_rss_bytes)) {
      return bad("numbers that are none");
    }
    out.stats.duration_ns = duration.value_or(0);
  }
  return out;
}

}  // namespace vx::cache
