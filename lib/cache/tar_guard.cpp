#include "cache/tar_guard.hpp"

#include <algorithm>
#include <cstring>

#include "cache/limits.hpp"

namespace vx::cache {
namespace {

tl::unexpected<failure> bad(const char* why) { return fail(errc::CORRUPT, std::string("bad tar: ") + why); }

/// Octal digits, optional leading blanks, closed by NULs or blanks.
bool parse_octal(const char* p, std::size_t n, std::uint64_t& out) {
  std::size_t i = 0;
  while (i < n && p[i] == ' ') ++i;
  std::uint64_t v = 0;
  for (; i < n && p[i] >= '0' && p[i] <= '7'; ++i) {
    if (v >> 60 != 0) return false;
    v = v * 8 + static_cast<std::uint64_t>(p[i] - '0');
  }
  for (; i < n; ++i) {
    if (p[i] != '\0' && p[i] != ' ') return false;
  }
  out = v;
  return true;
}

/// Text up to the first NUL; after it only NULs, so that no reader can see a longer name than another.
bool plain_field(const char* p, std::size_t n, std::string_view& out) {
  const std::size_t len = ::strnlen(p, n);
  out = {p, len};
  return std::all_of(p + len, p + n, [](char c) { return c == '\0'; });
}

bool all_zero(const char* b, std::size_t n) {
  return std::all_of(b, b + n, [](char c) { return c == '\0'; });
}

bool checksum_fits(const char* b) {
  std::uint64_t stored = 0;
  if (!parse_octal(b + 148, 8, stored)) return false;
  std::uint64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < 512; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(b[i]);
  }
  return sum == stored;
}

bool ignorable_record(std::string_view name) {
  constexpr std::string_view k_exact[] = {"atime", "ctime", "mtime", "uid", "gid", "uname", "gname", "comment"};
  if (std::find(std::begin(k_exact), std::end(k_exact), name) != std::end(k_exact)) return true;
  constexpr std::string_view k_families[] = {"SCHILY.acl.",       "SCHILY.xattr.",           "SCHILY.fflags",
                                             "LIBARCHIVE.xattr.", "LIBARCHIVE.creationtime", "RHT.security.selinux"};
  return std::any_of(std::begin(k_families), std::end(k_families), [&](std::string_view f) { return name.starts_with(f); });
}

}  // namespace

void tar_guard::expect_body(std::uint64_t size, at state) noexcept {
  left_ = (size + k_block - 1) / k_block * k_block;
  at_ = left_ == 0 ? at::header : state;
}

status tar_guard::feed(std::string_view bytes) {
  total_ += bytes.size();
  if (total_ > limit_) return fail(errc::CORRUPT, "the archive is larger than " + std::to_string(limit_) + " bytes");
  while (!bytes.empty()) {
    if (at_ == at::body && partial_.empty()) {
      // Bodies are most of the bytes and need no look.
      const auto skip = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()) / k_block * k_block);
      left_ -= skip;
      bytes.remove_prefix(skip);
      if (left_ == 0) at_ = at::header;
      if (bytes.empty()) break;
      if (skip > 0) continue;
    }
    if (partial_.empty() && bytes.size() >= k_block) {
      VX_TRY(block(bytes.data()));
      bytes.remove_prefix(k_block);
      continue;
    }
    const std::size_t take = std::min(k_block - partial_.size(), bytes.size());
    partial_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (partial_.size() < k_block) break;
    VX_TRY(block(partial_.data()));
    partial_.clear();
  }
  return {};
}

status tar_guard::finish() const {
  if (at_ != at::after || !partial_.empty()) return bad("it ends too early");
  return {};
}

status tar_guard::block(const char* b) {
  switch (at_) {
    case at::header:
      if (!all_zero(b, k_block)) return header(b);
      if (pax_seen_) return bad("an extended header without a member");
      at_ = at::second_end;
      return {};
    case at::body:
      left_ -= k_block;
      if (left_ == 0) at_ = at::header;
      return {};
    case at::pax_body:
      pax_.append(b, k_block);
      left_ -= k_block;
      if (left_ > 0) return {};
      at_ = at::header;
      return pax_records();
    case at::second_end:
      if (!all_zero(b, k_block)) return bad("a lone end block");
      at_ = at::after;
      return {};
    case at::after: break;
  }
  return bad("data after its end");
}

