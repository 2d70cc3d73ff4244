#include "base/fs.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "support/temp_dir.hpp"

using namespace vx;
using test::temp_dir;

namespace {

std::vector<std::string> names_in(const std::string& dir) {
  const auto list = fs::list_dir_at(fs::k_cwd, dir);
  REQUIRE(list);
  std::vector<std::string> out;
  for (const auto& e : *list) out.push_back(e.name);
  std::sort(out.begin(), out.end());
  return out;
}

// Fails the named operation while it lives.
const char* g_op = nullptr;
int g_error = 0;
struct failing {
  failing(const char* op, int error) {
    g_op = op;
    g_error = error;
    fs::set_fault_hook([](const char* called, const char*) { return std::strcmp(called, g_op) == 0 ? g_error : 0; });
  }
  ~failing() { fs::set_fault_hook(nullptr); }
};

bool is_root() { return ::geteuid() == 0; }

}  // namespace

TEST_CASE("timestamps convert to nanoseconds where they fit") {
  std::int64_t ns = 0;
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{1'000'000'000}, std::int64_t{-1'000'000'001},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    CAPTURE(value);
    const auto t = fs::timestamp::from_ns(value);
    CHECK(t.ns < 1'000'000'000);
    // The most negative value has no exact product of seconds.
    if (value != std::numeric_limits<std::int64_t>::min()) {
      CHECK(t.to_ns(ns));
      CHECK(ns == value);
    }
  }
  CHECK_FALSE(fs::timestamp{std::numeric_limits<std::int64_t>::max(), 0}.to_ns(ns));
  CHECK_FALSE(fs::timestamp{20'000'000'000, 0}.to_ns(ns));  // the year 2603, valid on a disk
  CHECK(fs::timestamp{-1, 999'999'999}.to_ns(ns));
  CHECK(ns == -1);
}

TEST_CASE("lstat tells kinds, modes and absence") {
  const temp_dir dir;
  dir.write("f", "12345", 0640);
  dir.write("x", "", 0755);
  dir.mkdir("d");
  dir.symlink("nowhere", "dangling");
  dir.symlink("f", "to-f");
  dir.sh("mkfifo p");
  const auto at = fs::open_dir_at(fs::k_cwd, dir.path());
  REQUIRE(at);
  const auto of = [&](const char* name) { return *fs::lstat_at(at->get(), name); };
  CHECK(of("f").kind == fs::kind::file);
  CHECK(of("f").size == 5);
  CHECK(of("f").mode == 0640);
  CHECK(of("x").mode == 0755);
  CHECK(of("f").nlink == 1);
  CHECK(of("f").mtime.sec > 1'600'000'000);
  CHECK(of("d").kind == fs::kind::dir);
  CHECK(of("dangling").kind == fs::kind::link);
  CHECK(of("p").kind == fs::kind::other);
  CHECK_FALSE(of("absent").exists());
  CHECK_FALSE(of("f/below").exists());
  CHECK_FALSE(of("absent/below").exists());
  CHECK(fs::stat_at(at->get(), "to-f")->kind == fs::kind::file);
  CHECK_FALSE(fs::stat_at(at->get(), "dangling")->exists());
  CHECK(fs::exists_at(at->get(), "dangling"));
  CHECK_FALSE(fs::exists_at(at->get(), "absent"));
  CHECK(fs::fstat_fd(at->get())->kind == fs::kind::dir);
  CHECK_FALSE(fs::lstat_at(at->get(), std::string(5000, 'a')));
}

TEST_CASE("descriptors are born close-on-exec") {
  const temp_dir dir;
  dir.write("f", "x");
  for (const auto& fd : {fs::open_at(fs::k_cwd, dir / "f", O_RDONLY), fs::open_dir_at(fs::k_cwd, dir.path())}) {
    REQUIRE(fd);
    CHECK((::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK_FALSE(fs::open_dir_at(fs::k_cwd, dir / "f"));
}

TEST_CASE("files are read whole, up to the cap and not a byte further") {
  const temp_dir dir;
  for (const std::size_t size : {0UL, 1UL, 4095UL, 4096UL, 4097UL, 1'000'000UL}) {
    std::string content(size, 'q');
    if (size > 2) content[size / 2] = '\0';
    dir.write("f", content);
    CAPTURE(size);
    const auto read = fs::read_file_at(fs::k_cwd, dir / "f");
    REQUIRE(read);
    CHECK(*read == content);
    CHECK(fs::read_file_at(fs::k_cwd, dir / "f", size));
    if (size > 0) {
      const auto refused = fs::read_file_at(fs::k_cwd, dir / "f", size - 1);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == errc::CORRUPT);
    }
  }
  CHECK(fs::read_file_at(fs::k_cwd, dir / "absent").error().sys == ENOENT);
  CHECK(fs::read_file_at(fs::k_cwd, dir.path()).error().sys == EISDIR);
}

TEST_CASE("files without a size, and pipes, are read to their end under the cap") {
  const auto status_text = fs::read_file_at(fs::k_cwd, "/proc/self/status");
  REQUIRE(status_text);
  CHECK(status_text->find("Pid:") != std::string::npos);
  CHECK(fs::read_file_at(fs::k_cwd, "/proc/self/status", 10).error().code == errc::CORRUPT);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const unique_fd read_end(ends[0]);
  unique_fd write_end(ends[1]);
  REQUIRE(fs::write_all(write_end.get(), "through the pipe"));
  write_end.reset();
  CHECK(fs::read_fd(read_end.get(), 100) == "through the pipe");
}

TEST_CASE("a FIFO without a writer does not hang the reader") {
  const temp_dir dir;
  dir.sh("mkfifo p");
  const auto read = fs::read_file_at(fs::k_cwd, dir / "p");
  REQUIRE(read);
  CHECK(read->empty());
}

TEST_CASE("link texts are read whole, however long") {
  const temp_dir dir;
  const std::string longer(1000, 'l');
  dir.symlink("short", "a");
  dir.symlink(longer, "b");
  CHECK(fs::read_link_at(fs::k_cwd, dir / "a") == "short");
  CHECK(fs::read_link_at(fs::k_cwd, dir / "b") == longer);
  CHECK_FALSE(fs::read_link_at(fs::k_cwd, dir.path()));
}

TEST_CASE("an atomic write replaces, keeps its mode and leaves no scratch") {
  const temp_dir dir;
  for (const bool durable : {false, true}) {
    REQUIRE(fs::write_file_atomic_at(fs::k_cwd, dir / "f", "one", 0600, durable));
    CHECK(dir.read("f") == "one");
    CHECK(fs::lstat_at(fs::k_cwd, dir / "f")->mode == 0600);
    REQUIRE(fs::write_file_atomic_at(fs::k_cwd, dir / "f", "two", 0644, durable));
    CHECK(dir.read("f") == "two");
  }
  const auto at = fs::open_dir_at(fs::k_cwd, dir.path());
  REQUIRE(fs::write_file_atomic_at(at->get(), "relative", "x", 0644, true));
  CHECK(names_in(dir.path()) == std::vector<std::string>{"f", "relative"});
}

TEST_CASE("an atomic write that fails anywhere leaves the old content and no scratch") {
  const temp_dir dir;
  dir.write("f", "old");
  struct row {
    const char* op;
    int error;
  };
  for (const row& r : {row{"open", EACCES}, {"write", ENOSPC}, {"fsync", EIO}, {"rename", EROFS}}) {
    CAPTURE(r.op);
    {
      const failing hook(r.op, r.error);
      const auto done = fs::write_file_atomic_at(fs::k_cwd, dir / "f", "new", 0644, true);
      REQUIRE_FALSE(done);
      CHECK(done.error().sys == r.error);
    }
    CHECK(dir.read("f") == "old");
    CHECK(names_in(dir.path()) == std::vector<std::string>{"f"});
  }
}

TEST_CASE("faults reach every operation and carry their errno") {
  const temp_dir dir;
  dir.write("f", "x");
  const std::string f = dir / "f";
  const auto check = [&](const char* op, auto&& call) {
    CAPTURE(op);
    CHECK(call());
    const failing hook(op, EIO);
    const auto got = call();
    REQUIRE_FALSE(got);
    CHECK(got.error().sys == EIO);
  };
  check("lstat", [&] { return fs::lstat_at(fs::k_cwd, f); });
  check("stat", [&] { return fs::stat_at(fs::k_cwd, f); });
  check("open", [&] { return fs::open_at(fs::k_cwd, f, O_RDONLY); });
  check("read", [&] { return fs::read_file_at(fs::k_cwd, f); });
  check("mkdir", [&] { return fs::make_dirs_at(fs::k_cwd, dir / "d"); });
  check("list", [&] { return fs::list_dir_at(fs::k_cwd, dir.path()); });
  check("rename", [&] { return fs::rename_at(fs::k_cwd, f, fs::k_cwd, f); });
  dir.write("gone", "x");
  const failing hook("unlink", EBUSY);
  CHECK(fs::unlink_at(fs::k_cwd, dir / "gone").error().sys == EBUSY);
  CHECK(fs::remove_tree_at(fs::k_cwd, dir / "gone").error().sys == EBUSY);
}

TEST_CASE("directories are made with their parents and once") {
  const temp_dir dir;
  CHECK(fs::make_dirs_at(fs::k_cwd, dir / "a/b/c"));
  CHECK(fs::make_dirs_at(fs::k_cwd, dir / "a/b/c"));
  CHECK(fs::make_dirs_at(fs::k_cwd, dir / "a//x///y/"));
  CHECK(dir.exists("a/x/y"));
  dir.write("f", "x");
  CHECK(fs::make_dirs_at(fs::k_cwd, dir / "f").error().sys == ENOTDIR);
  CHECK(fs::make_dirs_at(fs::k_cwd, dir / "f/g").error().sys == ENOTDIR);
  dir.symlink("a", "link");
  CHECK(fs::make_dirs_at(fs::k_cwd, dir / "link/z"));
  CHECK(dir.exists("a/z"));
  dir.symlink("nowhere", "dangling");
  CHECK_FALSE(fs::make_dirs_at(fs::k_cwd, dir / "dangling"));
  const auto at = fs::open_dir_at(fs::k_cwd, dir.path());
  CHECK(fs::make_dirs_at(at->get(), "r/s"));
  CHECK(dir.exists("r/s"));
}

TEST_CASE("removing a tree follows no link and tolerates absence") {
  const temp_dir dir;
  dir.write("keep/precious", "x");
  dir.write("t/a/b/f", "x");
  dir.symlink("../../keep", "t/a/dir-link");
  dir.symlink("nowhere", "t/dangling");
  dir.sh("mkfifo t/p");
  CHECK(fs::remove_tree_at(fs::k_cwd, dir / "t"));
  CHECK_FALSE(dir.exists("t"));
  CHECK(dir.read("keep/precious") == "x");
  CHECK(fs::remove_tree_at(fs::k_cwd, dir / "t"));
  CHECK(fs::remove_tree_at(fs::k_cwd, dir / "no/such/parent"));
  dir.symlink("keep", "link");
  CHECK(fs::remove_tree_at(fs::k_cwd, dir / "link"));
  CHECK(dir.exists("keep/precious"));
  CHECK(fs::remove_tree_at(fs::k_cwd, dir / "keep/precious"));
  CHECK(names_in(dir / "keep").empty());
}

TEST_CASE("a tree deeper than the descriptor limit is removed") {
  const temp_dir dir;
  dir.mkdir("t");
  auto at = fs::open_dir_at(fs::k_cwd, dir / "t");
  for (int level = 0; level < 1500; ++level) {
    REQUIRE(at);
    REQUIRE(::mkdirat(at->get(), "d", 0755) == 0);
    REQUIRE(fs::open_at(at->get(), "f", O_WRONLY | O_CREAT));
    at = fs::open_dir_at(at->get(), "d");
  }
  struct rlimit old {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  struct rlimit low = old;
  low.rlim_cur = 128;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  const auto done = fs::remove_tree_at(fs::k_cwd, dir / "t");
  ::setrlimit(RLIMIT_NOFILE, &old);
  CHECK(done);
  CHECK(names_in(dir.path()).empty());
}

TEST_CASE("a read-only directory is emptied by its owner") {
  const temp_dir dir;
  dir.write("t/ro/f", "x");
  dir.write("t/none/f", "x");
  dir.sh("chmod 0555 t/ro && chmod 0 t/none && chmod 0777 . t");
  if (!is_root()) {
    CHECK(fs::remove_tree_at(fs::k_cwd, dir / "t"));
    CHECK_FALSE(dir.exists("t"));
    return;
  }
  // Permissions bind others than root: a child gives its privilege up first.
  dir.sh("chown -R 65534 . ");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
    ::_exit(fs::remove_tree_at(fs::k_cwd, dir / "t") ? 0 : 1);
  }
  int code = 0;
  REQUIRE(::waitpid(child, &code, 0) == child);
  CHECK(code == 0);
  CHECK_FALSE(dir.exists("t"));
}

TEST_CASE("a listing holds every entry once with its kind, also a long one and a repeated one") {
  const temp_dir dir;
  dir.sh("mkdir d; : > f; ln -s x l; mkfifo p; : > .hidden; : > ..odd");
  const auto fd = fs::open_dir_at(fs::k_cwd, dir.path());
  REQUIRE(fd);
  for (int round = 0; round < 2; ++round) {
    auto list = *fs::list_dir_fd(fd->get());
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    REQUIRE(list.size() == 6);
    CHECK(list[0].name == "..odd");
    CHECK(list[1].name == ".hidden");
    CHECK(list[2].kind == fs::kind::dir);
    CHECK(list[3].kind == fs::kind::file);
    CHECK(list[4].kind == fs::kind::link);
    CHECK(list[5].kind == fs::kind::other);
  }
  dir.mkdir("many");
  for (int i = 0; i < 3000; ++i) {
    REQUIRE(fs::open_at(fs::k_cwd, dir / ("many/name-that-fills-the-buffer-" + std::to_string(i)), O_WRONLY | O_CREAT));
  }
  const auto many = names_in(dir / "many");
  CHECK(many.size() == 3000);
  CHECK(std::adjacent_find(many.begin(), many.end()) == many.end());
  CHECK_FALSE(fs::list_dir_at(fs::k_cwd, dir / "f"));
  CHECK(fs::list_dir_at(fs::k_cwd, dir / "absent").error().sys == ENOENT);
}

TEST_CASE("real paths resolve links and need their target") {
  const temp_dir dir;
  dir.mkdir("a/b");
  dir.symlink("a/b", "link");
  dir.symlink("loop", "loop");
  CHECK(fs::real_path(dir / "link/../b") == dir / "a/b");
  CHECK(fs::real_path(dir / "absent").error().sys == ENOENT);
  CHECK(fs::real_path(dir / "loop").error().sys == ELOOP);
  CHECK(fs::current_dir());
}

TEST_CASE("locks exclude other open descriptions until closed") {
  const temp_dir dir;
  dir.write("lock", "");
  auto one = fs::open_at(fs::k_cwd, dir / "lock", O_RDWR);
  auto two = fs::open_at(fs::k_cwd, dir / "lock", O_RDWR);
  CHECK(fs::try_lock(one->get()) == true);
  CHECK(fs::try_lock(one->get()) == true);
  CHECK(fs::try_lock(two->get()) == false);
  one->reset();
  CHECK(fs::lock_blocking(two->get()));
}

TEST_CASE("closing keeps errno") {
  errno = 42;
  {
    unique_fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    errno = 42;
  }
  CHECK(errno == 42);
}
