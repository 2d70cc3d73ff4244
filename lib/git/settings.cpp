#include "git/settings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/text.hpp"

namespace vx::git {
namespace {

constexpr std::size_t k_config_most = std::size_t{16} << 20;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = lower(c);
  return out;
}
bool is_name_char(char c) noexcept { return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

class config_parser {
 public:
  config_parser(std::string_view in, const std::function<void(const config_variable&)>& each) : in_(in), each_(each) {}

  bool run() {
    if (in_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[') {
        if (!section()) return false;
      } else if (!variable()) {
        return false;
      }
    }
    return true;
  }

 private:
  void skip_line() {
    while (at_ < in_.size() && in_[at_] != '\n') ++at_;
  }
  void skip_blanks() {
    while (at_ < in_.size() && (in_[at_] == ' ' || in_[at_] == '\t')) ++at_;
  }

  bool section() {
    ++at_;
    current_ = {};
    const std::size_t start = at_;
    while (at_ < in_.size() && (is_name_char(in_[at_]) || in_[at_] == '.')) ++at_;
    std::string name = lowered(in_.substr(start, at_ - start));
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) {  // the old "[a.b]" form
      current_.subsection = name.substr(dot + 1);
      name.resize(dot);
    }
    current_.section = std::move(name);
    skip_blanks();
    if (at_ < in_.size() && in_[at_] == '"' && !subsection()) return false;
    if (at_ >= in_.size() || in_[at_] != ']') return false;
    ++at_;
    return !current_.section.empty();
  }

  bool subsection() {
    for (++at_; at_ < in_.size() && in_[at_] != '"'; ++at_) {
      if (in_[at_] == '\n') return false;
      if (in_[at_] == '\\' && ++at_ >= in_.size()) return false;
      current_.subsection += in_[at_];
    }
    if (at_ >= in_.size()) return false;
    ++at_;
    return true;
  }

  bool variable() {
    const std::size_t start = at_;
    while (at_ < in_.size() && is_name_char(in_[at_])) ++at_;
    if (at_ == start || current_.section.empty()) return false;
    current_.name = lowered(in_.substr(start, at_ - start));
    current_.value.reset();
    skip_blanks();
    if (at_ < in_.size() && in_[at_] == '=') {
      ++at_;
      if (!value(current_.value.emplace())) return false;
    } else if (at_ < in_.size() && in_[at_] != '\n' && in_[at_] != '\r' && in_[at_] != '#' && in_[at_] != ';') {
      return false;
    }
    each_(current_);
    return true;
  }

  bool value(std::string& out) {
    bool quoted = false;
    std::size_t kept = 0;  // length without trailing blanks outside quotes
    skip_blanks();
    for (; at_ < in_.size(); ++at_) {
      char c = in_[at_];
      if (c == '\r' && at_ + 1 < in_.size() && in_[at_ + 1] == '\n') continue;
      if (c == '\n') break;
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        kept = out.size();
        continue;
      }
      if (c == '\\') {
        bool continued = false;
        if (!escape(c, continued)) return false;
        if (continued) continue;
        out += c;
        kept = out.size();
        continue;
      }
      out += c;
      if (quoted || (c != ' ' && c != '\t')) kept = out.size();
    }
    out.resize(kept);
    return !quoted;
  }

  bool escape(char& c, bool& continued) {
    if (++at_ >= in_.size()) return false;
    c = in_[at_];
    if (c == '\r' && at_ + 1 < in_.size() && in_[at_ + 1] == '\n') c = in_[++at_];
    switch (c) {
      case '\n': continued = true; return true;
      case 'n': c = '\n'; return true;
      case 't': c = '\t'; return true;
      case 'b': c = '\b'; return true;
      case '\\':
      case '"': return true;
      default: return false;
    }
  }

  std::string_view in_;
  const std::function<void(const config_variable&)>& each_;
  config_variable current_;
  std::size_t at_ = 0;
};

/// The variables vx reads, collected over all files; the last one wins.
struct collected {
  std::optional<std::optional<std::string>> autocrlf, file_mode, attributes_file, excludes_file;
  bool attributes_from_tree = false, includes = false, worktree_config = false;

  void take(const config_variable& v) {
    if (v.section == "include" || v.section == "includeif") includes = true;
    if (!v.subsection.empty()) return;
    if (v.section == "core" && v.name == "autocrlf") autocrlf = v.value;
    if (v.section == "core" && v.name == "filemode") file_mode = v.value;
    if (v.section == "core" && v.name == "attributesfile") attributes_file = v.value;
    if (v.section == "core" && v.name == "excludesfile") excludes_file = v.value;
    if (v.section == "attr" && v.name == "tree") attributes_from_tree = true;
    if (v.section == "extensions" && v.name == "worktreeconfig") worktree_config = config_bool(v.value).value_or(true);
  }
};

