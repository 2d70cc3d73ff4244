#include "workspace/eval_trace.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/racy.hpp"
#include "key/digest.hpp"

namespace vx::workspace {
namespace {

constexpr std::uint8_t k_format = 1;

std::int64_t ns_of(const fs::timestamp& t) noexcept {
  std::int64_t ns = 0;
  return t.to_ns(ns) ? ns : 0;
}

fact read_fact(byte_reader& r, std::size_t& stamps_at) {
  fact f;
  f.what = static_cast<fact::kind>(r.u8());
  f.path = r.text32();
  stamps_at = r.position();
  if (f.what == fact::kind::file || f.what == fact::kind::stat) {
    f.size = r.u64();
    f.mtime_ns = r.i64();
    f.ctime_ns = r.i64();
    f.ino = r.u64();
  }
  if (f.what == fact::kind::exists || f.what == fact::kind::stat) f.mode = r.u32();
  f.value = r.text32();
  return f;
}

void write_stamps(byte_writer& w, std::uint64_t size, std::int64_t mtime, std::int64_t ctime, std::uint64_t ino) {
  w.u64(size);
  w.i64(mtime);
  w.i64(ctime);
  w.u64(ino);
}

}  // namespace

std::string encode_trace(const trace& t) {
  byte_writer w;
  w.u8(k_format);
  w.raw(t.host.view());
  w.raw(as_text(t.salt));
  w.u32(static_cast<std::uint32_t>(t.facts.size()));
  for (const fact& f : t.facts) {
    w.u8(static_cast<std::uint8_t>(f.what));
    w.text32(f.path);
    if (f.what == fact::kind::file || f.what == fact::kind::stat) write_stamps(w, f.size, f.mtime_ns, f.ctime_ns, f.ino);
    if (f.what == fact::kind::exists || f.what == fact::kind::stat) w.u32(f.mode);
    w.text32(f.value);
  }
  return w.take();
}

std::string env_digest(const std::array<std::byte, 16>& salt, std::string_view name, std::string_view value) {
  std::string text(as_text(salt));
  text += name;
  text += '\0';
  text += value;
  return key::sha256_hex(text);
}

std::string env_block_digest(const std::array<std::byte, 16>& salt, const environment& env) {
  std::string text(as_text(salt));
  for (const auto& [name, value] : env.vars()) {
    text += name;
    text += '=';
    text += value;
    text += '\0';
  }
  return key::sha256_hex(text);
}

std::string dir_text(std::vector<fs::dir_entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const fs::dir_entry& a, const fs::dir_entry& b) { return a.name < b.name; });
  std::string out;
  for (const fs::dir_entry& e : entries) {
    out += e.name;
    out += '\0';
    out += static_cast<char>('0' + static_cast<int>(e.kind));
  }
  return out;
}

const fs::stat_info* fact_checker::stat_of(std::string_view path, bool follow) {
  auto it = seen_.find(path);
  if (it == seen_.end()) it = seen_.emplace(std::string(path), known{}).first;
  known& k = it->second;
  bool& have = follow ? k.have_follow : k.have_self;
  fs::stat_info& info = follow ? k.follow : k.self;
  if (!have) {
    const std::string& name = it->first.empty() ? std::string(".") : it->first;
    auto r = follow ? fs::stat_at(root_, name) : fs::lstat_at(root_, name);
    if (r) {
      info = *r;
    } else {
      k.failed = true;  // permission, a loop: doubt
    }
    have = true;
  }
  return k.failed ? nullptr : &info;
}

bool fact_checker::same_content(const fact& f) {
  if (f.value.size() != 20) return false;
  auto it = blobs_.find(f.path);
  if (it == blobs_.end()) {
    const auto raw = fs::read_file_at(root_, f.path, std::size_t{64} << 20);
    std::string id = raw ? std::string(key::git_blob_id(*raw, key::object_format::sha1).view()) : std::string();
    it = blobs_.emplace(f.path, std::move(id)).first;
  }
  return it->second == f.value;
}

bool fact_checker::file_holds(const fact& f, std::size_t stamps_at) {
  const fs::stat_info* now = stat_of(f.path, true);
  if (now == nullptr || now->kind != fs::kind::file || now->size != f.size) return false;
  const std::int64_t mtime = ns_of(now->mtime);
  const std::int64_t ctime = ns_of(now->ctime);
  if (mtime == f.mtime_ns && ctime == f.ctime_ns && now->ino == f.ino) return true;
  if (!same_content(f)) return false;
  if (fs::is_racy(now->ctime, wall_ns())) return true;  // holds now; the old stamps stay, so the next run looks again
  byte_writer w;
  write_stamps(w, now->size, mtime, ctime, now->ino);
  refreshed_.replace(stamps_at, w.size(), w.str());
  return true;
}

bool fact_checker::holds(const fact& f, const std::array<std::byte, 16>& salt) {
  const fs::stat_info* now = nullptr;
  switch (f.what) {
    case fact::kind::file: return false;  // asked through file_holds
    case fact::kind::absent: now = stat_of(f.path, true); return now != nullptr && !now->exists();
    case fact::kind::exists:
      now = stat_of(f.path, true);
      return now != nullptr && static_cast<std::uint32_t>(now->kind) == f.mode;
    case fact::kind::stat:
      now = stat_of(f.path, f.ino != 0);
      return now != nullptr && now->size == f.size && now->mode == (f.mode & 07777) &&
             static_cast<std::uint32_t>(now->kind) == (f.mode >> 16) && ns_of(now->mtime) == f.mtime_ns;
    case fact::kind::link: {
      const auto target = fs::read_link_at(root_, f.path);
      return target && *target == f.value;
    }
    case fact::kind::dir: {
      auto entries = fs::list_dir_at(root_, f.path.empty() ? "." : f.path);
      return entries && dir_text(std::move(*entries)) == f.value;
    }
    case fact::kind::env: {
      const std::string* value = env_.find(f.path);
      return value == nullptr ? f.value.empty() : f.value == env_digest(salt, f.path, *value);
    }
    case fact::kind::env_all: return f.value == env_block_digest(salt, env_);
  }
  return false;
}

fact_checker::verdict fact_checker::check(std::string_view raw, const digest128& host) {
  byte_reader r(raw);
  if (r.u8() != k_format || r.raw(16) != host.view()) return verdict::stale;
  const std::string_view salt_text = r.raw(16);
  std::array<std::byte, 16> salt{};
  if (!r.ok()) return verdict::stale;
  std::memcpy(salt.data(), salt_text.data(), salt.size());
  refreshed_.assign(raw);
  const std::uint32_t n = r.u32();
  for (std::uint32_t i = 0; i < n; ++i) {
    std::size_t stamps_at = 0;
    const fact f = read_fact(r, stamps_at);
    if (!r.ok()) return verdict::stale;
    if (f.what == fact::kind::file ? !file_holds(f, stamps_at) : !holds(f, salt)) return verdict::stale;
  }
  if (!r.ok() || !r.at_end()) return verdict::stale;
  return refreshed_ == raw ? verdict::holds : verdict::moved;
}

}  // namespace vx::workspace
