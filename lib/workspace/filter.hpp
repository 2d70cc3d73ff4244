// The filter language (graph.md 13): one text in, one value out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace vx::workspace {

struct filter {
  enum class subject : std::uint8_t {
    any,   ///< only a [ref] is given
    name,  ///< `text` is a name pattern
    path,  ///< `text` is a root-relative directory or member glob, "" the root
    tag,   ///< `text` is a tag pattern
    root   ///< `//`
  };
  std::string raw;
  bool exclude = false;
  subject what = subject::any;
  std::string text;
  bool dependencies = false, dependents = false;  ///< `X...`, `...X`
  bool without_self = false;                      ///< a `^` stands on either side
  std::optional<std::string> ref;

  bool walks() const noexcept { return dependencies || dependents; }
  /// Needs every config: edges, tags and config reads are in them.
  bool needs_configs() const noexcept { return walks() || what == subject::tag || ref.has_value(); }
};

/// USAGE: empty values, `../x`, a bare `...` or `!`, and every form the language does not have.
result<filter> parse_filter(std::string_view raw);

}  // namespace vx::workspace