std::string home_config(const environment& env) {
  if (const std::string* xdg = env.find("XDG_CONFIG_HOME"); xdg != nullptr && !xdg->empty()) return *xdg + "/git";
  if (const std::string* home = env.find("HOME"); home != nullptr && !home->empty()) return *home + "/.config/git";
  return {};
}

/// core.attributesFile as a path; nullopt: a form only git expands.
std::optional<std::string> expand(const environment& env, const std::string& value) {
  if (value.starts_with('/') || value.empty()) return value;
  const std::string* home = env.find("HOME");
  if (value.starts_with("~/") && home != nullptr) return *home + value.substr(1);
  return std::nullopt;
}

void add_system_attributes(const program& git, settings& out) {
  if (config_bool(git.env().get("GIT_ATTR_NOSYSTEM", "false")).value_or(false)) return;
  out.attribute_files.emplace_back("/etc/gitattributes");
  const std::string prefix(path::parent(path::parent(git.path())));
  if (!prefix.empty() && prefix != "/usr" && prefix != "/") out.attribute_files.push_back(prefix + "/etc/gitattributes");
}

std::optional<std::string> ignore_file(const environment& env, const collected& c) {
  if (c.excludes_file) return c.excludes_file->has_value() ? expand(env, **c.excludes_file) : std::nullopt;
  const std::string dir = home_config(env);
  return dir.empty() ? std::string() : dir + "/ignore";
}

/// False: an attributes file whose place only git knows.
bool finish(const program& git, const collected& c, settings& out) {
  if (c.autocrlf) {
    const bool input = c.autocrlf->has_value() && lowered(**c.autocrlf) == "input";
    out.converts_all = input || config_bool(*c.autocrlf).value_or(true);
  }
  out.converts_all = out.converts_all || c.attributes_from_tree || git.env().find("GIT_ATTR_SOURCE") != nullptr;
  out.file_mode = !c.file_mode || config_bool(*c.file_mode).value_or(true);
  if (c.attributes_file && c.attributes_file->has_value()) {
    std::optional<std::string> file = expand(git.env(), **c.attributes_file);
    if (!file) return false;
    if (!file->empty()) out.attribute_files.push_back(std::move(*file));
  } else if (const std::string dir = home_config(git.env()); !dir.empty()) {
    out.attribute_files.push_back(dir + "/attributes");
  }
  add_system_attributes(git, out);
  out.ignore_file = ignore_file(git.env(), c);
  return true;
}

enum class file_state : std::uint8_t { absent, read, unreadable };

file_state read_config(const std::string& file, collected& into, std::string& source) {
  auto text = fs::read_file_at(fs::k_cwd, file, k_config_most);
  source.append(file).push_back('\0');
  source.append(text ? *text : std::string()).push_back('\0');
  if (!text) return text.error().sys == ENOENT || text.error().sys == ENOTDIR ? file_state::absent : file_state::unreadable;
  return parse_config(*text, [&](const config_variable& v) { into.take(v); }) ? file_state::read : file_state::unreadable;
}

/// The system file of a git whose build paths are known: the distribution's program, not a wrapper script around it.
std::optional<std::string> system_config(const program& git) {
#if defined(__linux__)
  auto real = fs::real_path(git.path());
  if (!real || (*real != "/usr/bin/git" && *real != "/bin/git")) return std::nullopt;
  auto fd = fs::open_at(fs::k_cwd, *real, O_RDONLY);
  std::array<char, 4> magic{};
  if (!fd || ::read(fd->get(), magic.data(), magic.size()) != 4 ||
      std::string_view(magic.data(), 4) !=
          "\x7f"
          "ELF")
    return std::nullopt;
  return "/etc/gitconfig";
#else
  (void)git;
  return std::nullopt;
#endif
}

/// The files git would read, in its order. nullopt: their places are not certain.
std::optional<std::vector<std::string>> config_files(const program& git, const repository& repo) {
  const environment& env = git.env();
  std::vector<std::string> files;
  if (env.find("GIT_CONFIG_SYSTEM") != nullptr || env.find("GIT_CONFIG_GLOBAL") != nullptr) return std::nullopt;
  if (env.find("GIT_CONFIG_NOSYSTEM") != nullptr) return std::nullopt;
  std::optional<std::string> system = system_config(git);
  if (!system) return std::nullopt;
  files.push_back(std::move(*system));
  if (const std::string dir = home_config(env); !dir.empty()) files.push_back(dir + "/config");
  if (const std::string* home = env.find("HOME"); home != nullptr && !home->empty()) files.push_back(*home + "/.gitconfig");
  files.push_back(repo.common_dir + "/config");
  return files;
}

