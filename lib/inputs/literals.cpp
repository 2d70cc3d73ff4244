#include "inputs/literals.hpp"

#include "base/path.hpp"
#include "base/text.hpp"
#include "inputs/names.hpp"

namespace vx::inputs {

status literal_check::files(const std::vector<std::string>& idle, bool& stale) {
  for (const std::string& p : idle) VX_TRY(check(p, "files", project_, true, stale));
  return {};
}

status literal_check::workspace_files(const std::vector<std::string>& idle, bool& stale) {
  for (const std::string& p : idle) VX_TRY(check(p, "workspaceFiles", *workspace_, false, stale));
  return {};
}

status literal_check::check(const std::string& path, std::string_view field, const table& t, bool fenced, bool& stale) {
  fs::stat_info info;
  int error = 0;
  if (!lstat_view(tree_.root_fd, path, info, &error)) return {};
  fence nested(fenced ? s_.nested.get() : nullptr);
  const std::string_view from = fenced ? std::string_view(s_.project_dir) : std::string_view();
  const auto candidate = [&](const file& f) { return !nested.holds(path::relative_to(f.path, from)); };
  const file* exact = t.find(path);
  if (exact != nullptr && candidate(*exact)) return {};
  const file_range below = t.below(path);
  for (std::size_t i = below.first; i < below.second; ++i) {
    if (candidate(t.files[i])) return {};  // an input in itself; the task's own outputs or a "!" entry took it back
  }
  VX_TRY_LET(std::string why, reason(path, info, fenced));
  if (why.empty()) {
    stale = true;
    if (info.kind == fs::kind::dir) {
      living_.forget_region(path, nullptr);
    } else {
      living_.forget_paths({path});
    }
    return {};
  }
  failure f;
  f.code = errc::CONFIG;
  f.path = path;
  f.message = "cache.inputs." + std::string(field) + " names \"" +
              text::escape(fenced ? path::relative_to(path, from) : std::string_view(path), true) +
              "\", which can be no input: " + why;
  return fail(std::move(f));
}

result<std::string> literal_check::reason(const std::string& path, const fs::stat_info& info, bool fenced) {
  if (is_dropped_name(path) || is_dropped_name(path + "/x")) return std::string("vx never takes such a name as an input");
  if (fenced && fence(s_.nested.get()).holds_dir(path::relative_to(path, s_.project_dir))) {
    return std::string("it lies in a nested project, which owns its files");
  }
  if (!probe_.is_real_dir(path::parent(path)))
    return std::string("it lies behind a symbolic link; declare the link, or what it points to");
  if (is_below_node_modules(path) || path::base_name(path) == "node_modules") {
    return std::string("untracked files below node_modules are no inputs");
  }
  if (info.kind == fs::kind::dir) return reason_of_dir(path);
  if (info.kind == fs::kind::other) return std::string("it is neither a file nor a symbolic link");
  const auto ignored = living_.ignored({path});
  if (ignored && !(*ignored)[0]) return std::string();
  return std::string(tree_.repo != nullptr ? "git ignores it" : "a .gitignore file ignores it");
}

result<std::string> literal_check::reason_of_dir(const std::string& path) {
  auto entries = fs::list_dir_at(tree_.root_fd, path);
  if (!entries) return fail(std::move(entries).error());
  if (entries->empty()) return std::string("it is an empty directory");
  const auto ignored = living_.ignored_dir(path);
  if (ignored && *ignored) return std::string(tree_.repo != nullptr ? "git ignores it" : "a .gitignore file ignores it");
  VX_TRY_LET(region_listing listed, list_region(tree_, path));
  if (!listed.files.empty()) return std::string();
  return std::string(tree_.repo != nullptr ? "git lists no file in it" : "it holds no file that is not ignored");
}

}  // namespace vx::inputs
