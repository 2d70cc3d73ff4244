#include "inputs/untracked.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/racy.hpp"
#include "git/settings.hpp"
#include "inputs/ignore_query.hpp"
#include "inputs/names.hpp"
#include "inputs/stamps.hpp"

namespace vx::inputs {
namespace {

using stamp = untracked_memo::stamp;

constexpr std::string_view k_name = "untracked", k_rules = ".gitignore";
constexpr std::uint8_t k_version = 1;
/// Directories asked about by name, and those whose stamp may be too young to remember: beyond, one question about everything
/// is cheaper.
constexpr std::size_t k_most_parts = 64;

void put_stamps(byte_writer& w, const std::vector<stamp>& stamps) {
  w.u32(static_cast<std::uint32_t>(stamps.size()));
  for (const stamp& s : stamps) {
    w.u64(s.ino);
    w.i64(s.ctime_ns);
    w.text32(s.path);
  }
}

bool get_stamps(byte_reader& in, std::vector<stamp>& out) {
  const std::uint32_t count = in.u32();
  if (!in.ok() || count > in.remaining() / 20) return false;
  out.resize(count);
  for (stamp& s : out) {
    s.ino = in.u64();
    s.ctime_ns = in.i64();
    s.path = in.text32();
  }
  return in.ok();
}

bool by_path(const stamp& a, const stamp& b) { return a.path < b.path; }

bool same(const stamp& s, const fs::stat_info& info) {
  std::int64_t ctime = 0;
  return s.ino != 0 && info.ino == s.ino && info.ctime.to_ns(ctime) && ctime == s.ctime_ns;
}

/// The tracked paths, and of ignore rules the content too: git reads those from the index when they are not checked out.
void hash_tracked(const git::index_snapshot& index, key::xxh3_stream& to) {
  for (const git::index_entry& e : index.entries) {
    to.update(e.path);
    const char kind[2] = {'\0', e.mode == git::k_mode_gitlink ? 'g' : e.skip_worktree ? 's' : 'f'};
    to.update({kind, sizeof kind});
    if (path::base_name(e.path) == k_rules) to.update({e.oid, index.oid_size});
  }
}

std::optional<digest128> question_of(const start_listing& l, const git::settings& settings) {
  if (!l.index.direct || l.index.file.kind != fs::kind::file || !settings.ignore_file) return std::nullopt;
  const auto program = fs::stat_at(fs::k_cwd, l.program->path());
  if (!program || !program->exists()) return std::nullopt;
  byte_writer w;
  for (const std::string& s : {l.program->path(), l.repo->worktree, l.repo->prefix, l.repo->git_dir, l.repo->common_dir,
                               settings.source, *settings.ignore_file})
    w.text32(s);
  w.u64(program->ino);
  w.u64(program->size);
  w.i64(program->ctime.sec);
  key::xxh3_stream sum;
  sum.update(w.str());
  hash_tracked(l.index, sum);
  return sum.finish();
}

/// Files with ignore rules that lie outside the root, present or not.
std::vector<std::string> outside_rules(const start_listing& l) {
  std::vector<std::string> out{l.repo->common_dir + "/info/exclude", l.repo->git_dir + "/info/exclude"};
  if (!l.settings.ignore_file->empty()) out.push_back(*l.settings.ignore_file);
  for (const std::string& dir : git::enclosing_dirs(*l.repo)) out.push_back(path::join(dir, k_rules));
  return out;
}

/// git follows links to the files outside, and to none in the tree.
fs::stat_info look_at_rules(int root_fd, std::string_view path) {
  const auto info = path.starts_with('/') ? fs::stat_at(root_fd, std::string(path)) : fs::lstat_at(root_fd, std::string(path));
  return info ? *info : fs::stat_info{};
}

bool rule_holds(const stamp& s, int root_fd) {
  if (mutated("untracked-rules")) return true;
  const fs::stat_info now = look_at_rules(root_fd, s.path);
  return s.ino == 0 ? !now.exists() : same(s, now);
}

bool lies_below_any(std::string_view path, const std::vector<std::string>& dirs) {
  return std::any_of(dirs.begin(), dirs.end(), [&](const std::string& d) { return path::is_within(path, d); });
}

template <class Each>
void each_path(std::string_view answer, Each each) {
  while (!answer.empty()) {
    const std::size_t nul = std::min(answer.find('\0'), answer.size());
    each(answer.substr(0, nul));
    answer.remove_prefix(std::min(nul + 1, answer.size()));
  }
}

/// The stamps of one answer: every directory git looked into, found without asking it for each.
class stamp_taker {
 public:
  stamp_taker(const tree_context& tree, const start_listing& l) : tree_(tree), l_(l), ignores_(tree) {}

