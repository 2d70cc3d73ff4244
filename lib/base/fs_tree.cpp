// Making and removing directory trees, listing by path.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/path.hpp"

namespace vx::fs {
namespace {

int at(int dir) noexcept { return dir == k_cwd ? AT_FDCWD : dir; }

// 0, or the errno; an existing directory (or link to one) counts as made.
int make_one(int dir, const std::string& path, unsigned mode) noexcept {
  if (const int e = fault("mkdir", path.c_str())) return e;
  if (::mkdirat(at(dir), path.c_str(), static_cast<mode_t>(mode)) == 0) return 0;
  const int error = errno;
  if (error != EEXIST && error != EISDIR) return error;
  struct ::stat st;
  if (::fstatat(at(dir), path.c_str(), &st, 0) != 0) return errno;
  return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

// Open descriptors while removing: below this depth a directory is first moved up beside the top.
constexpr std::size_t k_max_open = 64;

struct frame {
  unique_fd fd;
  std::string name;  // in the frame above
  std::vector<dir_entry> entries;
  std::size_t next = 0;
};

// Removes trees without recursion and with a bounded number of descriptors.
class tree_remover {
 public:
  explicit tree_remover(int top) : top_(top) {}

  status remove(const std::string& path) {
    std::vector<std::string> pending{path};
    while (!pending.empty()) {
      const std::string name = std::move(pending.back());
      pending.pop_back();
      VX_TRY(remove_one(name, pending));
    }
    return {};
  }

 private:
  status remove_one(const std::string& path, std::vector<std::string>& pending) {
    VX_TRY_LET(const stat_info info, lstat_at(top_, path));
    if (!info.exists()) return {};
    if (info.kind != kind::dir) return drop(top_, path, false);
    std::vector<frame> stack;
    VX_TRY(enter(stack, top_, path));
    while (!stack.empty()) {
      frame& f = stack.back();
      if (f.next == f.entries.size()) {
        const std::string name = std::move(f.name);
        stack.pop_back();
        VX_TRY(drop(stack.empty() ? top_ : stack.back().fd.get(), name, true));
        continue;
      }
      const dir_entry& entry = f.entries[f.next++];
      if (entry.kind != kind::dir) {
        VX_TRY(drop(f.fd.get(), entry.name, false));
      } else if (stack.size() < k_max_open) {
        VX_TRY(enter(stack, f.fd.get(), entry.name));
      } else {
        std::string moved = path::join(path::parent(path), spare_name());
        VX_TRY(rename_at(f.fd.get(), entry.name, top_, moved));
        pending.push_back(std::move(moved));
      }
    }
    return {};
  }

  static std::string spare_name() {
    std::array<std::byte, 12> raw{};
    random_bytes(raw.data(), raw.size());
    const std::string hex = to_hex(raw);
    return "." + hex.substr(0, 16) + "-" + hex.substr(16) + ".tmp";
  }

  status enter(std::vector<frame>& stack, int dir, const std::string& name) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    auto fd = open_at(dir, name, flags);
    if (!fd && fd.error().sys == EACCES && ::fchmodat(at(dir), name.c_str(), 0700, 0) == 0) fd = open_at(dir, name, flags);
    if (!fd) return fail(std::move(fd).error());
    struct ::stat st;
    // Owner bits are needed to empty it; the kernel decides whether they matter (they do not for root).
    if (::fstat(fd->get(), &st) == 0 && (st.st_mode & 0700) != 0700) ::fchmod(fd->get(), (st.st_mode & 07777) | 0700);
    VX_TRY_LET(std::vector<dir_entry> entries, list_dir_fd(fd->get()));
    stack.push_back({std::move(*fd), name, std::move(entries), 0});
    return {};
  }

  // Absence is fine: another process may be removing the same tree.
  static status drop(int dir, const std::string& name, bool directory) {
    auto done = unlink_at(dir, name, directory);
    if (!done && done.error().sys == ENOENT) return {};
    return done;
  }

  int top_;
};

}  // namespace

status make_dirs_at(int dir, const std::string& path, unsigned mode) {
  int error = make_one(dir, path, mode);
  if (error == 0) return {};
  if (error != ENOENT) return fail_sys(error, "cannot create", path);
  // The nearest existing ancestor is found from below: usually one level is missing.
  std::vector<std::size_t> ends;
  std::size_t end = path.size();
  while (error == ENOENT) {
    ends.push_back(end);
    while (end > 0 && path[end - 1] == '/') --end;
    while (end > 0 && path[end - 1] != '/') --end;
    while (end > 0 && path[end - 1] == '/') --end;
    if (end == 0) return fail_sys(ENOENT, "cannot create", path);
    error = make_one(dir, path.substr(0, end), mode);
  }
  if (error != 0) return fail_sys(error, "cannot create", path.substr(0, end));
  for (auto it = ends.rbegin(); it != ends.rend(); ++it) {
    error = make_one(dir, path.substr(0, *it), mode);
    if (error != 0) return fail_sys(error, "cannot create", path.substr(0, *it));
  }
  return {};
}

status remove_tree_at(int dir, const std::string& path) { return tree_remover(dir).remove(path); }

result<std::vector<dir_entry>> list_dir_at(int dir, const std::string& path) {
  VX_TRY_LET(const unique_fd fd, open_dir_at(dir, path));
  auto out = list_dir_fd(fd.get());
  if (!out && out.error().sys != 0) return fail_sys(out.error().sys, "cannot list", path);
  return out;
}

}  // namespace vx::fs
