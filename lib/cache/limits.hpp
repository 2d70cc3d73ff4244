// The numbers of the artifact container (cache.md 4.4).
#pragma once

#include <cstdint>

namespace vx::cache {

inline constexpr std::uint64_t k_tar_limit = std::uint64_t{2} << 30;             ///< bytes of tar, saved or read
inline constexpr std::uint64_t k_body_limit = k_tar_limit + (k_tar_limit >> 8);  ///< ZSTD_compressBound(k_tar_limit)
inline constexpr std::uint64_t k_member_limit = std::uint64_t{1} << 20;
inline constexpr std::uint64_t k_log_limit = std::uint64_t{32} << 20;
inline constexpr std::uint64_t k_pax_limit = std::uint64_t{1} << 20;  ///< one extended header
inline constexpr std::uint64_t k_entry_json_limit = std::uint64_t{64} << 10;
inline constexpr std::uint64_t k_one_call_limit = std::uint64_t{4} << 20;     ///< tar built and compressed in memory
inline constexpr std::uint64_t k_inline_log_limit = std::uint64_t{64} << 10;  ///< longer logs stay in the artifact
inline constexpr std::uint64_t k_component_limit = 255;
inline constexpr std::uint64_t k_path_limit = 4096;
inline constexpr std::uint64_t k_target_limit = 4095;

}  // namespace vx::cache
