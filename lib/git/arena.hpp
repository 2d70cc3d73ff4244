// Bytes that stay where they are until the arena goes: paths and identities by the ten thousand without an allocation each.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace vx::git {

class arena {
 public:
  arena() = default;
  arena(arena&&) noexcept = default;
  arena& operator=(arena&&) noexcept = default;

  /// Room for `n` bytes, uninitialised.
  char* take(std::size_t n) {
    if (n > left_) grow(n);
    char* at = at_;
    at_ += n;
    left_ -= n;
    return at;
  }
  std::string_view copy(std::string_view text) {
    char* to = take(text.size());
    text.copy(to, text.size());  // memcpy() takes no null, which an empty view may carry
    return {to, text.size()};
  }
  std::string_view join(std::string_view a, std::string_view b) {
    char* to = take(a.size() + b.size());
    a.copy(to, a.size());
    b.copy(to + a.size(), b.size());
    return {to, a.size() + b.size()};
  }

 private:
  static constexpr std::size_t k_block = std::size_t{64} << 10;
  void grow(std::size_t n) {
    const std::size_t size = n > k_block / 4 ? n : k_block;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    at_ = blocks_.back().get();
    left_ = size;
  }
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace vx::git
