#include "inputs/ignore_query.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/quiet_write.hpp"

namespace vx::inputs {
namespace {

// One round must fit the pipes both ways, else both ends could wait for each other: an answer repeats the path and adds a rule.
constexpr std::size_t k_round_paths = 64, k_round_bytes = 8192;

bool write_whole(int fd, std::string_view data) noexcept {
  while (!data.empty()) {
    const ssize_t n = quiet_write(fd, data);
    if (n > 0) data.remove_prefix(static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
  }
  return true;
}

}  // namespace

ignore_query::~ignore_query() { stop(); }

void ignore_query::stop() {
  if (process_) {
    process_->in().reset();  // it ends with its input
    process_->out().reset();
    (void)process_->wait();
  }
  process_.reset();
  unread_.clear();
}

bool ignore_query::known_ignored(std::string_view path) const {
  for (std::string_view dir = path::parent(path); !dir.empty(); dir = path::parent(dir)) {
    const auto known = dirs_.find(dir);
    if (known != dirs_.end() && known->second) {
      return std::none_of(unsure_.begin(), unsure_.end(), [&](const std::string& u) { return path::is_within(path, u); });
    }
  }
  return false;
}

void ignore_query::forget_rules(std::string_view dir) { unsure_.emplace(dir); }

void ignore_query::use_rules_for(std::string_view path) {
  if (std::none_of(unsure_.begin(), unsure_.end(), [&](const std::string& u) { return path::is_within(path, u); })) return;
  stop();
  walked_.forget();
  dirs_.clear();
  unsure_.clear();
}

status ignore_query::learn(std::vector<std::string> dirs) {
  std::erase_if(dirs, [this](const std::string& d) { return d.empty() || dirs_.find(d) != dirs_.end(); });
  std::sort(dirs.begin(), dirs.end());
  dirs.erase(std::unique(dirs.begin(), dirs.end()), dirs.end());
  VX_TRY_LET(std::vector<bool> told, ask_git(dirs));
  for (std::size_t i = 0; i < dirs.size(); ++i) dirs_.emplace(std::move(dirs[i]), told[i]);
  return {};
}

result<bool> ignore_query::ask_dir(const std::string& dir) {
  use_rules_for(dir);
  if (tree_.git == nullptr || tree_.repo == nullptr) return walked_.ignored(dir, true);
  if (known_ignored(dir)) return true;
  VX_TRY(learn({dir}));
  const auto known = dirs_.find(dir);
  return known != dirs_.end() && known->second;
}

result<std::vector<bool>> ignore_query::ask(const std::vector<std::string>& paths) {
  for (const std::string& p : paths) use_rules_for(p);
  std::vector<bool> out(paths.size(), false);
  if (tree_.git == nullptr || tree_.repo == nullptr) {
    for (std::size_t i = 0; i < paths.size(); ++i)
      out[i] = walked_.ignored(paths[i], fs::exists_at(tree_.root_fd, paths[i] + "/"));
    return out;
  }
  std::vector<std::string> dirs;
  for (const std::string& p : paths) {
    for (std::string_view dir = path::parent(p); !dir.empty(); dir = path::parent(dir)) dirs.emplace_back(dir);
  }
  VX_TRY(learn(std::move(dirs)));
  std::vector<std::string> open;
  for (const std::string& p : paths) {
    if (!known_ignored(p)) open.push_back(p);
  }
  VX_TRY_LET(std::vector<bool> of_open, ask_git(open));
  for (std::size_t i = 0, at = 0; i < paths.size(); ++i) out[i] = known_ignored(paths[i]) || of_open[at++];
  return out;
}

result<std::vector<bool>> ignore_query::ask_git(const std::vector<std::string>& paths) {
  std::vector<bool> out;
  for (std::size_t begin = 0; begin < paths.size();) {
    std::size_t end = begin, bytes = 0;
    while (end < paths.size() && end - begin < k_round_paths && (end == begin || bytes + paths[end].size() < k_round_bytes))
      bytes += paths[end++].size();
    auto part = ask_chunk(paths, begin, end);
    if (!part) {
      stop();
      return fail(std::move(part).error());
    }
    out.insert(out.end(), part->begin(), part->end());
    begin = end;
  }
  return out;
}

result<std::vector<bool>> ignore_query::ask_chunk(const std::vector<std::string>& paths, std::size_t begin, std::size_t end) {
  if (!process_) {
    subprocess_options o = tree_.git->options(tree_.root, {"check-ignore", "-z", "-v", "-n", "--stdin", "--no-index"});
    o.pipe_stdin = true;
    o.pipe_stderr = false;
    VX_TRY_LET(subprocess started, subprocess::start(o));
    process_.emplace(std::move(started));
  }
  std::string ask;
  for (std::size_t i = begin; i < end; ++i)
    ask.append("./").append(paths[i]).push_back('\0');  // a name may begin like pathspec magic
  if (!write_whole(process_->in().get(), ask)) return fail(errc::IO, "git check-ignore ended");
  std::vector<bool> out;
  std::array<char, 65536> buffer;
  while (out.size() < end - begin) {
    // A record: source, line, pattern, path; the first three empty when no rule applies.
    std::array<std::size_t, 4> nul;
    std::size_t from = 0, fields = 0;
    for (; fields < 4; ++fields) {
      nul[fields] = unread_.find('\0', from);
      if (nul[fields] == std::string::npos) break;
      from = nul[fields] + 1;
    }
    if (fields == 4) {
      const std::string_view pattern = std::string_view(unread_).substr(nul[1] + 1, nul[2] - nul[1] - 1);
      out.push_back(!pattern.empty() && pattern[0] != '!');
      unread_.erase(0, nul[3] + 1);
      continue;
    }
    const ssize_t n = ::read(process_->out().get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(errc::IO, "git check-ignore ended");
    unread_.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return out;
}

}  // namespace vx::inputs
