#include "support/temp_dir.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace stdfs = std::filesystem;

namespace vx::test {

temp_dir::temp_dir() {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/vx-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
  path_ = stdfs::canonical(pattern).string();
}

temp_dir::~temp_dir() {
  if (std::uncaught_exceptions() > 0 || std::getenv("VX_TEST_KEEP") != nullptr) {
    std::fprintf(stderr, "kept: %s\n", path_.c_str());
    return;
  }
  // Read-only directories are legitimate test material.
  std::error_code ec;
  const std::string command = "chmod -R u+rwX '" + path_ + "' 2>/dev/null; rm -rf '" + path_ + "'";
  if (std::system(command.c_str()) != 0) stdfs::remove_all(path_, ec);
}

std::string temp_dir::operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

void temp_dir::write(std::string_view name, std::string_view content, unsigned mode) const {
  const stdfs::path file(*this / name);
  stdfs::create_directories(file.parent_path());
  {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!out) throw std::runtime_error("write " + file.string());
  }
  if (::chmod(file.c_str(), mode) != 0) throw std::runtime_error("chmod " + file.string());
}

void temp_dir::mkdir(std::string_view name) const { stdfs::create_directories(*this / name); }

void temp_dir::symlink(std::string_view target, std::string_view name) const {
  const stdfs::path file(*this / name);
  stdfs::create_directories(file.parent_path());
  if (::symlink(std::string(target).c_str(), file.c_str()) != 0) throw std::runtime_error("symlink " + file.string());
}

void temp_dir::remove(std::string_view name) const { stdfs::remove_all(*this / name); }

std::string temp_dir::read(std::string_view name) const {
  std::ifstream in(*this / name, std::ios::binary);
  if (!in) throw std::runtime_error("read " + (*this / name));
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

bool temp_dir::exists(std::string_view name) const {
  struct stat st {};
  return ::lstat((*this / name).c_str(), &st) == 0;
}

std::string temp_dir::sh(std::string_view script) const {
  const std::string command = "cd '" + path_ + "' && { " + std::string(script) + "\n} 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::string out;
  char buffer[4096];
  std::size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) out.append(buffer, n);
  if (::pclose(pipe) != 0) throw std::runtime_error("script failed: " + std::string(script) + "\n" + out);
  return out;
}

}  // namespace vx::test
