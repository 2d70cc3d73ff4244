// Finding the repository of a directory. The ordinary layouts are read from the files; whatever is unusual, ownership included,
// is git's to decide.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.hpp"
#include "base/text.hpp"
#include "git/git.hpp"
#include "git/settings.hpp"

namespace vx::git {
namespace {

constexpr std::size_t k_small_file = std::size_t{16} << 20;

enum class answer : std::uint8_t {
  none,  ///< no repository at or above
  found,
  ask_git,  ///< not a layout this file reads
};

bool lstat_path(const std::string& path, struct ::stat& st) noexcept { return ::lstat(path.c_str(), &st) == 0; }
bool is_there(const std::string& path) noexcept { return fs::exists_at(fs::k_cwd, path); }

std::optional<std::string> read_small(const std::string& path) {
  auto text = fs::read_file_at(fs::k_cwd, path, k_small_file);
  if (!text) return std::nullopt;
  return std::move(*text);
}

/// A one-line path file ("commondir", or what follows "gitdir: "), resolved against the directory that holds it.
std::optional<std::string> resolve(const std::string& dir, std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  auto real = fs::real_path(text.front() == '/' ? std::string(text) : dir + "/" + std::string(text));
  if (!real) return std::nullopt;
  return std::move(*real);
}

/// Reads what decides the layout. False: something only git should interpret. A submodule's core.worktree points back to where
/// it was found.
bool read_format(const std::string& file, repository& repo, bool& worktree_config, bool required) {
  const std::optional<std::string> text = read_small(file);
  if (!text) return !required;
  bool plain = true, sha256 = repo.sha256;
  std::uint64_t version = 0;
  const bool parsed = parse_config(*text, [&](const config_variable& v) {
    if (!v.subsection.empty()) return;
    if (v.section == "core") {
      if (v.name == "worktree") plain = plain && resolve(repo.git_dir, v.value.value_or("")) == repo.worktree;
      if (v.name == "bare" && config_bool(v.value).value_or(true)) plain = false;
      if (v.name == "repositoryformatversion") version = text::parse_uint(v.value.value_or("")).value_or(99);
    } else if (v.section == "extensions") {
      const std::string value = v.value.value_or("");
      if (v.name == "objectformat") {
        sha256 = value == "sha256";
        if (!sha256 && value != "sha1") plain = false;
        if (version == 0) plain = false;
      } else if (v.name == "worktreeconfig") {
        worktree_config = config_bool(v.value).value_or(true);
      } else if (v.name == "refstorage") {
        plain = plain && value == "files";
      } else if (v.name != "noop" && v.name != "preciousobjects" && v.name != "partialclone" && v.name != "relativeworktrees") {
        plain = false;
      }
    }
  });
  repo.sha256 = sha256;
  return parsed && plain && version <= 1;
}

/// Fills git_dir, common_dir and sha256 from `top`/.git, which exists.
answer read_git_entry(const std::string& top, const struct ::stat& entry, repository& repo) {
  const uid_t self = ::geteuid();
  const std::string path = top + "/.git";
  struct ::stat st {};
  if (entry.st_uid != self || !lstat_path(top, st) || st.st_uid != self) return answer::ask_git;
  if (S_ISDIR(entry.st_mode)) {
    repo.git_dir = path;
  } else if (S_ISREG(entry.st_mode)) {
    const std::optional<std::string> text = read_small(path);
    if (!text || !text->starts_with("gitdir: ")) return answer::ask_git;
    std::optional<std::string> dir = resolve(top, std::string_view(*text).substr(8));
    if (!dir || !lstat_path(*dir, st) || !S_ISDIR(st.st_mode) || st.st_uid != self) return answer::ask_git;
    repo.git_dir = std::move(*dir);
  } else {
    return answer::ask_git;
  }
  repo.common_dir = repo.git_dir;
  if (const std::optional<std::string> text = read_small(repo.git_dir + "/commondir")) {
    std::optional<std::string> dir = resolve(repo.git_dir, *text);
    if (!dir) return answer::ask_git;
    repo.common_dir = std::move(*dir);
  }
  if (!is_there(repo.git_dir + "/HEAD") || !is_there(repo.common_dir + "/objects") || !is_there(repo.common_dir + "/refs")) {
    return answer::ask_git;
  }
  bool worktree_config = false, ignored = false;
  if (!read_format(repo.common_dir + "/config", repo, worktree_config, true)) return answer::ask_git;
  if (worktree_config && !read_format(repo.git_dir + "/config.worktree", repo, ignored, false)) return answer::ask_git;
  return answer::found;
}

answer look(const std::string& dir, repository& repo) {
  struct ::stat here {
  }, entry{};
  if (!lstat_path(dir, here)) return answer::ask_git;
  const dev_t device = here.st_dev;
  std::string top = dir;
  while (true) {
    const std::string base = top == "/" ? "" : top;
    if (lstat_path(base + "/.git", entry)) {
      repo.worktree = top;
      repo.prefix = dir == top ? "" : std::string(path::relative_to(dir, top)) + "/";
      return top == "/" ? answer::ask_git : read_git_entry(top, entry, repo);
    }
    if (errno != ENOENT) return answer::ask_git;
    if (is_there(base + "/HEAD")) return answer::ask_git;  // perhaps a bare repository, or the inside of a git directory
    if (top == "/") return answer::none;
    const std::size_t slash = top.rfind('/');
    top = slash == 0 ? "/" : top.substr(0, slash);
    if (!lstat_path(top, here) || here.st_dev != device) return answer::ask_git;
  }
}

std::string first_line(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.starts_with("fatal: ")) line.remove_prefix(7);
  return std::string(line);
}

result<std::string> ask_one(const program& git, const std::string& dir, std::string flag) {
  VX_TRY_LET(program::output got, git.run(dir, {"rev-parse", "--path-format=absolute", std::move(flag)}));
  if (got.exit_code != 0 || got.out.empty()) return fail(errc::IO, "git: " + first_line(got.err));
  got.out.pop_back();
  return std::move(got.out);
}

}  // namespace

