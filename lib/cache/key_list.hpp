// Statements that look up a list of keys: "<head> IN (?, ?, ...)".
#pragma once

#include <algorithm>
#include <string>

#include "cache/database.hpp"

namespace vx::cache {

/// One lookup in three sizes, because SQLite prepares and fills all the places of a list, however few are bound. Places without
/// a value are NULL, which equals nothing. Long-lived: the texts are the names of prepared statements.
class key_list {
 public:
  key_list(const std::string& head, std::size_t most)
      : most_(most), one_(text(head, 1)), few_(text(head, k_few)), many_(text(head, most)) {}

  std::size_t most() const noexcept { return most_; }
  /// The statement for items [from, from + most()) of `items`, bound; `view` makes bytes of an item.
  template <class Items, class View>
  statement look_up(database& db, const Items& items, std::size_t from, View view) const {
    const std::size_t n = std::min(most_, items.size() - from);
    statement s = db.use((n == 1 ? one_ : n <= k_few ? few_ : many_).c_str());
    for (std::size_t i = 0; s && i < n; ++i) s.blob(static_cast<int>(i) + 1, view(items[from + i]));
    return s;
  }

 private:
  static constexpr std::size_t k_few = 16;
  static std::string text(const std::string& head, std::size_t n) {
    std::string sql = head + " IN (?";
    for (std::size_t i = 1; i < n; ++i) sql += ",?";
    return sql + ")";
  }

  std::size_t most_;
  std::string one_, few_, many_;
};

}  // namespace vx::cache
