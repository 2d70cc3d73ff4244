#include "exec/capture.hpp"

#include <algorithm>

namespace vx::exec {
namespace {

/// Tail blocks stay small, so that dropping from the front moves little memory.
constexpr std::size_t k_block = std::size_t{64} << 10;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Length that the lead byte of a UTF-8 sequence announces; 1 for ASCII and for what is no lead byte.
std::size_t announced(char lead) {
  const auto u = static_cast<unsigned char>(lead);
  if (u >= 0xF0U && u < 0xF8U) return 4;
  if (u >= 0xE0U) return u < 0xF0U ? 3 : 1;
  return u >= 0xC0U ? 2 : 1;
}

/// Bytes at the end that begin a sequence without completing it.
std::size_t open_tail(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const char c = bytes[bytes.size() - back];
    if (is_continuation(c)) continue;
    return announced(c) > back ? back : 0;
  }
  return 0;
}

/// Bytes at the front that continue a sequence whose beginning is gone.
std::size_t orphan_front(std::string_view bytes) {
  std::size_t n = 0;
  while (n < 3 && n < bytes.size() && is_continuation(bytes[n])) ++n;
  return n;
}

void append(std::vector<captured>& out, captured one) {
  if (one.bytes.empty() && one.stream != 0) return;
  if (!out.empty() && one.stream != 0 && out.back().stream == one.stream) {
    out.back().bytes += one.bytes;
  } else {
    out.push_back(std::move(one));
  }
}

}  // namespace

void capture::add(int stream, std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t into_head = std::min(bytes.size(), head_max_ - head_bytes_);
  if (into_head != 0) {
    if (head_.empty() || head_.back().stream != stream) head_.push_back({stream, {}, 0});
    head_.back().bytes.append(bytes.substr(0, into_head));
    head_bytes_ += into_head;
    bytes.remove_prefix(into_head);
  }
  while (!bytes.empty()) {
    if (tail_.empty() || tail_.back().stream != stream || tail_.back().bytes.size() >= k_block) {
      tail_.push_back({stream, {}, 0});
    }
    const std::size_t n = std::min(bytes.size(), k_block - tail_.back().bytes.size());
    tail_.back().bytes.append(bytes.substr(0, n));
    tail_bytes_ += n;
    bytes.remove_prefix(n);
    while (tail_bytes_ - tail_.front().bytes.size() >= tail_max_ && tail_.size() > 1) {
      dropped_ += tail_.front().bytes.size();
      tail_bytes_ -= tail_.front().bytes.size();
      tail_.pop_front();
    }
  }
}

std::vector<captured> capture::take() {
  if (tail_bytes_ > tail_max_) {  // at most one block too many
    const std::size_t excess = tail_bytes_ - tail_max_;
    tail_.front().bytes.erase(0, excess);
    dropped_ += excess;
  }
  if (dropped_ != 0) {
    if (!head_.empty()) {
      const std::size_t cut = open_tail(head_.back().bytes);
      head_.back().bytes.resize(head_.back().bytes.size() - cut);
      dropped_ += cut;
    }
    if (!tail_.empty()) {
      const std::size_t cut = orphan_front(tail_.front().bytes);
      tail_.front().bytes.erase(0, cut);
      dropped_ += cut;
    }
  }
  std::vector<captured> out = std::move(head_);
  if (!out.empty() && out.back().bytes.empty()) out.pop_back();
  if (dropped_ != 0) append(out, {0, {}, dropped_});
  for (captured& one : tail_) append(out, std::move(one));
  head_.clear();
  tail_.clear();
  total_ = dropped_ = 0;
  head_bytes_ = tail_bytes_ = 0;
  return out;
}

}  // namespace vx::exec