std::string asked_dir(const repository& repo) {
  std::string dir = path::join(repo.worktree, repo.prefix);
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  return dir;
}

result<std::optional<repository>> ask_repository(const program& git, const std::string& dir) {
  VX_TRY_LET(program::output got, git.run(dir, {"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir",
                                                "--git-common-dir", "--show-object-format"}));
  if (got.exit_code != 0) {
    const std::string why = first_line(got.err);
    if (why.starts_with("not a git repository (or any") || why.starts_with("this operation must be run in a work tree")) {
      return std::optional<repository>();
    }
    return fail(errc::IO, "git: " + why);
  }
  repository repo;
  std::vector<std::string_view> lines = text::split(got.out, '\n');
  if (lines.size() == 5) {
    repo.worktree = lines[0];
    repo.git_dir = lines[1];
    repo.common_dir = lines[2];
    repo.sha256 = lines[3] == "sha256";
  } else {  // a line end inside a path: one question each
    VX_TRY_LET(repo.worktree, ask_one(git, dir, "--show-toplevel"));
    VX_TRY_LET(repo.git_dir, ask_one(git, dir, "--git-dir"));
    VX_TRY_LET(repo.common_dir, ask_one(git, dir, "--git-common-dir"));
    VX_TRY_LET(std::string format, ask_one(git, dir, "--show-object-format"));
    repo.sha256 = format == "sha256";
  }
  VX_TRY_LET(std::string real, fs::real_path(dir));
  if (!path::is_within(real, repo.worktree)) return std::optional<repository>();
  const std::string_view below = path::relative_to(real, repo.worktree);
  repo.prefix = below.empty() ? "" : std::string(below) + "/";
  return std::optional<repository>(std::move(repo));
}

result<std::optional<repository>> find_repository(const program& git, const std::string& dir) {
  const environment& env = git.env();
  if (env.find("GIT_CEILING_DIRECTORIES") == nullptr && env.find("GIT_DISCOVERY_ACROSS_FILESYSTEM") == nullptr) {
    VX_TRY_LET(std::string real, fs::real_path(dir));
    repository repo;
    switch (look(real, repo)) {
      case answer::none: return std::optional<repository>();
      case answer::found: return std::optional<repository>(std::move(repo));
      case answer::ask_git: break;
    }
  }
  return ask_repository(git, dir);
}

}  // namespace vx::git
