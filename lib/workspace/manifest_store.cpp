// Three memos. "manifests-1" holds per package.json and per directory the stamps and what every open needs, and the package
// graph they yield; "manifest-deps-1" holds the dependency maps, which only a changed workspace asks for.
#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/clock.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "base/threads.hpp"
#include "workspace/manifest.hpp"

namespace vx::workspace {

namespace {

constexpr std::uint32_t k_format = 1;
constexpr std::size_t k_manifest_max = std::size_t{64} << 20;
constexpr std::string_view k_heads_blob = "manifests-1", k_deps_blob = "manifest-deps-1";

/// `now` was taken before the lstat that yielded `s`.
bool settled(const stamps& s, std::int64_t now) noexcept { return !fs::is_racy(s.mtime, now) && !fs::is_racy(s.ctime, now); }

void put(byte_writer& w, const stamps& s) {
  w.u64(s.size);
  w.u64(s.ino);
  for (const fs::timestamp& t : {s.mtime, s.ctime}) {
    w.i64(t.sec);
    w.u32(t.ns);
  }
}
stamps get_stamps(byte_reader& r) {
  stamps s;
  s.size = r.u64();
  s.ino = r.u64();
  s.mtime.sec = r.i64();
  s.mtime.ns = r.u32();
  s.ctime.sec = r.i64();
  s.ctime.ns = r.u32();
  return s;
}

/// A remembered row: its stamps, and where the rest of it lies in the blob.
struct row_ref {
  stamps at;
  std::string_view body;
};
using row_index = std::unordered_map<std::string_view, row_ref>;

bool read_rows(byte_reader& r, row_index& out) {
  const std::uint32_t n = r.u32();
  if (n > r.remaining()) return false;
  out.reserve(n);
  for (std::uint32_t i = 0; i < n && r.ok(); ++i) {
    const std::string_view path = r.text32();
    const stamps s = get_stamps(r);
    out[path] = {s, r.text32()};
  }
  return r.ok();
}

void put_row(byte_writer& w, std::string_view path, const stamps& s, std::string_view body) {
  w.text32(path);
  put(w, s);
  w.text32(body);
}

std::string encode(const manifest_head& h) {
  byte_writer w;
  w.u8(h.named ? 1 : 0);
  w.text32(h.name);
  w.text32(h.version);
  return w.take();
}
bool decode(std::string_view body, manifest_head& h) {
  byte_reader r(body);
  h.exists = true;
  h.named = r.u8() != 0;
  h.name = r.text32();
  h.version = r.text32();
  return r.ok() && r.at_end();
}

std::string encode(const dir_facts& f) {
  byte_writer w;
  w.u8(f.worktree_file ? 1 : 0);
  w.text32(f.config);
  w.u32(static_cast<std::uint32_t>(f.unread.size()));
  for (const std::string& name : f.unread) w.text32(name);
  return w.take();
}
bool decode(std::string_view body, dir_facts& f) {
  byte_reader r(body);
  f.worktree_file = r.u8() != 0;
  f.config = r.text32();
  const std::uint32_t n = r.u32();
  for (std::uint32_t i = 0; i < n && r.ok(); ++i) f.unread.emplace_back(r.text32());
  return r.ok() && r.at_end();
}

std::string encode(const dep_maps& maps) {
  byte_writer w;
  for (const auto& map : maps) {
    w.u32(static_cast<std::uint32_t>(map.size()));
    for (const auto& [key, spec] : map) {
      w.text32(key);
      w.text32(spec);
    }
  }
  return w.take();
}
bool decode(std::string_view body, dep_maps& maps) {
  byte_reader r(body);
  for (auto& map : maps) {
    const std::uint32_t n = r.u32();
    if (n > r.remaining()) return false;
    map.reserve(n);
    for (std::uint32_t i = 0; i < n && r.ok(); ++i) {
      const std::string_view key = r.text32();
      map.emplace_back(key, r.text32());
    }
  }
  return r.ok() && r.at_end();
}

struct probe {
  result<fs::stat_info> dir = fs::stat_info{}, manifest = fs::stat_info{};
};

}  // namespace

struct manifest_store::impl {
  std::string root;
  int root_fd;
  eval_memo* memo;

  std::string heads_blob, deps_blob;  // alive as long as the views into them
  row_index heads, dirs, deps;
  digest128 graph_key;
  std::string_view graph_value;
  bool deps_loaded = false;

  /// Rows of the next blobs. The views lead into the old blobs or into `kept`.
  struct out_row {
    std::string_view path;
    stamps at;
    std::string_view body;
  };
  std::vector<out_row> out_heads, out_dirs, out_deps;
  std::deque<std::string> kept;
  std::optional<std::pair<digest128, std::string>> new_graph;
  bool changed = false, deps_changed = false;
  std::size_t parsed = 0;