status tar_guard::header(const char* b) {
  if (std::memcmp(b + 257,
                  "ustar\0"
                  "00",
                  8) != 0)
    return bad("not the ustar dialect");
  if (!checksum_fits(b)) return bad("a header checksum does not fit");
  std::string_view name, link, prefix;
  if (!plain_field(b, 100, name) || !plain_field(b + 157, 100, link) || !plain_field(b + 345, 155, prefix)) {
    return bad("a name with NUL");
  }
  std::uint64_t size = 0, mode = 0;
  if (!parse_octal(b + 124, 12, size)) return bad("a size that is no number");
  if (!parse_octal(b + 100, 8, mode) || mode > 0777) return bad("a mode beyond the permission bits");
  const char type = b[156];
  if (type == 'x') {
    if (pax_seen_) return bad("two extended headers in a row");
    if (size == 0 || size > k_pax_limit) return bad("an extended header of an unacceptable size");
    pax_seen_ = true;
    pax_size_ = size;
    pax_.clear();
    expect_body(size, at::pax_body);
    return {};
  }
  if (type != '0' && type != '2' && type != '5') return bad("a member that is no file, link or directory");
  if (has_size_) size = size_override_;
  if (type != '0' && size != 0) return bad("a link or directory with content");
  if ((type == '2') != (has_link_ || !link.empty())) return bad("a link target where none belongs, or none");
  const bool slash = has_path_ ? path_ends_in_slash_ : name.ends_with('/');
  if (slash && type != '5') return bad("a file whose name ends in a slash");
  if (!has_path_ && name.empty()) return bad("an empty name");
  if (++members_ > k_member_limit) return bad("too many members");
  pax_seen_ = has_size_ = has_path_ = has_link_ = binary_ = false;
  expect_body(size, at::body);
  return {};
}

status tar_guard::pax_records() {
  std::string_view rest = std::string_view(pax_).substr(0, static_cast<std::size_t>(pax_size_));
  if (!all_zero(pax_.data() + pax_size_, pax_.size() - pax_size_)) return bad("padding that is not empty");
  while (!rest.empty()) {
    std::size_t length = 0, i = 0;
    for (; i < rest.size() && i < 8 && rest[i] >= '0' && rest[i] <= '9'; ++i)
      length = length * 10 + static_cast<std::size_t>(rest[i] - '0');
    if (i == 0 || i >= rest.size() || rest[i] != ' ' || length > rest.size() || length < i + 4)
      return bad("an extended record");
    const std::string_view record = rest.substr(i + 1, length - i - 1);
    if (record.back() != '\n') return bad("an extended record");
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) return bad("an extended record");
    VX_TRY(pax_record(record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2)));
    rest.remove_prefix(length);
  }
  // Any other name would be converted by the locale of our host.
  if ((has_path_ || has_link_) && !binary_) return bad("a name in a character set");
  return {};
}

status tar_guard::pax_record(std::string_view name, std::string_view value) {
  if (name == "path" || name == "linkpath") {
    if (value.empty() || value.find('\0') != std::string_view::npos) return bad("a name with NUL");
    bool& seen = name == "path" ? has_path_ : has_link_;
    if (seen) return bad("a name given twice");
    seen = true;
    if (name == "path") path_ends_in_slash_ = value.ends_with('/');
    return {};
  }
  if (name == "size") {
    if (has_size_ || value.empty() || value.size() > 15) return bad("a size that is no number");
    size_override_ = 0;
    for (const char c : value) {
      if (c < '0' || c > '9') return bad("a size that is no number");
      size_override_ = size_override_ * 10 + static_cast<std::uint64_t>(c - '0');
    }
    has_size_ = true;
    return {};
  }
  if (name == "hdrcharset") {
    binary_ = value == "BINARY";
    return binary_ ? status{} : bad("names in another character set");
  }
  if (ignorable_record(name)) return {};
  return bad("an extended record of an unknown kind");
}

}  // namespace vx::cache
