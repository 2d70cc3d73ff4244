// Which index ids lose trust: converting attributes and blobs of another size. Both answers depend on the index's records and
// the attribute sources alone, so they are remembered under a digest of those.
#include <algorithm>
#include <unordered_map>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "cache/index.hpp"
#include "inputs/listing.hpp"
#include "key/digest.hpp"

namespace vx::inputs {
namespace {

constexpr std::string_view k_attributes = ".gitattributes";
constexpr std::size_t k_source_most = std::size_t{64} << 20;

/// Entries an id could be believed of: stage 0, a file or link, no flag.
std::vector<const git::index_entry*> eligible(const git::index_snapshot& index) {
  std::vector<const git::index_entry*> out;
  out.reserve(index.entries.size());
  for (const git::index_entry& e : index.entries) {
    if (e.stage == 0 && !e.assume_valid && !e.skip_worktree && !e.intent_to_add && e.mode != git::k_mode_gitlink)
      out.push_back(&e);
  }
  return out;
}

/// Everything about the records that either verdict depends on; stamps are left out, so a refresh of the index changes nothing.
std::string record_bytes(const std::vector<const git::index_entry*>& entries, std::uint8_t oid_size) {
  std::string raw;
  std::size_t total = 0;
  for (const git::index_entry* e : entries) total += e->path.size() + oid_size + 9;
  raw.reserve(total);
  for (const git::index_entry* e : entries) {
    raw.append(reinterpret_cast<const char*>(&e->size), sizeof e->size);
    raw.append(reinterpret_cast<const char*>(&e->mode), sizeof e->mode);
    raw.append(e->oid, oid_size);
    raw.append(e->path).push_back('\0');
  }
  return raw;
}

// A verdict row: '+' and the paths, or '-' and the paths of the others; each path ends in NUL.
std::string encode_verdict(const std::vector<const git::index_entry*>& entries, const std::vector<bool>& hit) {
  const auto hits = static_cast<std::size_t>(std::count(hit.begin(), hit.end(), true));
  const bool listed = hits <= entries.size() / 2;
  std::string row(1, listed ? '+' : '-');
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (hit[i] == listed) row.append(entries[i]->path).push_back('\0');
  }
  return row;
}

bool decode_verdict(std::string_view row, const std::vector<const git::index_entry*>& entries, std::vector<bool>& hit) {
  if (row.empty() || (row[0] != '+' && row[0] != '-')) return false;
  const bool listed = row[0] == '+';
  hit.assign(entries.size(), !listed);
  std::size_t at = 0;
  for (std::string_view rest = row.substr(1); !rest.empty();) {
    const std::size_t nul = rest.find('\0');
    if (nul == std::string_view::npos) return false;
    const std::string_view path = rest.substr(0, nul);
    rest.remove_prefix(nul + 1);
    while (at < entries.size() && entries[at]->path != path) ++at;
    if (at == entries.size()) return false;  // not a row of these entries
    hit[at++] = listed;
  }
  return true;
}

class trust_keeper {
 public:
  trust_keeper(const tree_context& tree, start_listing& listing, cache::index* memo, pool& bytes)
      : tree_(tree), listing_(listing), memo_(memo), bytes_(bytes) {}

  status run() {
    if (!listing_.from_git || listing_.index.entries.empty() || mutated("no-trust-checks")) return {};
    if (listing_.settings.converts_all) {
      distrust_all();
      return {};
    }
    entries_ = eligible(listing_.index);
    const std::string raw = record_bytes(entries_, listing_.index.oid_size);
    records_ = key::xxh3_128(raw);
    VX_TRY(check_sizes());
    return check_attributes();
  }

