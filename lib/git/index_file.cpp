#include "git/index_file.hpp"

#include <fcntl.h>

#include <charconv>

#include "base/bytes.hpp"

namespace vx::git {
namespace {

// Layout of an entry: ten 32-bit big-endian numbers, the object id, 16 bits of flags, 16 more when the extended flag is set,
// the name.
constexpr std::size_t k_header = 12, k_stat = 40;
constexpr std::uint16_t k_assume_valid = 0x8000, k_extended = 0x4000, k_stage_mask = 0x3000, k_name_mask = 0x0fff;
constexpr std::uint16_t k_skip_worktree = 0x4000, k_intent_to_add = 0x2000,
                        k_known_extended = k_skip_worktree | k_intent_to_add;

std::uint32_t be32(const char* p) noexcept {
  const auto* u = reinterpret_cast<const unsigned char*>(p);
  return std::uint32_t{u[0]} << 24 | std::uint32_t{u[1]} << 16 | std::uint32_t{u[2]} << 8 | u[3];
}
std::uint16_t be16(const char* p) noexcept {
  const auto* u = reinterpret_cast<const unsigned char*>(p);
  return static_cast<std::uint16_t>(u[0] << 8 | u[1]);
}

/// True when `name` is a directory's `.gitattributes` on the way from the work tree's top down to `prefix`, prefix excluded.
bool is_enclosing_attributes(std::string_view name, std::string_view prefix) noexcept {
  constexpr std::string_view k_name = ".gitattributes";
  if (prefix.empty() || !name.ends_with(k_name)) return false;
  const std::string_view dir = name.substr(0, name.size() - k_name.size());
  return (dir.empty() || dir.back() == '/') && dir.size() < prefix.size() && prefix.starts_with(dir);
}

class index_parser {
 public:
  index_parser(std::string_view in, std::string_view prefix, std::uint8_t oid_size, index_snapshot& out)
      : in_(in), prefix_(prefix), oid_size_(oid_size), out_(out) {}

  bool run() {
    if (in_.size() < k_header + oid_size_ || in_.substr(0, 4) != "DIRC") return false;
    version_ = be32(in_.data() + 4);
    const std::uint32_t count = be32(in_.data() + 8);
    if (version_ < 2 || version_ > 4) return false;
    end_ = in_.size() - oid_size_;
    at_ = k_header;
    if (count > (end_ - at_) / (k_stat + oid_size_ + 2)) return false;
    out_.entries.reserve(prefix_.empty() ? count : 0);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!entry()) return false;
    }
    return extensions();
  }

 private:
  bool entry() {
    const std::size_t start = at_;
    if (end_ - at_ < k_stat + oid_size_ + 2) return false;
    const char* p = in_.data() + at_;
    index_entry e;
    e.ctime_sec = be32(p);
    e.ctime_ns = be32(p + 4);
    e.mtime_sec = be32(p + 8);
    e.mtime_ns = be32(p + 12);
    e.ino = be32(p + 20);
    e.mode = be32(p + 24);
    e.size = be32(p + 36);
    e.oid = p + k_stat;
    at_ += k_stat + oid_size_;
    const std::uint16_t flags = be16(in_.data() + at_);
    at_ += 2;
    e.assume_valid = (flags & k_assume_valid) != 0;
    e.stage = static_cast<std::uint8_t>((flags & k_stage_mask) >> 12);
    if ((flags & k_extended) != 0) {
      if (version_ < 3 || end_ - at_ < 2) return false;
      const std::uint16_t more = be16(in_.data() + at_);
      at_ += 2;
      if ((more & ~k_known_extended) != 0) return false;
      e.skip_worktree = (more & k_skip_worktree) != 0;
      e.intent_to_add = (more & k_intent_to_add) != 0;
    }
    std::string_view name;
    if (!(version_ == 4 ? packed_name(name) : plain_name(start, flags & k_name_mask, name))) return false;
    const std::uint32_t type = e.mode & 0170000;
    if (type != 0100000 && type != 0120000 && type != 0160000) return false;  // a sparse directory, or nothing git writes
    keep(e, name);
    return true;
  }

  // Versions 2 and 3: the name ends in NUL and the entry is padded with NULs to a multiple of eight.
  bool plain_name(std::size_t start, std::size_t length, std::string_view& name) {
    if (length == k_name_mask) {
      const std::size_t nul = in_.find('\0', at_);
      if (nul == std::string_view::npos || nul >= end_) return false;
      length = nul - at_;
    }
    const std::size_t used = at_ - start + length;
    const std::size_t padded = (used + 8) & ~std::size_t{7};
    if (length == 0 || start + padded > end_ || in_[at_ + length] != '\0') return false;
    name = in_.substr(at_, length);
    at_ = start + padded;
    return true;
  }

