#include "cli/live_region.hpp"

#include <fmt/format.h>

#include "cli/footer.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_rule_columns = 62;

std::string repeat(std::string_view cell, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += cell;
  return out;
}

std::string worker_line(const region_state::worker& worker, std::size_t columns, const palette& colours) {
  if (worker.id.empty()) return colours.dim(" ·         idle");
  const std::string time = pad_left(duration_text(worker.seconds * 1000), 7);
  const std::string id = clipped(printable(worker.id), columns > 12 ? columns - 12 : 0);
  return fmt::format(" {} {} {}", colours.cyan("▸"), colours.dim(time), colours.id(id));
}

std::string meter(const region_state& state, const palette& colours) {
  const std::uint64_t done = state.failed + state.success + state.skipped;
  const std::uint64_t left = state.total > done ? state.total - done : 0;
  const std::vector<std::size_t> cells = share_cells({state.failed, state.success, state.skipped, left});
  return fmt::format("  {}  {}{}{}{}", colours.dim("tasks   "), colours.red(repeat("▰", cells[0])),
                     colours.green(repeat("▰", cells[1])), colours.yellow(repeat("▰", cells[2])),
                     colours.dim(repeat("▱", cells[3])));
}

std::string legend(const region_state& state, const palette& colours) {
  std::vector<std::string> parts;
  if (state.failed > 0) parts.push_back(colours.red(fmt::format("{} failed", state.failed)));
  if (state.success > 0) parts.push_back(colours.green(fmt::format("{} success", state.success)));
  if (state.skipped > 0) parts.push_back(colours.yellow(fmt::format("{} skipped", state.skipped)));
  parts.push_back(fmt::format("{} total", state.total));
  return "            " + join(parts, " · ");
}

}  // namespace

std::string clipped(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string out;
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts && ++width == columns) return out + "…";
    out += text[i];
  }
  return out;
}

std::vector<std::string> region_lines(const region_state& state, std::size_t columns, const palette& colours) {
  std::vector<std::string> lines{""};
  for (const std::string& id : state.servers) {
    lines.push_back(fmt::format(" {} {} {}", colours.cyan("▸"),
                                colours.id(clipped(printable(id), columns > 12 ? columns - 12 : 0)), colours.cyan("running")));
  }
  for (const region_state::worker& worker : state.workers) lines.push_back(worker_line(worker, columns, colours));
  if (state.more > 0) lines.push_back(colours.dim(fmt::format(" … +{} more", state.more)));
  if (columns > k_rule_columns) {
    lines.push_back(colours.dim("─ vx " + repeat("─", k_rule_columns - 5)));
    lines.push_back(meter(state, colours));
    lines.push_back(legend(state, colours));
  }
  for (std::string& line : lines) line += '\n';
  return lines;
}

}  // namespace vx::cli
