// What option structs of the data plane have in common: lists of strings, directories, globs.
#include <algorithm>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "internal.hpp"

namespace vx::capi {

vx::status no_flags(std::uint32_t flags, const char* name) {
  if (flags == 0) return {};
  return fail(errc::UNSUPPORTED, std::string(name) + ".flags has a bit this library does not know");
}

std::vector<std::string> read_list(const char* const* list) {
  std::vector<std::string> out;
  if (list == nullptr) return out;
  for (; *list != nullptr; ++list) out.emplace_back(*list);
  return out;
}

vx::result<std::string> read_dir(const char* dir, const char* field) {
  if (dir == nullptr || dir[0] == '\0') return std::string();
  if (!is_rel_path(dir)) {
    return fail(errc::INVALID,
                std::string(field) + ": " + text::escape(dir, true) + " is not a root-relative path without . and ..");
  }
  return std::string(dir);
}

vx::result<std::shared_ptr<const std::vector<std::string>>> read_nested(const char* const* list) {
  std::vector<std::string> dirs = read_list(list);
  if (dirs.empty()) return std::shared_ptr<const std::vector<std::string>>();
  for (const std::string& d : dirs) VX_TRY(read_dir(d.empty() ? "." : d.c_str(), "nested"));
  std::sort(dirs.begin(), dirs.end());
  return std::make_shared<const std::vector<std::string>>(std::move(dirs));
}

vx::result<glob::matcher> compile(const std::vector<std::string>& globs, glob::side of, const char* field) {
  const auto named = [field](failure f) {
    f.code = errc::CONFIG;
    f.message = std::string(field) + ": " + f.message;
    return fail(std::move(f));
  };
  for (const std::string& g : globs) {
    if (status s = glob::check_entry(g, of); !s) return named(std::move(s).error());
  }
  if (status s = glob::check_list(globs, of); !s) return named(std::move(s).error());
  auto m = glob::matcher::compile(globs);
  if (!m) return named(std::move(m).error());
  return std::move(*m);
}

vx::result<std::string> real_root(const char* root) {
  const std::string text = root;
  if (!text.starts_with('/')) return fail(errc::INVALID, "root must be absolute: " + text::escape(text, true));
  VX_TRY_LET(std::string real, fs::real_path(text));
  VX_TRY_LET(const fs::stat_info info, fs::stat_at(fs::k_cwd, real));
  if (info.kind != fs::kind::dir) return fail(errc::INVALID, "root is not a directory: " + text::escape(text, true));
  return real;
}

}  // namespace vx::capi