  /// Parsed in this process, by directory: a cold open asks for the head first and for the maps later.
  std::unordered_map<std::string, std::pair<stamps, dep_maps>> fresh_deps;

  void load_heads() {
    if (memo == nullptr) return;
    auto blob = memo->blob(k_heads_blob);
    if (!blob) return;
    heads_blob = std::move(*blob);
    byte_reader r(heads_blob);
    if (r.u32() != k_format || !read_rows(r, heads) || !read_rows(r, dirs)) {
      heads.clear();
      dirs.clear();
      return;
    }
    const std::string_view key = r.raw(16);
    graph_value = r.text32();
    if (!r.ok() || !r.at_end()) {
      heads.clear();
      dirs.clear();
      graph_value = {};
      return;
    }
    std::copy_n(reinterpret_cast<const std::byte*>(key.data()), 16, graph_key.raw.begin());
  }

  void load_deps() {
    if (deps_loaded) return;
    deps_loaded = true;
    if (memo == nullptr) return;
    auto blob = memo->blob(k_deps_blob);
    if (!blob) return;
    deps_blob = std::move(*blob);
    byte_reader r(deps_blob);
    if (r.u32() != k_format || !read_rows(r, deps) || !r.at_end()) deps.clear();
  }

  /// The row of `path` when its stamps are still the same; it is carried over to `out`.
  template <class Value>
  static bool reuse(const row_index& rows, std::string_view path, const stamps& s, std::vector<out_row>& out, Value& value) {
    const auto it = rows.find(path);
    if (it == rows.end() || !(it->second.at == s) || !decode(it->second.body, value)) return false;
    out.push_back({it->first, s, it->second.body});
    return true;
  }
  void add(std::vector<out_row>& out, const std::string& path, const stamps& s, std::string body) {
    kept.push_back(path);
    const std::string_view p = kept.back();
    kept.push_back(std::move(body));
    out.push_back({p, s, kept.back()});
  }

  std::string file_of(const std::string& dir) const { return path::join(dir, "package.json"); }

  result<dir_facts> list(const std::string& dir, bool& keep) {
    dir_facts f;
    VX_TRY_LET(const std::vector<fs::dir_entry> entries, fs::list_dir_at(root_fd, dir.empty() ? "." : dir));
    bool configs = false;
    for (const fs::dir_entry& e : entries) {
      if (e.name == ".git" && e.kind == fs::kind::file) f.worktree_file = true;
      if (!e.name.starts_with("vx.config.")) continue;
      configs = true;
      if (e.kind == fs::kind::link) keep = false;  // what it leads to may come and go without a trace in this directory
    }
    if (configs) {
      std::vector<std::string> others;
      if (const auto found = config_loader::find(root, dir, "vx.config", &others)) f.config = path::base_name(*found);
      for (const std::string& o : others) f.unread.emplace_back(path::base_name(o));
    }
    return f;
  }

  void dir_answer(const std::string& dir, fs::stat_info st, std::int64_t now, answer& a) {
    bool keep = memo != nullptr;
    bool link = false;
    if (st.kind == fs::kind::link) {
      link = true;
      keep = false;
      if (auto followed = fs::stat_at(root_fd, dir); followed && followed->kind == fs::kind::dir) st = *followed;
    }
    if (st.kind != fs::kind::dir) return;
    const stamps s = stamps::of(st);
    if (!keep || !reuse(dirs, dir, s, out_dirs, a.facts)) {
      a.facts = {};
      auto listed = list(dir, keep);
      if (!listed) {
        a.error = unreadable(std::move(listed).error());
        return;
      }
      a.facts = std::move(*listed);
      if (keep && settled(s, now)) {
        add(out_dirs, dir, s, encode(a.facts));
        changed = true;
      }
    }
    a.facts.exists = true;
    a.facts.via_link = link;
  }

  result<manifest_head> read_head(const std::string& dir, const stamps& s) {
    const std::string file = file_of(dir);
    auto text = fs::read_file_at(root_fd, file, k_manifest_max);
    if (!text) return fail(unreadable(std::move(text).error()));
    ++parsed;
    VX_TRY_LET(const json::value v, parse_manifest(*text, file));
    VX_TRY_LET(manifest_head head, manifest_head_of(v, file));
    fresh_deps[dir] = {s, manifest_deps_of(v)};
    return head;
  }

