// When a path in the tree still is its recorded row, and when it is the very file this checkout placed (cache.md 8).
#pragma once

#include "base/fs.hpp"
#include "cache/entry.hpp"

namespace vx::cache {

inline output_stamp stamp_of(const fs::stat_info& st) noexcept {
  output_stamp s;
  if (!st.ctime.to_ns(s.ctime_ns)) return {};
  s.ino = st.ino;
  return s;
}

/// Kind, size, mode and time; for links the kind alone, for directories kind and mode.
inline bool matches_row(const output_row& r, const fs::stat_info& st) noexcept {
  if (r.kind == 'f') {
    return st.kind == fs::kind::file && st.size == r.size && (st.mode & 0777) == r.mode && st.mtime == r.mtime;
  }
  if (r.kind == 'l') return st.kind == fs::kind::link;
  return st.kind == fs::kind::dir && (st.mode & 0777) == r.mode;
}

/// Directories need no stamp. A row without one is never current.
inline bool matches_stamp(const output_row& r, const output_stamp& s, const fs::stat_info& st) noexcept {
  if (r.kind == 'd') return true;
  if (s.ino == 0 && s.ctime_ns == 0) return false;
  std::int64_t ctime = 0;
  return st.ino == s.ino && st.ctime.to_ns(ctime) && ctime == s.ctime_ns;
}

}  // namespace vx::cache
