// Making, opening and leaving a store (cache.md 2.4, 3.1, 14).
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "cache/store_impl.hpp"

namespace vx::cache {
namespace {

/// A level of ours: made 0700, closed when it stood open, refused when it is a link or someone else's.
status private_level(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return fail_sys(errno, "cannot create", dir);
  const unique_fd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_sys(errno, "cannot open", dir);
  struct ::stat st;
  if (::fstat(fd.get(), &st) != 0) return fail_sys(errno, "cannot stat", dir);
  if (st.st_uid != ::geteuid()) return fail_sys(EPERM, "not owned by this user:", dir);
  if ((st.st_mode & 0077) != 0) ::fchmod(fd.get(), 0700);
  return {};
}

/// Names of temporaries carry the host: a store may be shared over a network. Short and plain, so that any name fits.
std::string host_tag() {
  struct utsname u {};
  std::string out;
  if (::uname(&u) == 0) {
    for (const char* p = u.nodename; *p != '\0' && out.size() < 24; ++p) {
      const bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
      out += plain ? *p : '_';
    }
  }
  return out.empty() ? "host" : out;
}

}  // namespace

store::store() : impl_(std::make_unique<impl>()) {}
store::~store() = default;

store::impl::~impl() {
  for (const auto& [path, s] : stages) {
    s->dir.reset();
    (void)fs::remove_tree_at(fs::k_cwd, path::join(s->parent, s->name));
  }
}

result<std::unique_ptr<store>> store::open(const store_location& where, const open_options& options) {
  if (!where.dir.starts_with('/')) return fail(errc::INVALID, "the store directory must be absolute");
  std::unique_ptr<store> s(new store());
  s->impl_->where = where;
  s->impl_->options = options;
  s->impl_->open();
  return s;
}

store_mode store::mode() const noexcept { return impl_->mode; }
const std::string& store::dir() const noexcept { return impl_->where.dir; }
const digest128& store::salt() const noexcept { return impl_->salt; }

void store::impl::note(const std::string& trouble_class, const std::string& line) {
  {
    const std::lock_guard lock(notices_mutex);
    if (!noticed.insert(trouble_class).second) return;
  }
  if (options.notice) options.notice(line);
}

status store::impl::make_directory() {
  if (!options.private_dir) return fs::make_dirs_at(fs::k_cwd, where.dir);
  const std::string level(path::parent(where.dir)), base(path::parent(level));
  if (!fs::exists_at(fs::k_cwd, base)) VX_TRY(fs::make_dirs_at(fs::k_cwd, base, 0700));
  VX_TRY(private_level(level));
  return private_level(where.dir);
}

database_request store::impl::db_request() {
  database_request r;
  r.dir = where.dir;
  r.create = options.create;
  r.private_file = options.private_dir;
  r.notice = [this](const std::string& line) { note("damage", line); };
  r.seed = [](database& d) {
    std::array<std::byte, 16> raw{};
    random_bytes(raw.data(), raw.size());
    const std::string now = std::to_string(wall_ns());
    statement s = d.use("INSERT INTO meta (name, value) VALUES (?1, ?2)");
    if (!s.text(1, "salt").blob(2, as_text(raw)).run()) return false;
    if (!s.text(1, "created_ns").text(2, now).run()) return false;
    return s.text(1, "swept_ns").text(2, now).run();
  };
  return r;
}

void store::impl::open() {
  host = host_tag();
  if (options.create) {
    if (const status made = make_directory(); !made && !fs::exists_at(fs::k_cwd, where.dir)) {
      note("open", "cache: " + made.error().message + "; results are not cached");
      return;
    }
  }
  const int follow = options.private_dir ? O_NOFOLLOW : 0;
  auto fd = fs::open_at(fs::k_cwd, where.dir, O_RDONLY | O_DIRECTORY | follow);
  if (!fd) {
    // A reading verb on a store that does not exist yet reads as empty, silently.
    if (fd.error().sys != ENOENT || options.create) note("open", "cache: " + fd.error().message + "; results are not cached");
    return;
  }
  dir = std::move(*fd);
  if (options.create) {
    const unique_fd ignore(::openat(dir.get(), ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                    options.private_dir ? 0600 : 0666));
    if (ignore) (void)fs::write_all(ignore.get(), "*\n");
  }
  const opened_database opened = open_database(db, k_store_database, db_request());
  db_ino = opened.ino;
  db_writable = opened.state == database_state::read_write;
  mode = db_writable ? store_mode::read_write : store_mode::read_only;
  if (opened.state == database_state::unusable) {
    mode = store_mode::none;
    note("open", "cache: " + opened.reason + "; results are not cached");
  } else if (options.create && !db_writable) {
    note("open", "cache: " + (opened.reason.empty() ? where.dir + " is read-only" : opened.reason) +
                     "; hits are served, nothing is saved");
  }
  if (statement s = db.use("SELECT value FROM meta WHERE name = 'salt'");
      s && s.step() == step::row && s.blob(0).size() == 16) {
    std::memcpy(salt.raw.data(), s.blob(0).data(), 16);
  }
}

std::unique_lock<std::mutex> store::impl::use_db() {
  std::unique_lock lock(db_mutex);
  if (!db_damaged) return lock;
  db_damaged = false;
  if (!db_writable) {
    note("damage", "cache: " + where.dir + "/store-1.db is damaged; its entries are not used");
    db.close();
    return lock;
  }
  const opened_database opened = replace_damaged(db, k_store_database, db_request(), db_ino);
  db_ino = opened.ino;
  db_writable = opened.state == database_state::read_write;
  return lock;
}

std::string store::impl::temp_name() {
  std::array<std::byte, 8> raw{};
  random_bytes(raw.data(), raw.size());
  return ".tmp-" + host + "-" + std::to_string(::getpid()) + "-" + to_hex(raw);
}

std::string store::impl::artifact_name(const digest128& key) { return key.hex() + ".tar.zst"; }

store::impl::codec_lease::codec_lease(impl& owner) : owner_(owner) {
  {
    const std::lock_guard lock(owner_.codecs_mutex);
    if (!owner_.codecs.empty()) {
      c_ = std::move(owner_.codecs.back());
      owner_.codecs.pop_back();
    }
  }
  if (!c_) c_ = std::make_unique<codec>();
}

store::impl::codec_lease::~codec_lease() {
  c_->trim();
  const std::lock_guard lock(owner_.codecs_mutex);
  owner_.codecs.push_back(std::move(c_));
}

bool store::empty() {
  impl& m = *impl_;
  if (!m.dir) return true;
  {
    const auto lock = m.use_db();
    if (statement s = m.db.use("SELECT 1 FROM entries LIMIT 1"); s && s.step() == step::row) return false;
  }
  const auto listing = fs::list_dir_at(m.dir.get(), ".");
  if (!listing) return true;
  for (const fs::dir_entry& e : *listing) {
    if (e.name.ends_with(".tar.zst")) return false;
  }
  return true;
}

}  // namespace vx::cache
