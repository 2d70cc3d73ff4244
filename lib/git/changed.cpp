// References and the changed set of --affected and [ref] (graph.md 14).
#include <algorithm>
#include <set>

#include "base/path.hpp"
#include "base/text.hpp"
#include "git/git.hpp"
#include "git/index_file.hpp"

namespace vx::git {
namespace {

/// git's own words, one line.
std::string words(const program::output& got) {
  std::string_view line = std::string_view(got.err).substr(0, got.err.find('\n'));
  for (const std::string_view lead : {"fatal: ", "error: "}) {
    if (line.starts_with(lead)) line.remove_prefix(lead.size());
  }
  return std::string(line);
}

bool is_shallow(const repository& repo) { return fs::exists_at(fs::k_cwd, repo.common_dir + "/shallow"); }

std::string fetch_advice(const repository& repo) {
  if (!is_shallow(repo)) return {};
  return "; the clone is shallow: git fetch --unshallow, or fetch-depth: 0 in CI, brings the history";
}

std::string_view trimmed_line(std::string_view out) noexcept { return out.substr(0, out.find('\n')); }

/// Object ids of commits, in the order asked; "" where there is none. One process.
result<std::vector<std::string>> resolve_commits(const program& git, const repository& repo,
                                                 const std::vector<std::string>& names) {
  std::string ask;
  for (const std::string& n : names) ask += n + "^{commit}\n";
  VX_TRY_LET(program::output got, git.run(asked_dir(repo), {"cat-file", "--batch-check=%(objectname)"}, ask));
  std::vector<std::string> ids;
  for (const std::string_view line : text::split(got.out, '\n')) {
    if (ids.size() < names.size()) ids.emplace_back(line.find(' ') == std::string_view::npos ? line : std::string_view());
  }
  ids.resize(names.size());
  return ids;
}

/// What to compare with: the merge base of the ref and HEAD, or the ref itself.
result<std::string> find_base(const program& git, const repository& repo, const checked_ref& wanted) {
  const std::string dir = asked_dir(repo);
  VX_TRY_LET(program::output head, git.run(dir, {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}));
  if (head.exit_code != 0) return fail(errc::REFUSED, "the repository has no commit yet: there is nothing to compare with");
  VX_TRY_LET(program::output ref, git.run(dir, {"rev-parse", "--verify", "--end-of-options", wanted.ref}));
  if (ref.exit_code != 0) {
    return fail(errc::REFUSED, "git does not know the reference \"" + text::escape(wanted.ref, true) + "\": " + words(ref) +
                                   fetch_advice(repo));
  }
  std::string base(trimmed_line(ref.out));
  if (base == "--end-of-options") base = std::string(trimmed_line(std::string_view(ref.out).substr(base.size() + 1)));
  if (wanted.direct) return base;
  VX_TRY_LET(program::output common, git.run(dir, {"merge-base", base, "HEAD"}));
  if (common.exit_code == 0) return std::string(trimmed_line(common.out));
  return base;  // no common ancestor, or a tree
}

/// Overrides that keep the diff from running clean filters: an empty command is no filter.
result<std::vector<std::string>> without_filters(const program& git, const std::string& dir) {
  VX_TRY_LET(program::output got,
             git.run(dir, {"config", "-z", "--name-only", "--get-regexp", R"(^filter\..*\.(clean|process|required)$)"}));
  std::vector<std::string> args;
  for (const std::string_view name : text::split(got.out, '\0')) {
    if (name.empty() || name.find('=') != std::string_view::npos) continue;
    args.emplace_back("-c");
    args.push_back(std::string(name) + (name.ends_with(".required") ? "=false" : "="));
  }
  return args;
}

bool differs(const index_entry& e, const fs::stat_info& st) noexcept {
  return static_cast<std::uint32_t>(st.size) != e.size || st.mtime.sec != e.mtime_sec || st.mtime.ns != e.mtime_ns ||
         st.ctime.sec != e.ctime_sec || st.ctime.ns != e.ctime_ns || static_cast<std::uint32_t>(st.ino) != e.ino;
}

/// Files whose flags tell git not to look: changed when their stat moved.
status add_hidden(const program& git, const repository& repo, std::set<std::string, std::less<>>& into) {
  VX_TRY_LET(index_snapshot index, read_index(git, repo));
  const std::string dir = asked_dir(repo);
  for (const index_entry& e : index.entries) {
    if (!e.assume_valid && !e.skip_worktree) continue;
    VX_TRY_LET(fs::stat_info st, fs::lstat_at(fs::k_cwd, dir + "/" + std::string(e.path)));
    if (!st.exists() ? e.assume_valid : differs(e, st)) into.emplace(e.path);
  }
  return {};
}

}  // namespace

result<checked_ref> check_ref(std::string_view text) {
  const std::string shown = "\"" + text::escape(text, true) + "\"";
  if (text::trim(text).empty()) return fail(errc::USAGE, "a reference is empty: name a branch, a tag or a commit");
  if (text.find('\0') != std::string_view::npos) return fail(errc::USAGE, "the reference " + shown + " holds a NUL byte");
  if (text.front() == '-') return fail(errc::USAGE, "the reference " + shown + " begins with '-'");
  if (text.front() == '^')
    return fail(errc::USAGE, "the reference " + shown + " excludes commits: pass " + std::string(text.substr(1)) + " alone");
  if (text.find(':') != std::string_view::npos && !text.starts_with(":/")) {
    const std::size_t brace = text.find("{");
    if (brace == std::string_view::npos || text.find(':') < brace) {
      return fail(errc::USAGE, "the reference " + shown + " names a path inside a commit: pass " +
                                   std::string(text.substr(0, text.find(':'))));
    }
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return checked_ref{std::string(text), false};
  const bool three = text.substr(dots).starts_with("...");
  const std::string_view base = text.substr(0, dots), end = text.substr(dots + (three ? 3 : 2));
  if (!base.empty() && end == "HEAD") return checked_ref{std::string(base), !three};
  const std::string alone(base.empty() ? end : base);
  return fail(errc::USAGE, "the reference " + shown + " is a range: pass the base alone" + (alone.empty() ? "" : ", " + alone));
}

result<std::string> default_base(const program& git, const repository& repo) {
  static constexpr std::string_view k_names[] = {"origin/HEAD", "origin/main", "origin/master", "main", "master"};
  const std::vector<std::string> asked = {"HEAD",
                                          "refs/remotes/origin/HEAD",
                                          "refs/remotes/origin/main",
                                          "refs/remotes/origin/master",
                                          "refs/heads/main",
                                          "refs/heads/master",
                                          "HEAD~1"};
  VX_TRY_LET(std::vector<std::string> ids, resolve_commits(git, repo, asked));
  if (ids[0].empty()) return fail(errc::REFUSED, "the repository has no commit yet: there is nothing to compare with");
  if (!ids[1].empty()) return std::string(k_names[0]);
  for (std::size_t i = 2; i <= 5; ++i) {
    if (!ids[i].empty() && ids[i] != ids[0]) return std::string(k_names[i - 1]);
  }
  if (!ids[6].empty()) return std::string("HEAD~1");
  const std::string why = is_shallow(repo) ? "the clone is shallow" : "HEAD has no parent; most likely the clone is shallow";
  return fail(
      errc::REFUSED,
      "no base to compare with: there is no origin/HEAD, origin/main, origin/master, main or master apart from HEAD, and " +
          why + "; git fetch --unshallow, or fetch-depth: 0 in CI, brings the history; or name a base: --affected=<ref>");
}

result<std::vector<std::string>> changed_since(const program& git, const repository& repo, std::string_view ref) {
  VX_TRY_LET(checked_ref wanted, check_ref(ref));
  VX_TRY_LET(std::string base, find_base(git, repo, wanted));
  const std::string dir = asked_dir(repo);
  VX_TRY_LET(std::vector<std::string> args, without_filters(git, dir));
  for (const char* a : {"-c", "core.trustctime=true", "-c", "core.checkStat=default", "diff", "--name-only", "--no-renames",
                        "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--relative", "-z"}) {
    args.emplace_back(a);
  }
  args.push_back(base);
  args.emplace_back("--");
  VX_TRY_LET(program::output diff, git.run(dir, args));
  if (diff.exit_code != 0) return fail(errc::REFUSED, "git diff failed: " + words(diff) + fetch_advice(repo));
  VX_TRY_LET(program::output others, git.run(dir, {"ls-files", "-z", "--others", "--exclude-standard"}));
  if (others.exit_code != 0) return fail(errc::REFUSED, "git ls-files failed: " + words(others));
  std::set<std::string, std::less<>> paths;
  for (const std::string* list : {&diff.out, &others.out}) {
    for (std::string_view p : text::split(*list, '\0')) {
      if (p.ends_with('/')) p.remove_suffix(1);  // a nested repository
      if (!p.empty()) paths.emplace(p);
    }
  }
  VX_TRY(add_hidden(git, repo, paths));
  std::vector<std::string> out;
  for (const std::string& p : paths) {
    if (path::base_name(p) != "vx-lock.json") out.push_back(p);
  }
  return out;
}

}  // namespace vx::git