/// Records of NUL-separated triples: path, attribute, value.
void mark_carriers(std::string_view out, const std::vector<std::string_view>& paths, std::vector<bool>& carries) {
  std::size_t at = 0;
  while (!out.empty()) {
    std::array<std::string_view, 3> field;
    for (std::string_view& f : field) {
      const std::size_t nul = out.find('\0');
      f = out.substr(0, nul);
      out.remove_prefix(nul == std::string_view::npos ? out.size() : nul + 1);
    }
    while (at < paths.size() && paths[at] != field[0]) ++at;
    if (at < paths.size() && field[2] != "unspecified" && field[2] != "unset") carries[at] = true;
  }
}

}  // namespace

bool parse_config(std::string_view text, const std::function<void(const config_variable&)>& each) {
  return config_parser(text, each).run();
}

std::optional<bool> config_bool(const std::optional<std::string>& value) {
  if (!value) return true;
  const std::string v = lowered(*value);
  if (v == "true" || v == "yes" || v == "on") return true;
  if (v == "false" || v == "no" || v == "off" || v.empty()) return false;
  std::string_view digits = v;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (const auto n = text::parse_uint(digits)) return *n != 0;
  return std::nullopt;
}

result<settings> ask_settings(const program& git, const repository& repo) {
  VX_TRY_LET(program::output got, git.run(asked_dir(repo), {"var", "-l"}));
  if (got.exit_code != 0) return fail(errc::IO, "git var -l failed: " + got.err);
  collected c;
  std::vector<std::string> told;
  settings out;
  for (const std::string_view line : text::split(got.out, '\n')) {
    const std::size_t eq = line.find('=');
    const std::string_view name = line.substr(0, eq);
    std::optional<std::string> value;
    if (eq != std::string_view::npos) value = std::string(line.substr(eq + 1));
    if (name == "core.autocrlf") c.autocrlf = value;
    if (name == "core.filemode") c.file_mode = value;
    if (name == "core.attributesfile") c.attributes_file = value;
    if (name == "core.excludesfile") c.excludes_file = value;
    if (name == "attr.tree") c.attributes_from_tree = true;
    if ((name == "GIT_ATTR_GLOBAL" || name == "GIT_ATTR_SYSTEM") && value && !value->empty()) told.push_back(*value);
    if (!name.starts_with("GIT_") || name.starts_with("GIT_ATTR_"))
      out.source.append(line).push_back('\n');  // the rest has the time of day
  }
  if (!finish(git, c, out)) out.converts_all = true;
  out.attribute_files.insert(out.attribute_files.end(), told.begin(), told.end());
  return out;
}

result<settings> read_settings(const program& git, const repository& repo) {
  if (const auto files = config_files(git, repo)) {
    collected c;
    bool plain = true;
    settings out;
    for (const std::string& file : *files) plain = plain && read_config(file, c, out.source) != file_state::unreadable;
    if (c.worktree_config)
      plain = plain && read_config(repo.git_dir + "/config.worktree", c, out.source) != file_state::unreadable;
    if (plain && !c.includes && finish(git, c, out)) return out;
  }
  return ask_settings(git, repo);
}

std::vector<std::string> enclosing_dirs(const repository& repo) {
  std::vector<std::string> dirs;
  if (repo.prefix.empty()) return dirs;
  dirs.push_back(repo.worktree);
  for (std::size_t at = repo.prefix.find('/'); at + 1 < repo.prefix.size(); at = repo.prefix.find('/', at + 1))
    dirs.push_back(path::join(repo.worktree, repo.prefix.substr(0, at)));
  return dirs;
}

std::vector<std::string> outside_attribute_sources(const repository& repo, const settings& set) {
  std::vector<std::string> sources;
  const auto consider = [&](std::string file) {
    if (fs::exists_at(fs::k_cwd, file)) sources.push_back(std::move(file));
  };
  for (const std::string& dir : enclosing_dirs(repo)) consider(path::join(dir, ".gitattributes"));
  consider(repo.common_dir + "/info/attributes");
  if (repo.git_dir != repo.common_dir) consider(repo.git_dir + "/info/attributes");
  for (const std::string& file : set.attribute_files) consider(file);
  return sources;
}

result<std::vector<bool>> attribute_carriers(const program& git, const std::string& dir,
                                             const std::vector<std::string_view>& paths, const cancel_token* cancel) {
  std::vector<bool> carries(paths.size(), false);
  std::string ask;
  for (const std::string_view p : paths) ask.append(p).push_back('\0');
  if (ask.empty()) return carries;
  VX_TRY_LET(program::output got,
             git.run(dir,
                     mutated("two-attributes") ? std::vector<std::string>{"check-attr", "-z", "--stdin", "text", "eol"}
                                               : std::vector<std::string>{"check-attr", "-z", "--stdin", "text", "crlf", "eol",
                                                                          "ident", "filter", "working-tree-encoding"},
                     ask, cancel));
  if (got.exit_code != 0) return fail(errc::IO, "git check-attr failed: " + got.err);
  mark_carriers(got.out, paths, carries);
  return carries;
}

}  // namespace vx::git
