#include "inputs/region.hpp"

#include <algorithm>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "inputs/names.hpp"
#include "inputs/stamps.hpp"

namespace vx::inputs {
namespace {

enum class nested_kind : std::uint8_t { own_git, walk, skip };

/// What lies at a directory that the outer repository names but does not list.
nested_kind classify(const tree_context& tree, const std::string& dir) {
  if (mutated("skip-nested")) return nested_kind::skip;
  if (!fs::exists_at(tree.root_fd, dir + "/.git")) return nested_kind::walk;
  const std::string absolute = path::join(tree.root, dir);
  const auto found = git::find_repository(*tree.git, absolute);
  if (!found || !*found || (*found)->worktree != absolute) return nested_kind::walk;
  return tree.repo != nullptr && (*found)->common_dir == tree.repo->common_dir ? nested_kind::skip : nested_kind::own_git;
}

struct record {
  std::string_view path;
  bool tracked = false, gitlink = false, repository = false;
};

/// One record of `git ls-files -t -s --others -z`: "? path" or "<tag> <mode> <id> <stage>\t<path>".
bool parse_record(std::string_view text, record& out) {
  if (text.size() < 3 || text[1] != ' ') return false;
  if (text[0] == '?') {
    out.path = text.substr(2);
    out.repository = out.path.ends_with('/');
    if (out.repository) out.path.remove_suffix(1);
    return !out.path.empty();
  }
  const std::size_t tab = text.find('\t');
  if (tab == std::string_view::npos) return false;
  out.tracked = true;
  out.gitlink = text.substr(2).starts_with("160000 ");
  out.path = text.substr(tab + 1);
  return !out.path.empty();
}

class region_lister {
 public:
  region_lister(const tree_context& tree, region_listing& out) : tree_(tree), out_(out) {}

  void nested(const std::string& dir) {
    open_.push_back(dir);
    drain();
  }

  status top(const std::string& dir) {
    if (tree_.git == nullptr || tree_.repo == nullptr) {
      walk(dir, "");
      return {};
    }
    if (fs::kind k = kind_of(dir); k != fs::kind::dir) return {};
    VX_TRY_LET(bool listed, ask(dir));
    if (!listed) walk(dir, "");
    drain();
    return {};
  }

  void walk(const std::string& dir, std::string base) {
    ignore_rules rules(tree_.root_fd, std::move(base));
    prober probe(tree_.root_fd);
    for (std::string& path : walk_tree(tree_.root_fd, dir, rules)) add(std::move(path), false, probe);
  }

 private:
  fs::kind kind_of(const std::string& dir) const {
    if (dir.empty()) return fs::kind::dir;
    fs::stat_info info;
    prober probe(tree_.root_fd);
    probe.probe(dir, info);
    return info.kind;
  }

  void drain() {
    while (!open_.empty()) {
      const std::string dir = std::move(open_.back());
      open_.pop_back();
      switch (classify(tree_, dir)) {
        case nested_kind::skip: break;
        case nested_kind::walk: walk(dir, dir); break;
        case nested_kind::own_git: {
          out_.nested.push_back(dir);
          const auto listed = ask(dir);
          if (!listed || !*listed) walk(dir, dir);
          break;
        }
      }
    }
  }

  /// False: git has no answer.
  result<bool> ask(const std::string& dir) {
    VX_TRY_LET(git::program::output got,
               tree_.git->run(path::join(tree_.root, dir), {"ls-files", "-t", "-s", "--others", "--exclude-standard", "-z"}, {},
                              tree_.cancel));
    if (got.exit_code != 0) return false;
    prober probe(tree_.root_fd);
    std::string last;  // stages of one path stand together
    for (std::string_view rest = got.out; !rest.empty();) {
      const std::size_t nul = rest.find('\0');
      record r;
      if (nul == std::string_view::npos || !parse_record(rest.substr(0, nul), r)) return false;
      rest.remove_prefix(nul + 1);
      std::string path = path::join(dir, r.path);
      if (r.gitlink || r.repository) {
        open_.push_back(std::move(path));
      } else if (path != last) {
        last = path;
        add(std::move(path), r.tracked, probe);
      }
    }
    return true;
  }

  void add(std::string path, bool tracked, prober& probe) {
    if (is_dropped_name(path) || (!tracked && is_below_node_modules(path))) return;
    fs::stat_info info;
    probe.probe(path, info);
    if (info.kind == fs::kind::file || info.kind == fs::kind::link) {
      out_.files.push_back({std::move(path), tracked});
    } else if (tracked) {
      out_.absent.push_back(std::move(path));
    }
  }

  const tree_context& tree_;
  region_listing& out_;
  std::vector<std::string> open_;  // nested repositories still to be listed
};

void sort_unique(region_listing& l) {
  using item = region_listing::item;
  std::sort(l.files.begin(), l.files.end(), [](const item& a, const item& b) { return a.path < b.path; });
  l.files.erase(std::unique(l.files.begin(), l.files.end(), [](const item& a, const item& b) { return a.path == b.path; }),
                l.files.end());
}

}  // namespace

result<region_listing> list_region(const tree_context& tree, const std::string& dir) {
  region_listing out;
  VX_TRY(region_lister(tree, out).top(dir));
  sort_unique(out);
  return out;
}

void list_nested(const tree_context& tree, const std::string& dir, region_listing& into) {
  region_lister(tree, into).nested(dir);
  sort_unique(into);
}

region_listing walk_region(const tree_context& tree, const std::string& dir, const std::string& base) {
  region_listing out;
  region_lister(tree, out).walk(dir, base);
  sort_unique(out);
  return out;
}

result<bool> git_ignores(const tree_context& tree, const std::string& path) {
  std::string from_top = tree.repo->prefix + path;
  if (from_top.ends_with('/')) from_top.pop_back();
  if (from_top.empty()) return false;
  VX_TRY_LET(git::program::output got,
             tree.git->run(tree.repo->worktree, {"check-ignore", "-q", "--", "./" + from_top}, {}, tree.cancel));
  return got.exit_code == 0;
}

}  // namespace vx::inputs
