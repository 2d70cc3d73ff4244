#include "inputs/listing.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "base/text.hpp"
#include "inputs/inputs.hpp"
#include "inputs/names.hpp"
#include "inputs/untracked.hpp"

namespace vx::inputs {
namespace {

constexpr std::size_t k_parallel_from = 2000;
constexpr std::size_t k_chunk = 500;
constexpr unsigned k_stat_threads = 2;  // more only fight over the directory locks of the kernel

/// What one index entry is on disk.
enum class on_disk : std::uint8_t { absent, untrusted, trusted, trusted_executable };

bool agrees(const git::index_entry& e, const fs::stat_info& st) noexcept {
  const bool same_mtime = static_cast<std::uint32_t>(st.mtime.sec) == e.mtime_sec && st.mtime.ns == e.mtime_ns;
  if (mutated("weak-stat")) return static_cast<std::uint32_t>(st.size) == e.size && same_mtime;
  if (mutated("whole-seconds"))
    return static_cast<std::uint32_t>(st.size) == e.size && static_cast<std::uint32_t>(st.mtime.sec) == e.mtime_sec;
  return st.size < (std::uint64_t{1} << 32) && static_cast<std::uint32_t>(st.size) == e.size &&
         static_cast<std::uint32_t>(st.ino) == e.ino && static_cast<std::uint32_t>(st.ctime.sec) == e.ctime_sec &&
         st.ctime.ns == e.ctime_ns && same_mtime;
}

class index_judge {
 public:
  index_judge(const git::index_snapshot& index, bool file_mode) : file_mode_(file_mode) {
    if (!index.file.mtime.to_ns(written_ns_)) written_ns_ = 0;
  }

  /// Conditions 1 to 4 of keys.md 9.
  on_disk judge(const git::index_entry& e, const fs::stat_info& st) const noexcept {
    if (mutated("trust-absent") && e.skip_worktree) return on_disk::trusted;
    if (st.kind != fs::kind::file && st.kind != fs::kind::link) return on_disk::absent;
    if (mutated("trust-index")) return on_disk::trusted;
    if (mutated("trust-flags") && (e.assume_valid || e.skip_worktree)) return on_disk::trusted;
    if ((mutated("any-stage") && e.stage != 0) || (mutated("trust-intent") && e.intent_to_add)) return on_disk::trusted;
    if (e.stage != 0 || e.assume_valid || e.skip_worktree || e.intent_to_add) return on_disk::untrusted;
    const bool link = st.kind == fs::kind::link;
    if (link != (e.mode == git::k_mode_link)) return on_disk::untrusted;
    if (!link && e.mode != git::k_mode_file && e.mode != git::k_mode_executable) return on_disk::untrusted;
    if (!agrees(e, st) || (!mutated("whole-seconds") && fs::is_racy({e.ctime_sec, e.ctime_ns}, written_ns_)))
      return on_disk::untrusted;
    const bool executable = !link && (st.mode & 0100) != 0;
    if (!link && file_mode_ && executable != (e.mode == git::k_mode_executable)) return on_disk::untrusted;
    if (mutated("index-mode")) return e.mode == git::k_mode_executable ? on_disk::trusted_executable : on_disk::trusted;
    return executable ? on_disk::trusted_executable : on_disk::trusted;
  }

