// The sum that closes an artifact, and the names of its fixed members. Writer and reader share it.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "key/digest.hpp"

namespace vx::cache {

inline constexpr std::string_view k_member_entry = ".vx/entry.json";
inline constexpr std::string_view k_member_log = ".vx/log";
inline constexpr std::string_view k_member_sum = ".vx/sum";
inline constexpr std::string_view k_prefix_project = "project/";
inline constexpr std::string_view k_prefix_workspace = "workspace/";

class artifact_sum {
 public:
  void member(std::string_view name, char kind, std::uint16_t mode, std::string_view target, std::uint64_t size) {
    byte_writer w;
    w.text32(name);
    w.u8(static_cast<std::uint8_t>(kind));
    w.u16(mode);
    w.text32(target);
    w.u64(size);
    stream_.update(w.str());
  }
  void body(std::string_view bytes) noexcept { stream_.update(bytes); }
  std::string hex() const { return stream_.finish().hex(); }

 private:
  key::xxh3_stream stream_;
};

}  // namespace vx::cache
