#include "cli/footer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "cli/text.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_rule_columns = 62;
constexpr std::string_view k_indent = "            ";  // bars start at column 12

using painter = std::string (palette::*)(std::string_view) const;

struct bucket {
  std::uint64_t count;
  std::string_view word;
  painter paint;
  bool filled = true;
};

std::string repeat(std::string_view cell, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += cell;
  return out;
}

std::string bar(const std::vector<bucket>& buckets, const palette& colours) {
  std::vector<std::uint64_t> counts;
  for (const bucket& b : buckets) counts.push_back(b.count);
  const std::vector<std::size_t> cells = share_cells(counts);
  std::string out;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    out += (colours.*buckets[i].paint)(repeat(buckets[i].filled ? "▰" : "▱", cells[i]));
  }
  if (std::accumulate(cells.begin(), cells.end(), std::size_t{0}) == 0) out = colours.dim(repeat("▱", k_bar_cells));
  return out;
}

std::string legend(const std::vector<bucket>& buckets, const palette& colours) {
  std::vector<std::string> parts;
  for (const bucket& b : buckets) {
    if (b.count > 0) parts.push_back((colours.*b.paint)(fmt::format("{} {}", b.count, b.word)));
  }
  return join(parts, " · ");
}

std::string label(std::string_view name, const palette& colours) { return "  " + colours.dim(pad_right(name, 8)) + "  "; }

std::string cache_words(const std::string& policy) {
  const auto has = [&](std::string_view axis) {
    return ("," + policy + ",").find("," + std::string(axis) + ",") != std::string::npos;
  };
  if (policy.empty() || (has("lR") && has("lW"))) return "local cache";
  if (has("lR")) return "local cache, read only";
  if (has("lW")) return "local cache, write only";
  return "no cache";
}

std::string not_counted(const run_summary& tally) {
  std::vector<std::string> parts;
  if (tally.aborted > 0) parts.push_back(fmt::format("{} aborted", tally.aborted));
  if (tally.not_run > 0) parts.push_back(fmt::format("{} not run", tally.not_run));
  return parts.empty() ? std::string() : " · not counted: " + join(parts, ", ");
}

std::string time_line(const run_summary& tally) {
  std::string line = duration_text(tally.total_ms);
  if (tally.executed > 0) {
    line += fmt::format(" · max {} · avg {} · min {}", duration_text(tally.max_ms), duration_text(tally.avg_ms),
                        duration_text(tally.min_ms));
  }
  return line;
}

std::string cached_words(const run_summary& tally) {
  const std::uint64_t cacheable = tally.hits() + tally.miss;
  if (cacheable == 0) return {};
  if (tally.hits() == cacheable) return "all cached";
  // Neither 0 % nor 100 % unless it is exact.
  const double share = 100.0 * static_cast<double>(tally.hits()) / static_cast<double>(cacheable);
  const double shown = tally.hits() == 0 ? 0 : std::clamp(std::round(share), 1.0, 99.0);
  return fmt::format("{} cached ({:.0f}%)", tally.hits(), shown);
}

std::string result_line(const run_summary& tally, const palette& colours) {
  std::vector<std::string> parts{count_text(tally.total, "task")};
  if (tally.failed > 0) parts.push_back(colours.red(fmt::format("{} failed", tally.failed)));
  if (std::string words = cached_words(tally); !words.empty()) parts.push_back(std::move(words));
  if (tally.no_cache > 0) parts.push_back(fmt::format("{} no-cache", tally.no_cache));
  if (tally.saved_ms >= 1) parts.push_back(duration_text(tally.saved_ms) + " saved");
  parts.push_back(duration_text(tally.total_ms));
  return join(parts, " · ");
}

}  // namespace

std::vector<std::size_t> share_cells(const std::vector<std::uint64_t>& buckets, std::size_t cells) {
  std::vector<std::size_t> out(buckets.size(), 0);
  const std::uint64_t total = std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
  if (total == 0) return out;
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto exact = [&](std::size_t i) {
    return static_cast<double>(buckets[i]) * static_cast<double>(cells) / static_cast<double>(total);
  };
  for (const std::size_t i : order) out[i] = static_cast<std::size_t>(exact(i));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return exact(a) - std::floor(exact(a)) > exact(b) - std::floor(exact(b));
  });
  std::size_t used = std::accumulate(out.begin(), out.end(), std::size_t{0});
  for (std::size_t k = 0; used < cells; ++used, ++k) ++out[order[k % order.size()]];
  // A bucket that would vanish takes its cell from the widest one.
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (buckets[i] == 0 || out[i] > 0) continue;
    const auto widest = std::max_element(out.begin(), out.end());
    if (*widest <= 1) break;
    --*widest;
    out[i] = 1;
  }
  return out;
}

std::vector<std::string> timing_rows(const run_summary& tally) {
  std::vector<std::string> out;
  for (const auto& [name, ms] : tally.stages) out.push_back(fmt::format("[vx] {:>9.2f} ms  {}", ms, name));
  out.push_back(fmt::format("[vx] {:>9.2f} ms  in all", tally.total_ms));
  return out;
}

std::string footer_text(const run_start& start, const run_summary& tally, const std::string& version, const palette& colours) {
  std::string rule = fmt::format("─ vx {} ", version);
  rule += repeat("─", k_rule_columns - std::min(k_rule_columns, display_width(rule)));

  const std::uint32_t idle = start.projects_total - std::min(start.projects_in_run, start.projects_total);
  const std::vector<bucket> projects{{start.projects_in_run, "in run", &palette::blue}, {idle, "", &palette::dim, false}};
  const std::vector<bucket> tasks{{tally.failed, "failed", &palette::red},
                                  {tally.success(), "success", &palette::green},
                                  {tally.skipped, "skipped", &palette::yellow}};
  const std::vector<bucket> cache{{tally.miss, "miss", &palette::pink},
                                  {tally.no_cache, "no-cache", &palette::dim},
                                  {tally.up_to_date, "up-to-date", &palette::green},
                                  {tally.local, "local", &palette::cyan},
                                  {tally.remote, "remote", &palette::blue},
                                  {tally.skipped, "skipped", &palette::yellow}};
  const std::string task_legend = legend(tasks, colours);
  std::string out = colours.dim(rule) + "\n";
  out += label("projects", colours) + bar(projects, colours) + "\n";
  out += fmt::format("{}{} in run · {} total\n", k_indent, start.projects_in_run, start.projects_total);
  out += label("tasks", colours) + bar(tasks, colours) + "\n";
  out += fmt::format("{}{}{}{} total{}\n", k_indent, task_legend, task_legend.empty() ? "" : " · ", tally.total,
                     not_counted(tally));
  out += label("cache", colours) + bar(cache, colours) + "\n";
  const std::string cache_legend = legend(cache, colours);
  out += fmt::format("{}{}\n\n", k_indent, cache_legend.empty() ? "nothing looked up" : cache_legend);
  out += label("info", colours) +
         fmt::format("{} · {}\n", count_text(start.concurrency, "worker"), cache_words(start.cache_policy));
  out += label("time", colours) + time_line(tally) + "\n";
  out += label("result", colours) + result_line(tally, colours) + "\n";
  return out;
}

}  // namespace vx::cli