 private:
  bool file_mode_;
  std::int64_t written_ns_ = 0;
};

/// Identity text of an index id, into `to`; its length.
std::size_t write_identity(const git::index_entry& e, std::uint8_t oid_size, on_disk state, char* to) noexcept {
  static constexpr char k_digits[] = "0123456789abcdef";
  char* at = to;
  if (e.mode == git::k_mode_link) at = std::copy_n("120000:", 7, at);
  if (state == on_disk::trusted_executable && !mutated("no-mode")) at = std::copy_n("100755:", 7, at);
  for (std::uint8_t i = 0; i < oid_size; ++i) {
    const auto byte = static_cast<unsigned char>(e.oid[i]);
    *at++ = k_digits[byte >> 4];
    *at++ = k_digits[byte & 15];
  }
  return static_cast<std::size_t>(at - to);
}

/// A split index keeps stamps from the time its base was written: the older file decides what is racy.
void age_by_shared_index(const git::repository& repo, git::index_snapshot& index) {
  if (index.direct) return;
  auto entries = fs::list_dir_at(fs::k_cwd, repo.git_dir);
  if (!entries) return;
  for (const fs::dir_entry& e : *entries) {
    if (!e.name.starts_with("sharedindex.")) continue;
    const auto info = fs::lstat_at(fs::k_cwd, repo.git_dir + "/" + e.name);
    if (info && info->exists()) index.file.mtime = std::min(index.file.mtime, info->mtime);
  }
}

class gatherer {
 public:
  gatherer(const std::string& root, int root_fd, const environment& env, const cancel_token* cancel,
           const std::function<cache::index*()>& memo, pool& bytes, start_listing& out)
      : root_(root), root_fd_(root_fd), env_(env), cancel_(cancel), memo_(memo), bytes_(bytes), out_(out), clock_(root_fd) {}

  void run() {
    out_.started_ns = clock_.now_ns();
    out_.listed_ns = out_.started_ns;
    if (!with_git()) {
      if (!out_.trouble) walk();
    }
  }

 private:
  bool refuse(std::string why) {
    out_.notice = std::move(why) + "; files are listed by walking the workspace, honouring .gitignore";
    return false;
  }
  bool refuse(failure f) {
    if (f.code == errc::CANCELLED || f.code == errc::FDS) {
      out_.trouble = std::move(f);
      return false;
    }
    return refuse("not usable as a git work tree: " + f.message);
  }

  bool with_git() {
    out_.program = git::program::find(env_);
    if (!out_.program) return refuse("not a git work tree: git is not on PATH");
    cache::index* memo = memo_();
    std::optional<untracked_memo> remembered = memo != nullptr ? untracked_memo::load(*memo) : std::nullopt;
    std::string others;
    bool told = false;
    joined_thread asking;
    if (!remembered) {
      try {
        const signals_blocked shield;
        asking = joined_thread([&] { told = ask_others({}, others); });
      } catch (const std::system_error&) {
        told = ask_others({}, others);
      }
    }
    const bool known = read_git();
    asking.join();
    if (remembered && known) told = recall_others(std::move(*remembered), others);
    if (!known) return empty_or_refused(false);
    if (!told) return refuse(std::move(*no_answer_));
    take_others(std::move(others));
    return out_.files.size() + out_.absent.size() + out_.sparse_absent.size() > 0 || empty_or_refused(true);
  }

  /// Question 2, about everything or below some directories. False: git gave no answer, and `no_answer_` says why.
  bool ask_others(const std::vector<std::string>& dirs, std::string& answer) {
    out_.asked_ns = clock_.now_ns();
    std::vector<std::string> args{"--literal-pathspecs", "ls-files", "-z", "--others", "--exclude-standard"};
    if (!dirs.empty()) args.emplace_back("--");
    for (const std::string& d : dirs) args.push_back(d + "/");
    result<git::program::output> got = out_.program->run(root_, args, {}, cancel_);
    if (got && got->exit_code == 0) {
      answer = std::move(got->out);
      return true;
    }
    no_answer_ = got ? failure{errc::IO, 0, "git ls-files: " + got->err, {}, {}} : std::move(got).error();
    return false;
  }

  bool recall_others(untracked_memo remembered, std::string& answer) {
    const untracked_question ask = still_unknown(remembered, context(), out_);
    if (ask.whole) return ask_others({}, answer);
    if (ask.dirs.empty()) {
      answer = remembered.answer;
    } else {
      std::string fresh;
      if (!ask_others(ask.dirs, fresh)) return ask_others({}, answer);
      answer = splice_answer(remembered.answer, ask.dirs, fresh);
    }
    out_.remembered = std::make_shared<const untracked_memo>(std::move(remembered));
    return true;
  }

