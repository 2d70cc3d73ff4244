// A strict look at tar bytes before libarchive sees them: libarchive is a liberal reader (old dialects, sparse maps, names cut
// at NUL, missing ends), and an artifact has exactly one dialect. Incremental; holds at most one extended header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace vx::cache {

class tar_guard {
 public:
  explicit tar_guard(std::uint64_t limit) noexcept : limit_(limit) {}
  /// Failure: CORRUPT with the reason; the guard is of no use afterwards.
  status feed(std::string_view bytes);
  /// The archive is complete: both end blocks were seen and nothing after them.
  status finish() const;

 private:
  enum class at : std::uint8_t { header, body, pax_body, second_end, after };
  static constexpr std::size_t k_block = 512;

  status block(const char* b);
  status header(const char* b);
  status pax_records();
  status pax_record(std::string_view name, std::string_view value);
  void expect_body(std::uint64_t size, at state) noexcept;

  std::uint64_t limit_, total_ = 0, members_ = 0;
  at at_ = at::header;
  std::uint64_t left_ = 0;      ///< bytes of the body with its padding
  std::uint64_t pax_size_ = 0;  ///< bytes of the extended header without padding
  std::string partial_;         ///< an incomplete block
  std::string pax_;
  // What the extended header in front of the next member says.
  bool pax_seen_ = false, has_size_ = false, has_path_ = false, has_link_ = false, binary_ = false;
  std::uint64_t size_override_ = 0;
  bool path_ends_in_slash_ = false;
};

}  // namespace vx::cache
