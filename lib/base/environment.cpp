#include "base/environment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" char** environ;

namespace vx {

environment environment::of_process() { return of_pairs(environ); }

environment environment::of_pairs(const char* const* envp) {
  environment out;
  if (envp == nullptr) return out;
  for (; *envp != nullptr; ++envp) {
    const std::string_view pair = *envp;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // As getenv() does, the first of several entries counts.
    out.vars_.try_emplace(std::string(pair.substr(0, equals)), pair.substr(equals + 1));
  }
  return out;
}

const std::string* environment::find(std::string_view name) const noexcept {
  const auto it = vars_.find(name);
  return it == vars_.end() ? nullptr : &it->second;
}

std::string environment::get(std::string_view name, std::string_view fallback) const {
  const std::string* value = find(name);
  return value != nullptr ? *value : std::string(fallback);
}

void environment::set(std::string name, std::string value) { vars_.insert_or_assign(std::move(name), std::move(value)); }

void environment::unset(std::string_view name) {
  if (const auto it = vars_.find(name); it != vars_.end()) vars_.erase(it);
}

std::vector<std::string> environment::to_block() const {
  std::vector<std::string> out;
  out.reserve(vars_.size());
  for (const auto& [name, value] : vars_) {
    std::string pair;
    pair.reserve(name.size() + value.size() + 1);
    pair.append(name).append(1, '=').append(value);
    out.push_back(std::move(pair));
  }
  return out;
}

namespace {

bool is_program(const std::string& path) noexcept {
  struct ::stat st;
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

}  // namespace

std::string find_program(const environment& env, std::string_view program) {
  if (program.empty()) return {};
  if (program.find('/') != std::string_view::npos) return std::string(program);
  const std::string* list = env.find("PATH");
  if (list == nullptr) return {};
  std::string_view rest = *list;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view dir = rest.substr(0, colon);
    // Relative and empty entries mean the directory one happens to be in: never a place to run programs from.
    if (!dir.empty() && dir.front() == '/') {
      std::string path(dir);
      if (path.back() != '/') path.push_back('/');
      path.append(program);
      if (is_program(path)) return path;
    }
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace vx
