#include <algorithm>
#include <optional>
#include <span>

#include "glob/glob.hpp"
#include "glob/segments.hpp"
#include "glob/syntax.hpp"

namespace vx::glob {

using detail::below;
using detail::compiled;
using detail::is_within;

namespace {

/// Up to this many a plain scan beats hashing the path.
constexpr std::size_t k_scan_limit = 8;

bool is_all(const pattern& p) noexcept { return p.literal ? p.text.empty() : p.text == "**"; }

bool is_tree(const pattern& p) noexcept {
  return p.literal || (!p.prefix.empty() && p.text.size() == p.prefix.size() + 3 && p.text.ends_with("/**"));
}

/// Where `text` stands against everything below `dir`: compares with dir + "/" without building it.
bool sorts_before_children(std::string_view text, std::string_view dir) noexcept {
  const int head = text.substr(0, dir.size()).compare(dir);
  if (head != 0) return head < 0;
  return text.size() == dir.size() || static_cast<unsigned char>(text[dir.size()]) < '/';
}

class rolling_hash {
 public:
  void add(char c) noexcept { h_ = (h_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL; }
  std::uint64_t value() const noexcept { return h_ ^ (h_ >> 29); }
  static std::uint64_t of(std::string_view text) noexcept {
    rolling_hash h;
    for (const char c : text) h.add(c);
    return h.value();
  }

 private:
  std::uint64_t h_ = 0xcbf29ce484222325ULL;
};

/// Open addressing over sorted distinct names; answers with a name's position.
class name_table {
 public:
  explicit name_table(std::span<const std::string_view> names) : names_(names.begin(), names.end()) {
    std::size_t size = 16;
    while (size < names.size() * 2) size *= 2;
    slots_.assign(size, 0);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::size_t at = rolling_hash::of(names_[i]) & (size - 1);
      while (slots_[at] != 0) at = (at + 1) & (size - 1);
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }
  std::optional<std::size_t> find(std::string_view name, std::uint64_t hash) const noexcept {
    for (std::size_t at = hash & (slots_.size() - 1); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (names_[slots_[at] - 1] == name) return slots_[at] - 1;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<std::uint32_t> slots_;
};

/// Calls `visit(ancestor, hash)` for every ancestor directory of `path` and `path` itself, shortest first, until it says true.
template <class Visit>
bool any_ancestor(std::string_view path, Visit visit) noexcept {
  rolling_hash h;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/' && visit(path.substr(0, i), h.value())) return true;
    h.add(path[i]);
  }
  return visit(path, h.value());
}

/// The patterns of one sign.
class pattern_set {
 public:
  void build(const std::vector<pattern>& patterns) {
    for (const pattern& p : patterns) {
      if (is_all(p)) {
        all_ = true;
      } else if (is_tree(p)) {
        trees_.push_back(p.prefix);
      } else {
        globs_.emplace_back(p);
      }
    }
    std::sort(trees_.begin(), trees_.end());
    trees_.erase(std::unique(trees_.begin(), trees_.end()), trees_.end());
    std::stable_sort(globs_.begin(), globs_.end(),
                     [](const compiled& a, const compiled& b) { return a.prefix() < b.prefix(); });
    for (std::size_t i = 0; i < globs_.size(); ++i) {
      if (i == 0 || globs_[i].prefix() != globs_[i - 1].prefix()) {
        prefixes_.push_back(globs_[i].prefix());
        starts_.push_back(i);
      }
    }
    starts_.push_back(globs_.size());
    if (trees_.size() > k_scan_limit) tree_table_.emplace(trees_);
    if (prefixes_.size() > k_scan_limit) prefix_table_.emplace(prefixes_);
  }

  bool all() const noexcept { return all_; }
  bool empty() const noexcept { return !all_ && trees_.empty() && globs_.empty(); }

  bool match(std::string_view path) const noexcept {
    return all_ || in_tree(path) || any_glob(path, [path](const compiled& g) { return g.match_below(path); });
  }

  bool may_match_below(std::string_view dir) const noexcept {
    if (all_ || in_tree(dir) || any_below(trees_, dir) || any_below(prefixes_, dir)) return true;
    return any_glob(dir, [dir](const compiled& g) { return g.may_match_below(dir); });
  }

  /// `dir` and everything below it is matched.
  bool holds_tree(std::string_view dir) const noexcept {
    if (all_) return true;
    if (dir.empty()) return false;
    return in_tree(dir) || any_glob(dir, [dir](const compiled& g) { return g.closed() && g.match_below(dir); });
  }

 private:
  bool in_tree(std::string_view path) const noexcept {
    if (!tree_table_) {
      return std::any_of(trees_.begin(), trees_.end(), [path](std::string_view t) { return is_within(path, t); });
    }
    return any_ancestor(path, [this](std::string_view dir, std::uint64_t h) { return tree_table_->find(dir, h).has_value(); });
  }

