// A snapshot of environment variables, taken once; nothing reads the process environment later.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vx {

class environment {
 public:
  environment() = default;
  static environment of_process();                       ///< copies environ
  static environment of_pairs(const char* const* envp);  ///< "NAME=value" strings, NULL-terminated

  const std::string* find(std::string_view name) const noexcept;  ///< nullptr: unset
  std::string get(std::string_view name, std::string_view fallback = {}) const;
  void set(std::string name, std::string value);
  void unset(std::string_view name);
  std::vector<std::string> to_block() const;  ///< "NAME=value", sorted by name
  const std::map<std::string, std::string, std::less<>>& vars() const noexcept { return vars_; }

 private:
  std::map<std::string, std::string, std::less<>> vars_;
};

/// The absolute path of `program` on the PATH of `env` (executable regular file), or "". A name with '/' is taken as is.
std::string find_program(const environment& env, std::string_view program);

}  // namespace vx