  /// A root without any file: empty, or one that the enclosing repository ignores.
  bool empty_or_refused(bool known) {
    if (mutated("empty-listing")) return true;
    if (!known || out_.trouble || !out_.notice.empty()) return false;
    const tree_context tree = context();
    if (!out_.repo->prefix.empty()) {
      const auto ignored = git_ignores(tree, "");
      if (!ignored) return refuse(ignored.error());
      if (*ignored)
        return refuse("not a git work tree: the enclosing repository " + text::escape(out_.repo->worktree, true) +
                      " ignores this directory");
    }
    return true;
  }

  tree_context context() const { return {root_, root_fd_, &*out_.program, &*out_.repo, cancel_}; }

  bool read_git() {
    auto found = git::find_repository(*out_.program, root_);
    if (!found) return refuse(std::move(found).error());
    if (!*found) return refuse("not a git work tree");
    out_.repo = std::move(*found);
    auto settings = git::read_settings(*out_.program, *out_.repo);
    if (!settings) return refuse(std::move(settings).error());
    out_.settings = std::move(*settings);
    out_.listed_ns = clock_.now_ns();
    auto index = git::read_index(*out_.program, *out_.repo, cancel_);
    if (!index) return refuse(std::move(index).error());
    out_.index = std::move(*index);
    age_by_shared_index(*out_.repo, out_.index);
    bytes_.keep(out_.index.bytes);
    bytes_.keep(out_.index.texts);
    stat_tracked();
    add_tracked();
    out_.from_git = true;
    return true;
  }

  void stat_tracked() {
    const std::vector<git::index_entry>& entries = out_.index.entries;
    states_.resize(entries.size());
    out_.dirs_ns = clock_.now_ns();
    const index_judge judge(out_.index, out_.settings.file_mode);
    // The loader has the other core.
    const unsigned threads = entries.size() > k_parallel_from ? std::clamp(usable_cpus() - 1, 1U, k_stat_threads) : 1;
    std::mutex mutex;
    std::map<std::size_t, std::vector<prober::dir_stamp>> seen;  // by the chunk's first entry
    parallel_for(entries.size(), threads, k_chunk, [&](std::size_t begin, std::size_t end) {
      std::vector<prober::dir_stamp> dirs;
      prober probe(root_fd_, &dirs);
      for (std::size_t i = begin; i < end; ++i) {
        fs::stat_info info;
        probe.probe(entries[i].path, info);
        states_[i] = judge.judge(entries[i], info);
      }
      const std::lock_guard lock(mutex);
      seen.emplace(begin, std::move(dirs));
    });
    add_dirs(seen);
  }

  /// Chunks of the index in its order: their directories are nearly sorted, and the first ones of a chunk may stand in the
  /// chunk before.
  void add_dirs(const std::map<std::size_t, std::vector<prober::dir_stamp>>& seen) {
    std::vector<prober::dir_stamp>& all = out_.dirs;
    for (const auto& [first, dirs] : seen) {
      const std::string_view last = all.empty() ? std::string_view() : all.back().path;
      auto from = dirs.begin();
      while (from != dirs.end() && !last.empty() && path::is_within(last, from->path)) ++from;
      all.insert(all.end(), from, dirs.end());
    }
    const auto by_path = [](const prober::dir_stamp& a, const prober::dir_stamp& b) { return a.path < b.path; };
    if (!std::is_sorted(all.begin(), all.end(), by_path)) std::sort(all.begin(), all.end(), by_path);
    const auto same = [](const prober::dir_stamp& a, const prober::dir_stamp& b) { return a.path == b.path; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
  }

  void add_tracked() {
    const std::vector<git::index_entry>& entries = out_.index.entries;
    const std::uint8_t oid_size = out_.index.oid_size;
    const std::size_t text_size = std::size_t{7} + 2U * oid_size;
    char* text = bytes_.take(entries.size() * text_size);
    out_.files.reserve(entries.size());
    dropped_names names;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const git::index_entry& e = entries[i];
      if (e.mode == git::k_mode_gitlink) {
        links_.emplace_back(e.path);
        continue;
      }
      if (i > 0 && entries[i - 1].path == e.path) continue;  // further stages of a conflict
      if (names.of(e.path).dropped) continue;
      if (states_[i] == on_disk::absent) {
        (e.skip_worktree ? out_.sparse_absent : out_.absent).push_back(e.path);
        continue;
      }
      file f{e.path, {}, nullptr, true, states_[i] != on_disk::untrusted};
      if (states_[i] == on_disk::untrusted) {
        f.content = bytes_.new_slot();
      } else {
        f.identity = {text, write_identity(e, oid_size, states_[i], text)};
        text += text_size;
      }
      out_.files.push_back(f);
    }
  }