  /// Asks the globs whose prefix holds `path`.
  template <class Ask>
  bool any_glob(std::string_view path, Ask ask) const noexcept {
    const auto bucket = [&](std::size_t b) {
      for (std::size_t i = starts_[b]; i < starts_[b + 1]; ++i) {
        if (ask(globs_[i])) return true;
      }
      return false;
    };
    if (!prefix_table_) {
      for (std::size_t b = 0; b < prefixes_.size(); ++b) {
        if (is_within(path, prefixes_[b]) && bucket(b)) return true;
      }
      return false;
    }
    if (prefixes_.front().empty() && bucket(0)) return true;
    return any_ancestor(path, [&](std::string_view dir, std::uint64_t h) {
      const std::optional<std::size_t> b = dir.empty() ? std::nullopt : prefix_table_->find(dir, h);
      return b && bucket(*b);
    });
  }

  /// Does a sorted list hold a name strictly below `dir`?
  static bool any_below(const std::vector<std::string_view>& names, std::string_view dir) noexcept {
    if (dir.empty()) return !names.empty();
    const auto at =
        std::partition_point(names.begin(), names.end(), [dir](std::string_view t) { return sorts_before_children(t, dir); });
    return at != names.end() && is_within(*at, dir);
  }

  bool all_ = false;
  std::vector<std::string_view> trees_;     ///< sorted; alias the patterns
  std::vector<compiled> globs_;             ///< sorted by prefix
  std::vector<std::string_view> prefixes_;  ///< distinct, sorted; prefixes_[b] is the bucket starts_[b] .. starts_[b + 1]
  std::vector<std::size_t> starts_;
  std::optional<name_table> tree_table_, prefix_table_;
};

}  // namespace

struct matcher::impl {
  std::vector<pattern> positives, negatives;
  pattern_set plus, minus;

  impl(std::vector<pattern> p, std::vector<pattern> n) : positives(std::move(p)), negatives(std::move(n)) {
    plus.build(positives);
    minus.build(negatives);
  }
};

matcher::matcher() = default;
matcher::matcher(const matcher&) = default;
matcher::matcher(matcher&&) noexcept = default;
matcher& matcher::operator=(const matcher&) = default;
matcher& matcher::operator=(matcher&&) noexcept = default;
matcher::~matcher() = default;

matcher matcher::from_patterns(std::vector<pattern> positives, std::vector<pattern> negatives) {
  matcher m;
  m.impl_ = std::make_shared<const impl>(std::move(positives), std::move(negatives));
  return m;
}

result<matcher> matcher::compile(const std::vector<std::string>& entries) {
  std::vector<pattern> positives;
  std::vector<pattern> negatives;
  for (const std::string& e : entries) {
    VX_TRY_LET(detail::parsed_entry parsed, detail::parse_entry(e));
    std::vector<pattern>& to = parsed.negated ? negatives : positives;
    std::move(parsed.patterns.begin(), parsed.patterns.end(), std::back_inserter(to));
  }
  return from_patterns(std::move(positives), std::move(negatives));
}

matcher matcher::everything() { return from_patterns({detail::make_pattern("**")}, {}); }

bool matcher::match(std::string_view path) const noexcept { return positive(path) && !negative(path); }
bool matcher::positive(std::string_view path) const noexcept { return impl_ && impl_->plus.match(path); }
bool matcher::negative(std::string_view path) const noexcept { return impl_ && impl_->minus.match(path); }

bool matcher::may_match_below(std::string_view dir) const noexcept {
  return impl_ && impl_->plus.may_match_below(dir) && !impl_->minus.holds_tree(dir);
}

bool matcher::owns_tree(std::string_view dir) const noexcept {
  return impl_ && impl_->plus.holds_tree(dir) && !impl_->minus.may_match_below(dir);
}

bool matcher::empty() const noexcept { return !impl_ || impl_->plus.empty(); }
bool matcher::has_negatives() const noexcept { return impl_ && !impl_->minus.empty(); }

bool matcher::is_everything() const noexcept {
  return impl_ && impl_->positives.size() == 1 && impl_->plus.all() && impl_->negatives.empty();
}

const std::vector<pattern>& matcher::positives() const noexcept {
  static const std::vector<pattern> none;
  return impl_ ? impl_->positives : none;
}

const std::vector<pattern>& matcher::negatives() const noexcept {
  static const std::vector<pattern> none;
  return impl_ ? impl_->negatives : none;
}

bool matches(const pattern& p, std::string_view path) noexcept {
  if (is_all(p)) return true;
  if (is_tree(p)) return is_within(path, p.prefix);
  return compiled(p).match(path);
}

}  // namespace vx::glob