  void head_answer(const std::string& dir, const fs::stat_info& st, std::int64_t now, answer& a) {
    if (!st.exists()) return;
    const bool keep = memo != nullptr && st.kind == fs::kind::file;
    const stamps s = stamps::of(st);
    a.head_stamps = s;
    if (keep && reuse(heads, dir, s, out_heads, a.head)) return;
    a.head = {};
    if (st.kind == fs::kind::link) {
      // A dangling link is no manifest.
      if (const auto followed = fs::stat_at(root_fd, file_of(dir)); followed && !followed->exists()) return;
    }
    auto head = read_head(dir, s);
    if (!head) {
      a.error = std::move(head).error();
      return;
    }
    a.head = std::move(*head);
    if (keep && settled(s, now)) {
      add(out_heads, dir, s, encode(a.head));
      changed = true;
    }
  }
};

manifest_store::manifest_store(std::string root, int root_fd, eval_memo* memo) : impl_(std::make_unique<impl>()) {
  impl_->root = std::move(root);
  impl_->root_fd = root_fd;
  impl_->memo = memo;
  impl_->load_heads();
}
manifest_store::~manifest_store() = default;

std::vector<manifest_store::answer> manifest_store::look_up(const std::vector<std::string>& dirs) {
  impl& m = *impl_;
  const std::int64_t now = wall_ns();
  std::vector<probe> probes(dirs.size());
  // The listing of files has the other core.
  parallel_for(dirs.size(), std::clamp(usable_cpus() - 1, 1U, 4U), 512, [&](std::size_t begin, std::size_t end) {
    std::string file;
    for (std::size_t i = begin; i < end; ++i) {
      probes[i].dir = fs::lstat_at(m.root_fd, dirs[i].empty() ? "." : dirs[i]);
      if (!probes[i].dir || !probes[i].dir->exists()) continue;
      file.assign(dirs[i]);
      if (!file.empty()) file += '/';
      file += "package.json";
      probes[i].manifest = fs::lstat_at(m.root_fd, file);
    }
  });
  std::vector<answer> answers(dirs.size());
  for (std::size_t i = 0; i < dirs.size(); ++i) {
    answer& a = answers[i];
    for (auto* p : {&probes[i].dir, &probes[i].manifest}) {
      if (*p || a.error) continue;
      a.error = unreadable(std::move(*p).error());
      a.unsearchable = a.error->sys == EACCES;
    }
    if (a.error) continue;
    m.head_answer(dirs[i], *probes[i].manifest, now, a);
    if (!a.error) m.dir_answer(dirs[i], *probes[i].dir, now, a);
  }
  return answers;
}

result<std::vector<dep_maps>> manifest_store::deps(const std::vector<known>& asked, bool& stable) {
  impl& m = *impl_;
  m.load_deps();
  stable = true;
  std::vector<dep_maps> out(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string& dir = asked[i].dir;
    const std::int64_t now = wall_ns();
    auto st = fs::lstat_at(m.root_fd, m.file_of(dir));
    if (!st) return fail(unreadable(std::move(st).error()));
    const stamps s = stamps::of(*st);
    const bool keep = m.memo != nullptr && st->kind == fs::kind::file;
    stable = stable && keep && s == asked[i].at;
    if (keep && impl::reuse(m.deps, dir, s, m.out_deps, out[i])) continue;
    out[i] = {};
    auto fresh = m.fresh_deps.find(dir);
    if (fresh == m.fresh_deps.end() || !(fresh->second.first == s)) {
      VX_TRY(m.read_head(dir, s));
      fresh = m.fresh_deps.find(dir);
    }
    out[i] = fresh->second.second;
    if (keep && settled(s, now)) {
      m.add(m.out_deps, dir, s, encode(out[i]));
      m.deps_changed = true;
    } else {
      stable = false;
    }
  }
  return out;
}

std::optional<std::string> manifest_store::graph(const digest128& key) const {
  if (impl_->graph_value.empty() || !(impl_->graph_key == key)) return std::nullopt;
  return std::string(impl_->graph_value);
}

void manifest_store::set_graph(const digest128& key, std::string value) {
  impl_->new_graph.emplace(key, std::move(value));
  impl_->changed = true;
}

void manifest_store::store() {
  impl& m = *impl_;
  if (m.memo == nullptr) return;
  const auto rows = [](byte_writer& w, const std::vector<impl::out_row>& list) {
    w.u32(static_cast<std::uint32_t>(list.size()));
    for (const impl::out_row& r : list) put_row(w, r.path, r.at, r.body);
  };
  if (m.changed || m.out_heads.size() != m.heads.size() || m.out_dirs.size() != m.dirs.size()) {
    byte_writer w;
    w.u32(k_format);
    rows(w, m.out_heads);
    rows(w, m.out_dirs);
    const digest128 key = m.new_graph ? m.new_graph->first : m.graph_key;
    w.raw(key.view());
    w.text32(m.new_graph ? std::string_view(m.new_graph->second) : m.graph_value);
    m.memo->store_blob(std::string(k_heads_blob), w.take());
  }
  if (m.deps_changed) {
    byte_writer w;
    w.u32(k_format);
    rows(w, m.out_deps);
    m.memo->store_blob(std::string(k_deps_blob), w.take());
  }
  m.changed = m.deps_changed = false;
}

std::size_t manifest_store::parsed() const noexcept { return impl_->parsed; }

}  // namespace vx::workspace