  bool run() {
    if (l_.remembered)
      for (const stamp& s : l_.remembered->dirs) old_.insert(s);
    if (!add_known() || !look_at(dirs_)) return false;
    for (const std::string& file : outside_rules(l_))
      if (!add_rule(file)) return false;
    // Directories without a tracked or a reported file: ignored, or with nothing in them that git would tell.
    for (int depth = 0; !candidates_.empty(); ++depth) {
      if (depth == k_deepest) return false;
      if (!add_empty_ones()) return false;
    }
    return true;
  }

  untracked_memo memo() {
    untracked_memo m;
    for (const auto& [path, s] : stamps_) m.dirs.push_back({path, s.ino, s.ctime_ns});
    for (const auto& [path, s] : rules_) m.rules.push_back({path, s.ino, s.ctime_ns});
    return m;
  }

 private:
  static constexpr int k_deepest = 64;
  struct value {
    std::uint64_t ino = 0;
    std::int64_t ctime_ns = 0;
  };

  /// Below these nothing can become an input, whatever git says.
  static bool is_beside(std::string_view dir) {
    const std::string_view name = path::base_name(dir);
    return name == ".vx" || name == ".git" || name == "node_modules";
  }

  void add_with_parents(std::string_view dir) {
    for (; dirs_.emplace(dir).second && !dir.empty(); dir = path::parent(dir)) {
    }
  }

  bool add_known() {
    dirs_.emplace();
    for (const prober::dir_stamp& d : l_.dirs)
      if (d.info.kind == fs::kind::dir) dirs_.emplace(d.path);
    bool plain = true;
    each_path(*l_.untracked, [&](std::string_view path) {
      plain = plain && !path.ends_with('/');  // a repository of its own: what git says of it hangs on more than stamps
      if (!is_below_node_modules(path) && !is_dropped_name(path)) add_with_parents(path::parent(path));
    });
    for (const stamp& s : old_)
      if (fs::stat_info info; s.path.empty() || (lstat_view(tree_.root_fd, s.path, info) && info.kind == fs::kind::dir))
        dirs_.emplace(s.path);
    return plain;
  }

  bool look_at(const std::set<std::string, std::less<>>& dirs) {
    std::vector<std::string> moved;
    for (const std::string& dir : dirs) {
      const auto info = dir.empty() ? fs::fstat_fd(tree_.root_fd) : fs::lstat_at(tree_.root_fd, dir);
      if (!info) return false;
      if (info->kind != fs::kind::dir) continue;  // went meanwhile: the one above moved as well
      const auto old = old_.find(stamp{dir});
      if (old != old_.end() && same(*old, *info)) {
        stamps_[dir] = {old->ino, old->ctime_ns};
        keep_rules_of(dir);
        continue;
      }
      value& v = stamps_[dir];
      if (fs::is_racy(info->ctime, l_.asked_ns) && !mutated("untracked-racy")) {
        if (++young_ > k_most_parts) return false;
      } else if (info->ctime.to_ns(v.ctime_ns)) {
        v.ino = info->ino;
      }
      moved.push_back(dir);
    }
    return std::all_of(moved.begin(), moved.end(), [this](const std::string& dir) { return read(dir); });
  }

  void keep_rules_of(const std::string& dir) {
    const std::string file = path::join(dir, k_rules);
    const auto& old = l_.remembered->rules;
    const auto at = std::lower_bound(old.begin(), old.end(), stamp{file}, by_path);
    if (at != old.end() && at->path == file) rules_[file] = {at->ino, at->ctime_ns};
  }

  bool read(const std::string& dir) {
    const auto entries = fs::list_dir_at(tree_.root_fd, dir.empty() ? "." : dir);
    if (!entries) return false;
    for (const fs::dir_entry& e : *entries) {
      if (e.name == ".git" && !dir.empty()) return false;  // a repository of its own, or the beginning of one
      std::string path = path::join(dir, e.name);
      if (e.name == k_rules && !add_rule(path)) return false;
      if (e.kind == fs::kind::dir && dirs_.find(path) == dirs_.end() && !is_beside(path))
        candidates_.push_back(std::move(path));
    }
    return true;
  }

  bool add_rule(const std::string& file) {
    const fs::stat_info now = look_at_rules(tree_.root_fd, file);
    value v;
    if (now.exists()) {
      if (now.kind != fs::kind::file || (fs::is_racy(now.ctime, l_.asked_ns) && !mutated("untracked-racy"))) return false;
      v.ino = now.ino;
      if (v.ino == 0 || !now.ctime.to_ns(v.ctime_ns)) return false;
    }
    rules_[file] = v;
    return true;
  }

  bool add_empty_ones() {
    std::vector<std::string> asked;
    asked.swap(candidates_);
    const auto ignored = ignores_.ask_each(asked);
    if (!ignored) return false;
    std::set<std::string, std::less<>> fresh;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!(*ignored)[i] && dirs_.insert(asked[i]).second) fresh.insert(std::move(asked[i]));
    }
    return look_at(fresh);
  }