 private:
  void distrust(file& f) {
    if (f.content != nullptr) return;
    f.identity = {};
    f.content = bytes_.new_slot();
  }
  void distrust_all() {
    for (file& f : listing_.files) distrust(f);
  }
  void distrust(const std::vector<bool>& hit) {
    auto at = listing_.files.begin();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!hit[i]) continue;
      const std::string_view path = entries_[i]->path;
      at = std::partition_point(at, listing_.files.end(), [path](const file& f) { return f.path < path; });
      if (at != listing_.files.end() && at->path == path) distrust(*at);
    }
  }

  digest128 verdict_name(std::string_view kind, const std::string& more) const {
    std::string text(kind);
    text.append(records_.view()).append(listing_.repo->prefix).push_back('\0');
    return key::xxh3_128(text + more);
  }

  /// The row counts only for an index that was at rest: written before this run began and not since.
  bool index_at_rest() const {
    std::int64_t written = 0;
    if (!listing_.index.file.mtime.to_ns(written) || written >= listing_.started_ns) return false;
    const auto now = fs::lstat_at(fs::k_cwd, listing_.repo->git_dir + "/index");
    if (!now || !now->exists()) return false;
    return !listing_.index.direct || (now->ino == listing_.index.file.ino && now->ctime == listing_.index.file.ctime);
  }

  // Blob sizes -----------------------------------------------------------------------------------------------------

  status check_sizes() {
    if (mutated("no-blob-size")) return {};
    const digest128 name = verdict_name("vx-sizes-1\n", "");
    std::vector<bool> hit;
    if (memo_ != nullptr && index_at_rest()) {
      if (const auto row = memo_->verdict(name); row && decode_verdict(*row, entries_, hit)) {
        distrust(hit);
        return {};
      }
    }
    VX_TRY_LET(auto sizes, sizes_of_entries());
    hit.assign(entries_.size(), false);
    for (std::size_t i = 0; i < entries_.size(); ++i) hit[i] = !sizes[i] || *sizes[i] != entries_[i]->size;
    distrust(hit);
    if (memo_ != nullptr) memo_->put_verdict(name, encode_verdict(entries_, hit));
    return {};
  }

  result<std::vector<std::optional<std::uint64_t>>> sizes_of_entries() {
    const std::uint8_t n = listing_.index.oid_size;
    std::unordered_map<std::string_view, std::uint64_t> known;
    std::vector<std::pair<key::oid, std::uint64_t>> rows;
    if (memo_ != nullptr) {
      std::vector<key::oid> ids;
      for (const git::index_entry* e : entries_) ids.push_back(key::oid::from_raw({e->oid, n}));
      rows = memo_->blob_sizes(ids);
      for (const auto& [id, size] : rows) known.emplace(id.view(), size);
    }
    std::vector<std::string_view> ask;
    for (const git::index_entry* e : entries_) {
      const std::string_view id{e->oid, n};
      if (known.find(id) == known.end()) ask.push_back(id);
    }
    std::sort(ask.begin(), ask.end());
    ask.erase(std::unique(ask.begin(), ask.end()), ask.end());
    VX_TRY_LET(auto told, git::blob_sizes(*tree_.git, tree_.root, ask, tree_.cancel));
    std::vector<std::pair<key::oid, std::uint64_t>> learned;
    for (std::size_t i = 0; i < ask.size(); ++i) {
      if (!told[i]) continue;
      known.emplace(ask[i], *told[i]);
      learned.emplace_back(key::oid::from_raw(ask[i]), *told[i]);
    }
    if (memo_ != nullptr && !learned.empty()) memo_->put_blob_sizes(learned);
    std::vector<std::optional<std::uint64_t>> sizes(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (const auto at = known.find({entries_[i]->oid, n}); at != known.end()) sizes[i] = at->second;
    }
    return sizes;
  }

  // Attributes -----------------------------------------------------------------------------------------------------

  /// Directories of the tree with a .gitattributes on disk, ignored ones included. Their absence is remembered by the stamps of
  /// all directories: a file can't appear in one without moving its ctime.
  std::vector<std::string> attribute_dirs() {
    if (mutated("no-disk-attributes")) return {};
    std::string stamps;
    bool settled = true;
    for (const prober::dir_stamp& d : listing_.dirs) {
      stamps.append(d.path).push_back('\0');
      for (const std::int64_t v : {static_cast<std::int64_t>(d.info.ino), d.info.ctime.sec, std::int64_t{d.info.ctime.ns}}) {
        stamps.append(reinterpret_cast<const char*>(&v), sizeof v);
      }
      settled = settled && !fs::is_racy(d.info.ctime, listing_.dirs_ns);
    }
    fs::stat_info root;
    const bool rooted = !fs::exists_at(tree_.root_fd, ".gitattributes");
    const digest128 now = key::xxh3_128(stamps);
    static constexpr std::string_view k_name = "attribute-dirs";
    if (memo_ != nullptr) {
      if (const auto row = memo_->meta(k_name);
          row && row->size() >= 16 && std::string_view(*row).substr(0, 16) == now.view()) {
        return with_root(rooted, split_dirs(std::string_view(*row).substr(16)));
      }
    }
    std::vector<std::string> found;
    for (const prober::dir_stamp& d : listing_.dirs) {
      std::string dir(d.path);
      if (d.info.kind == fs::kind::dir && fs::exists_at(tree_.root_fd, path::join(dir, k_attributes)))
        found.push_back(std::move(dir));
    }
    if (memo_ != nullptr && settled) {
      std::string row(now.view());
      for (const std::string& dir : found) row.append(dir).push_back('\0');
      memo_->put_meta(std::string(k_name), std::move(row));
    }
    return with_root(rooted, std::move(found));
  }

  static std::vector<std::string> with_root(bool absent, std::vector<std::string> dirs) {
    if (!absent) dirs.insert(dirs.begin(), std::string());
    return dirs;
  }
  static std::vector<std::string> split_dirs(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
      const std::size_t nul = std::min(text.find('\0'), text.size());
      out.emplace_back(text.substr(0, nul));
      text.remove_prefix(std::min(nul + 1, text.size()));
    }
    return out;
  }

  bool index_has_attributes() const {
    if (!listing_.index.enclosing_attributes.empty()) return true;
    return std::any_of(listing_.index.entries.begin(), listing_.index.entries.end(),
                       [](const git::index_entry& e) { return path::base_name(e.path) == k_attributes; });
  }

  /// Path and content of every source on disk.
  std::string source_bytes(const std::vector<std::string>& sources) const {
    byte_writer w;
    for (const std::string& s : sources) {
      w.text32(s);
      auto text = fs::read_file_at(fs::k_cwd, s, k_source_most);
      w.u8(text ? 1 : 0);
      w.text32(text ? std::string_view(*text) : std::string_view());
    }
    // The index stands in for a file that is missing on disk; above the asked directory its records are not in the digest.
    for (const std::string& s : listing_.index.enclosing_attributes) w.text32(s);
    return w.take();
  }

  status check_attributes() {
    std::vector<std::string> sources = git::outside_attribute_sources(*listing_.repo, listing_.settings);
    if (mutated("no-global-attributes")) sources.clear();
    for (const std::string& dir : attribute_dirs()) sources.push_back(path::join(path::join(tree_.root, dir), k_attributes));
    if (sources.empty() && !index_has_attributes()) return {};
    const std::string before = source_bytes(sources);
    const digest128 name = verdict_name("vx-attributes-1\n", before);
    std::vector<bool> hit;
    if (memo_ != nullptr && listing_.index.enclosing_attributes.empty()) {
      if (const auto row = memo_->verdict(name); row && decode_verdict(*row, entries_, hit)) {
        distrust(hit);
        return {};
      }
    }
    std::vector<std::string_view> paths;
    paths.reserve(entries_.size());
    for (const git::index_entry* e : entries_) paths.push_back(e->path);
    auto carriers = git::attribute_carriers(*tree_.git, tree_.root, paths, tree_.cancel);
    if (!carriers) {
      if (carriers.error().code == errc::CANCELLED) return fail(std::move(carriers).error());
      distrust_all();
      return {};
    }
    distrust(*carriers);
    if (memo_ != nullptr && source_bytes(sources) == before) memo_->put_verdict(name, encode_verdict(entries_, *carriers));
    return {};
  }

  const tree_context& tree_;
  start_listing& listing_;
  cache::index* memo_;
  pool& bytes_;
  std::vector<const git::index_entry*> entries_;
  digest128 records_;
};

}  // namespace

status settle_trust(const tree_context& tree, start_listing& listing, cache::index* memo, pool& bytes) {
  return trust_keeper(tree, listing, memo, bytes).run();
}

}  // namespace vx::inputs
