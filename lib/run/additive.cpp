#include "run/additive.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/path.hpp"
#include "cache/row_blobs.hpp"
#include "cache/store.hpp"
#include "inputs/stamps.hpp"

namespace vx::run {
namespace {

/// What a task placed last: 16 bytes key, u32 length of the rows, rows, stamps (blobs of cache.md 3.4).
struct placed_state {
  digest128 key;
  cache::stamped_outputs outputs;
};

std::optional<placed_state> decode(std::string_view blob) {
  constexpr std::size_t k_head = 20;
  placed_state out;
  if (blob.size() < k_head) return std::nullopt;
  std::memcpy(out.key.raw.data(), blob.data(), 16);
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size |= std::uint32_t{static_cast<unsigned char>(blob[16 + i])} << (8 * i);
  if (size > blob.size() - k_head) return std::nullopt;
  auto rows = cache::decode_outputs(blob.substr(k_head, size));
  auto stamps = cache::decode_stamps(blob.substr(k_head + size));
  if (!rows || !stamps || rows->size() != stamps->size()) return std::nullopt;
  out.outputs = {std::move(*rows), std::move(*stamps)};
  return out;
}

std::string encode(const digest128& key, const std::vector<cache::output_row>& rows,
                   const std::vector<cache::output_stamp>& stamps) {
  const std::string first = cache::encode_outputs(rows);
  std::string out(key.view());
  for (std::size_t i = 0; i < 4; ++i)
    out.push_back(static_cast<char>(static_cast<std::uint32_t>(first.size()) >> (8 * i) & 0xff));
  return out + first + cache::encode_stamps(stamps);
}

std::string meta_name(const run_state& s, std::uint32_t node) { return "additive " + s.p.graph.nodes[node].id; }

std::optional<placed_state> read(const run_state& s, std::uint32_t node) {
  const std::optional<std::string> blob = s.p.index->meta(meta_name(s, node));
  return blob ? decode(*blob) : std::nullopt;
}

}  // namespace

void prepare_additive(run_state& s) {
  for (std::uint32_t node = 0; node < s.judged.adds_to.size(); ++node) {
    const auto& by = s.judged.added_by[node];
    if (by.empty() && s.judged.adds_to[node].empty()) continue;
    auto scope = std::make_shared<cache::output_scope>(*s.p.tasks[node].scope);
    scope->additive = !s.judged.adds_to[node].empty();
    auto kept = std::make_shared<std::vector<std::pair<cache::space, std::string>>>();
    for (const std::uint32_t dependant : by) {
      const auto placed = read(s, dependant);
      if (!placed) continue;
      const cache::output_scope& theirs = *s.p.tasks[dependant].scope;
      for (const cache::output_row& r : cache::still_placed(theirs, placed->outputs)) {
        // Their paths as this task sees them.
        const std::string at_root = r.space == cache::space::project ? path::join(theirs.project_dir, r.path) : r.path;
        kept->emplace_back(cache::space::workspace, at_root);
        if (path::is_within(at_root, scope->project_dir))
          kept->emplace_back(cache::space::project, std::string(path::relative_to(at_root, scope->project_dir)));
      }
    }
    std::sort(kept->begin(), kept->end());
    if (!by.empty()) scope->tolerated = std::move(kept);
    s.p.tasks[node].scope = std::move(scope);
  }
}

std::string additive_task::name() const { return meta_name(s_, node_); }

bool additive_task::placed(const digest128& key) const {
  const auto last = read(s_, node_);
  return last && last->key == key;
}

status additive_task::clean(const std::vector<cache::output_row>& keep) {
  const auto last = read(s_, node_);
  if (!last) return {};
  const cache::output_scope& scope = *s_.p.tasks[node_].scope;
  std::vector<cache::output_row> kept = keep;
  for (const std::uint32_t w : s_.judged.adds_to[node_]) {
    // An empty directory of the dependency that this task filled stays, whoever empties it.
    if (!s_.keys.known(w)) continue;
    if (const auto theirs = s_.p.store->lookup(s_.keys.at(w).key))
      for (const cache::output_row& r : theirs->outputs)
        if (r.kind == 'd') kept.push_back(r);
  }
  std::sort(kept.begin(), kept.end(), cache::row_before);
  auto removed = cache::clean_rows(scope, cache::still_placed(scope, last->outputs), kept);
  if (!removed) return fail(std::move(removed).error());
  s_.p.facts->forget_paths(*removed);
  s_.p.index->put_meta(name(), {});
  return {};
}

void additive_task::record(const digest128& key, const std::vector<cache::output_row>& rows,
                           const std::vector<cache::output_stamp>& stamps) {
  s_.p.index->put_meta(name(), encode(key, rows, stamps));
}

result<additive_task::found> additive_task::look() const {
  found out;
  VX_TRY_LET(out.outputs, cache::list_stamped(*s_.p.tasks[node_].scope));
  std::int64_t last = INT64_MIN;
  for (const cache::output_stamp& stamp : out.outputs.stamps) last = std::max(last, stamp.ctime_ns);
  VX_TRY_LET(const unique_fd root, fs::open_dir_at(fs::k_cwd, s_.p.h->root));
  const inputs::file_clock clock(root.get());
  // The clock that stamps files stands still for a tick: what the dependency wrote in it can't be told from what the command
  // writes.
  constexpr int k_longest_ticks_ms = 20;
  for (int i = 0; last >= clock.now_ns() && i < k_longest_ticks_ms; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  out.certain = last < clock.now_ns();
  return out;
}

}  // namespace vx::run