  struct stamp_less {
    bool operator()(const stamp& a, const stamp& b) const noexcept { return a.path < b.path; }
  };
  const tree_context& tree_;
  const start_listing& l_;
  ignore_query ignores_;
  std::set<stamp, stamp_less> old_;          ///< remembered and found unmoved or not
  std::set<std::string, std::less<>> dirs_;  ///< git looks into them
  std::vector<std::string> candidates_;      ///< seen in one of them; not known whether git looks inside
  std::map<std::string, value, std::less<>> stamps_, rules_;
  std::size_t young_ = 0;
};

/// The index git read is the one vx read: the same file from before the question until now.
bool index_stood_still(const start_listing& l) {
  const auto now = fs::lstat_at(fs::k_cwd, l.repo->git_dir + "/index");
  return now && now->ino == l.index.file.ino && now->ctime == l.index.file.ctime && !fs::is_racy(now->ctime, l.asked_ns);
}

}  // namespace

std::string untracked_memo::encode() const {
  byte_writer w;
  w.reserve(answer.size() + 64 * (dirs.size() + rules.size()) + 64);
  w.u8(k_version);
  w.raw(question.view());
  put_stamps(w, dirs);
  put_stamps(w, rules);
  w.text32(answer);
  w.u64(key::xxh3_64(w.str()));
  return w.take();
}

std::optional<untracked_memo> untracked_memo::decode(std::shared_ptr<const std::string> bytes) {
  if (bytes == nullptr || bytes->size() < 8) return std::nullopt;
  const std::string_view covered = std::string_view(*bytes).substr(0, bytes->size() - 8);
  if (byte_reader(std::string_view(*bytes).substr(covered.size())).u64() != key::xxh3_64(covered)) return std::nullopt;
  byte_reader in(covered);
  untracked_memo m;
  if (in.u8() != k_version) return std::nullopt;
  const std::string_view question = in.raw(m.question.raw.size());
  if (!in.ok()) return std::nullopt;
  std::memcpy(m.question.raw.data(), question.data(), question.size());
  if (!get_stamps(in, m.dirs) || !get_stamps(in, m.rules)) return std::nullopt;
  m.answer = in.text32();
  if (!in.ok() || !in.at_end()) return std::nullopt;
  m.bytes = std::move(bytes);
  return m;
}

std::optional<untracked_memo> untracked_memo::load(cache::index& memo) {
  auto bytes = memo.meta(k_name);
  if (!bytes) return std::nullopt;
  return decode(std::make_shared<const std::string>(std::move(*bytes)));
}

untracked_question still_unknown(const untracked_memo& memo, const tree_context& tree, const start_listing& l) {
  untracked_question ask;
  const auto question = question_of(l, l.settings);
  if (!question || *question != memo.question) return ask;
  if (!std::all_of(memo.rules.begin(), memo.rules.end(), [&](const stamp& s) { return rule_holds(s, tree.root_fd); }))
    return ask;
  std::vector<std::string> moved;
  auto looked = l.dirs.begin();
  fs::stat_info info;
  for (const stamp& s : memo.dirs) {
    // Both are sorted. What is new in `looked` lies in a directory that moved.
    while (looked != l.dirs.end() && looked->path < s.path) ++looked;
    if (looked != l.dirs.end() && looked->path == s.path)
      info = looked->info;
    else if (!lstat_view(tree.root_fd, s.path.empty() ? "." : s.path, info))
      info = {};
    if (info.kind == fs::kind::dir && (same(s, info) || mutated("untracked-always"))) continue;
    if (s.path.empty() || moved.size() == k_most_parts) return ask;
    if (!lies_below_any(s.path, moved)) moved.emplace_back(s.path);
  }
  ask.whole = false;
  ask.dirs = std::move(moved);
  return ask;
}

std::string splice_answer(std::string_view remembered, const std::vector<std::string>& dirs, std::string_view fresh) {
  std::string out;
  each_path(remembered, [&](std::string_view path) {
    if (!lies_below_any(path, dirs)) out.append(path).push_back('\0');
  });
  return out.append(fresh);
}

void remember_untracked(const tree_context& tree, const start_listing& l, cache::index& memo) {
  if (!l.from_git || l.asked_ns == 0 || l.untracked == nullptr || !l.nested.empty() || fs::is_network_fs(tree.root_fd)) return;
  const auto has_link = [](const git::index_entry& e) { return e.mode == git::k_mode_gitlink; };
  if (std::any_of(l.index.entries.begin(), l.index.entries.end(), has_link)) return;
  const auto question = question_of(l, l.settings);
  if (!question) return;
  stamp_taker taker(tree, l);
  if (!taker.run() || !index_stood_still(l)) return;
  // The settings git read are those vx read.
  const auto settings = git::read_settings(*l.program, *l.repo);
  if (!settings || question_of(l, *settings) != question) return;
  untracked_memo m = taker.memo();
  m.question = *question;
  m.answer = *l.untracked;
  memo.put_meta(std::string(k_name), m.encode());
}

}  // namespace vx::inputs