  void take_others(std::string answer) {
    auto text = std::make_shared<const std::string>(std::move(answer));
    bytes_.keep(text);
    out_.untracked = text;
    const std::size_t tracked = out_.files.size();
    region_listing inner;
    const tree_context tree = context();
    for (std::string_view rest = *text; !rest.empty();) {
      const std::size_t nul = std::min(rest.find('\0'), rest.size());
      std::string_view path = rest.substr(0, nul);
      rest.remove_prefix(std::min(nul + 1, rest.size()));
      if (path.ends_with('/')) {
        links_.emplace_back(path.substr(0, path.size() - 1));
      } else if (!path.empty()) {
        out_.has_untracked = true;
        add_untracked(path);
      }
    }
    for (const std::string& dir : links_) list_nested(tree, dir, inner);
    out_.nested = std::move(inner.nested);
    for (const region_listing::item& item : inner.files)
      out_.files.push_back({bytes_.copy(item.path), {}, bytes_.new_slot(), item.tracked});
    merge(tracked);
  }

  void add_untracked(std::string_view path) {
    const dropped_names::verdict v = untracked_names_.of(path);
    if (!v.dropped && !v.below_node_modules) out_.files.push_back({path, {}, bytes_.new_slot(), false});
  }

  void merge(std::size_t tracked) {
    const auto before = [](const file& a, const file& b) { return a.path < b.path; };
    const auto middle = out_.files.begin() + static_cast<std::ptrdiff_t>(tracked);
    std::sort(middle, out_.files.end(), before);
    std::inplace_merge(out_.files.begin(), middle, out_.files.end(), before);
    const auto same = [](const file& a, const file& b) { return a.path == b.path; };
    out_.files.erase(std::unique(out_.files.begin(), out_.files.end(), same), out_.files.end());
  }

  void walk() {
    out_.files.clear();
    const tree_context tree{root_, root_fd_, nullptr, nullptr, cancel_};
    for (const region_listing::item& item : walk_region(tree, "", "").files) {
      out_.files.push_back({bytes_.copy(item.path), {}, bytes_.new_slot(), false});
    }
    out_.from_git = false;
  }

  const std::string& root_;
  int root_fd_;
  const environment& env_;
  const cancel_token* cancel_;
  const std::function<cache::index*()>& memo_;
  pool& bytes_;
  start_listing& out_;
  file_clock clock_;
  std::optional<failure> no_answer_;  // to question 2
  std::vector<on_disk> states_;       // by index entry
  std::vector<std::string> links_;    // gitlinks and untracked repositories
  dropped_names untracked_names_;
};

}  // namespace

void gather(const std::string& root, int root_fd, const environment& env, const cancel_token* cancel,
            const std::function<cache::index*()>& memo, pool& bytes, start_listing& out) {
  gatherer(root, root_fd, env, cancel, memo, bytes, out).run();
}

}  // namespace vx::inputs