  // Version 4: how many bytes of the previous name to drop, then what to add.
  bool packed_name(std::string_view& name) {
    std::size_t drop = 0;
    if (at_ >= end_) return false;
    auto byte = static_cast<unsigned char>(in_[at_++]);
    drop = byte & 127;
    while ((byte & 128) != 0) {
      if (at_ >= end_ || drop > previous_.size()) return false;
      byte = static_cast<unsigned char>(in_[at_++]);
      drop = ((drop + 1) << 7) + (byte & 127);
    }
    const std::size_t nul = in_.find('\0', at_);
    if (drop > previous_.size() || nul == std::string_view::npos || nul >= end_) return false;
    name = out_.texts->join(previous_.substr(0, previous_.size() - drop), in_.substr(at_, nul - at_));
    previous_ = name;
    at_ = nul + 1;
    return !name.empty();
  }

  void keep(index_entry& e, std::string_view name) {
    if (!name.starts_with(prefix_)) {
      if (is_enclosing_attributes(name, prefix_)) out_.enclosing_attributes.emplace_back(name);
      return;
    }
    e.path = name.substr(prefix_.size());
    if (!e.path.empty()) out_.entries.push_back(e);
  }

  // A lower-case first letter marks an extension that must be understood.
  bool extensions() {
    while (at_ < end_) {
      if (end_ - at_ < 8) return false;
      const char first = in_[at_];
      const std::uint32_t size = be32(in_.data() + at_ + 4);
      if (first < 'A' || first > 'Z' || size > end_ - at_ - 8) return false;
      at_ += 8 + size;
    }
    return true;
  }

  std::string_view in_, prefix_, previous_;
  std::uint8_t oid_size_;
  index_snapshot& out_;
  std::uint32_t version_ = 0;
  std::size_t at_ = 0, end_ = 0;
};

/// Reads the records of `git ls-files -s -v -z --debug`: a head, NUL, then five lines of numbers.
class listing_parser {
 public:
  listing_parser(std::string_view in, std::uint8_t oid_size, index_snapshot& out) : in_(in), oid_size_(oid_size), out_(out) {}

  bool run() {
    while (at_ < in_.size()) {
      if (!entry()) return false;
    }
    return true;
  }

 private:
  bool entry() {
    const std::size_t nul = in_.find('\0', at_);
    if (nul == std::string_view::npos) return false;
    std::string_view head = in_.substr(at_, nul - at_);
    at_ = nul + 1;
    index_entry e;
    std::size_t mode_end = 0;
    if (head.size() < 4 || head[1] != ' ') return false;
    head.remove_prefix(2);
    if (!number(head, 8, e.mode, mode_end) || head.size() < mode_end + 1 + 2 * oid_size_ + 4) return false;
    head.remove_prefix(mode_end + 1);
    char* raw = out_.texts->take(oid_size_);
    if (!from_hex(head.substr(0, 2 * oid_size_), {reinterpret_cast<std::byte*>(raw), oid_size_})) return false;
    e.oid = raw;
    head.remove_prefix(2 * oid_size_ + 1);
    if (head[0] < '0' || head[0] > '3' || head[1] != '\t') return false;
    e.stage = static_cast<std::uint8_t>(head[0] - '0');
    e.path = head.substr(2);
    std::uint32_t ignored = 0, flags = 0;
    if (!field("  ctime: ", 10, e.ctime_sec) || !field(":", 10, e.ctime_ns) || !field("\n  mtime: ", 10, e.mtime_sec) ||
        !field(":", 10, e.mtime_ns) || !field("\n  dev: ", 10, ignored) || !field("\tino: ", 10, e.ino) ||
        !field("\n  uid: ", 10, ignored) || !field("\tgid: ", 10, ignored) || !field("\n  size: ", 10, e.size) ||
        !field("\tflags: ", 16, flags) || at_ >= in_.size() || in_[at_] != '\n') {
      return false;
    }
    ++at_;
    e.assume_valid = (flags & 0x8000U) != 0;
    e.skip_worktree = (flags & 0x40000000U) != 0;
    e.intent_to_add = (flags & 0x20000000U) != 0;
    out_.entries.push_back(e);
    return true;
  }

  static bool number(std::string_view text, int base, std::uint32_t& out, std::size_t& used) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    used = static_cast<std::size_t>(end - text.data());
    return error == std::errc{};
  }

  bool field(std::string_view label, int base, std::uint32_t& out) noexcept {
    std::string_view rest = in_.substr(at_);
    if (!rest.starts_with(label)) return false;
    std::size_t used = 0;
    if (!number(rest.substr(label.size()), base, out, used)) return false;
    at_ += label.size() + used;
    return true;
  }

  std::string_view in_;
  std::uint8_t oid_size_;
  index_snapshot& out_;
  std::size_t at_ = 0;
};

