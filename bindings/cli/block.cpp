#include "cli/block.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace vx::cli {

output_block::~output_block() {
  if (fd_ >= 0) ::close(fd_);
}

output_block::output_block(output_block&& other) noexcept
    : limit_(other.limit_),
      size_(std::exchange(other.size_, 0)),
      on_disk_(std::exchange(other.on_disk_, 0)),
      memory_(std::move(other.memory_)),
      runs_(std::move(other.runs_)),
      fd_(std::exchange(other.fd_, -1)),
      no_file_(other.no_file_) {}

void output_block::append(int stream, std::string_view bytes) {
  if (bytes.empty()) return;
  if (runs_.empty() || runs_.back().stream != stream) runs_.push_back({stream, 0});
  runs_.back().size += bytes.size();
  size_ += bytes.size();
  memory_.append(bytes);
  if (memory_.size() > limit_ && !no_file_ && !spill()) no_file_ = true;
}

bool output_block::spill() {
  if (fd_ < 0) {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/vx-output-XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) return false;
    ::unlink(name.c_str());
  }
  std::size_t done = 0;
  while (done < memory_.size()) {
    const ssize_t n = ::pwrite(fd_, memory_.data() + done, memory_.size() - done, static_cast<off_t>(on_disk_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  on_disk_ += done;
  memory_.erase(0, done);
  return memory_.empty();
}

void output_block::each(const std::function<void(int, std::string_view)>& visit) const {
  std::string buffer;
  std::size_t at = 0;
  for (const run& r : runs_) {
    std::size_t left = r.size;
    while (left > 0) {
      std::string_view piece;
      if (at < on_disk_) {
        buffer.resize(std::min({left, on_disk_ - at, std::size_t{256} * 1024}));
        const ssize_t n = ::pread(fd_, buffer.data(), buffer.size(), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        piece = std::string_view(buffer).substr(0, static_cast<std::size_t>(n));
      } else {
        piece = std::string_view(memory_).substr(at - on_disk_, left);
      }
      visit(r.stream, piece);
      at += piece.size();
      left -= piece.size();
    }
  }
}

}  // namespace vx::cli
