// A private directory for one test, removed at the end unless the test failed or VX_TEST_KEEP is set.
#pragma once

#include <string>
#include <string_view>

namespace vx::test {

class temp_dir {
 public:
  temp_dir();
  ~temp_dir();
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string operator/(std::string_view name) const;                                       ///< absolute path of a name inside
  void write(std::string_view name, std::string_view content, unsigned mode = 0644) const;  ///< parents are made
  void mkdir(std::string_view name) const;
  void symlink(std::string_view target, std::string_view name) const;
  void remove(std::string_view name) const;  ///< rm -rf
  std::string read(std::string_view name) const;
  bool exists(std::string_view name) const;  ///< lstat
  /// Runs `sh -c` in the directory; throws std::runtime_error with the output when it fails. Returns stdout.
  std::string sh(std::string_view script) const;

 private:
  std::string path_;
};

}  // namespace vx::test