index_snapshot make_snapshot(std::shared_ptr<const std::string> bytes, bool sha256) {
  index_snapshot s;
  s.oid_size = sha256 ? 32 : 20;
  s.content = *bytes;
  s.bytes = std::move(bytes);
  s.texts = std::make_shared<arena>();
  return s;
}

}  // namespace

std::optional<index_snapshot> parse_index(std::shared_ptr<const std::string> bytes, std::string_view prefix, bool sha256) {
  index_snapshot s = make_snapshot(std::move(bytes), sha256);
  if (!index_parser(s.content, prefix, s.oid_size, s).run()) return std::nullopt;
  s.direct = true;
  return s;
}

result<std::optional<index_snapshot>> read_index_file(const repository& repo) {
  constexpr std::size_t k_most = std::size_t{2} << 30;
  auto opened = fs::open_at(fs::k_cwd, repo.git_dir + "/index", O_RDONLY);
  if (!opened) {
    if (opened.error().sys != ENOENT) return fail(std::move(opened).error());
    index_snapshot none = make_snapshot(std::make_shared<const std::string>(), repo.sha256);
    none.direct = true;
    return none;
  }
  VX_TRY_LET(fs::stat_info info, fs::fstat_fd(opened->get()));
  VX_TRY_LET(std::string raw, fs::read_fd(opened->get(), k_most));
  std::optional<index_snapshot> s = parse_index(std::make_shared<const std::string>(std::move(raw)), repo.prefix, repo.sha256);
  if (s) s->file = info;
  return s;
}

result<index_snapshot> list_index(const program& git, const repository& repo, const cancel_token* cancel) {
  const std::string dir = asked_dir(repo);
  VX_TRY_LET(fs::stat_info before, fs::lstat_at(fs::k_cwd, repo.git_dir + "/index"));
  VX_TRY_LET(program::output got, git.run(dir, {"ls-files", "-s", "-v", "-z", "--debug"}, {}, cancel));
  if (got.exit_code != 0) return fail(errc::IO, "git ls-files failed: " + got.err);
  index_snapshot s = make_snapshot(std::make_shared<const std::string>(std::move(got.out)), repo.sha256);
  s.file = before;
  if (!listing_parser(s.content, s.oid_size, s).run())
    return fail(errc::CORRUPT, "git ls-files printed records vx does not know");
  if (!repo.prefix.empty()) {
    std::vector<std::string> ask = {"--literal-pathspecs", "ls-files", "-z", "--"};
    ask.emplace_back(".gitattributes");
    for (std::size_t at = repo.prefix.find('/'); at + 1 < repo.prefix.size(); at = repo.prefix.find('/', at + 1)) {
      ask.push_back(repo.prefix.substr(0, at + 1) + ".gitattributes");
    }
    VX_TRY_LET(program::output above, git.run(repo.worktree, ask, {}, cancel));
    for (std::string_view rest = above.out; !rest.empty();) {
      const std::size_t nul = rest.find('\0');
      s.enclosing_attributes.emplace_back(rest.substr(0, nul));
      rest.remove_prefix(nul == std::string_view::npos ? rest.size() : nul + 1);
    }
  }
  return s;
}

result<index_snapshot> read_index(const program& git, const repository& repo, const cancel_token* cancel) {
  VX_TRY_LET(std::optional<index_snapshot> direct, read_index_file(repo));
  if (direct) return std::move(*direct);
  return list_index(git, repo, cancel);
}

result<std::vector<std::optional<std::uint64_t>>> blob_sizes(const program& git, const std::string& dir,
                                                             const std::vector<std::string_view>& raw_oids,
                                                             const cancel_token* cancel) {
  std::string ask;
  for (const std::string_view id : raw_oids) ask.append(to_hex(as_bytes(id))).push_back('\n');
  std::vector<std::optional<std::uint64_t>> sizes(raw_oids.size());
  if (raw_oids.empty()) return sizes;
  VX_TRY_LET(program::output got, git.run(dir, {"cat-file", "--batch-check=%(objecttype) %(objectsize)"}, ask, cancel));
  // git answers in order and stops early only when it dies; what it did not answer stays unknown.
  std::size_t at = 0;
  for (std::string_view rest = got.out; at < sizes.size() && !rest.empty(); ++at) {
    const std::size_t eol = rest.find('\n');
    const std::string_view line = rest.substr(0, eol);
    rest.remove_prefix(eol == std::string_view::npos ? rest.size() : eol + 1);
    std::uint64_t size = 0;
    if (!line.starts_with("blob ")) continue;
    const auto [end, error] = std::from_chars(line.data() + 5, line.data() + line.size(), size);
    if (error == std::errc{} && end == line.data() + line.size()) sizes[at] = size;
  }
  return sizes;
}

}  // namespace vx::git
